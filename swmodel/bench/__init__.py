"""Benchmarks: how fast the model is on this machine, beside the published table and the machine's own limits.

`sweeps` reads what to measure, `rows` makes its rows, `campaign` measures them in rounds, each row in processes of
its own (`start`, `worker`), and keeps every sample (`results`). `numbers`, `tables`, `figures` and `compare` turn them
into what people read. benchmarks/README.md says how each number is made.
"""
