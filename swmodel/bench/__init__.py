"""Benchmarks: the speed of the model on this machine, compared with the published table and the machine's limits.

`sweeps` reads what to measure, `rows` makes its rows, `campaign` measures them in rounds, each row in processes of its
own (`start`, `worker`), and keeps every sample (`results`). `numbers`, `tables`, `figures` and `compare` make reports
of them. benchmarks/README.md explains each number.
"""
