"""Benchmarks: the speed of the model on this machine, beside the published table and the machine's limits.

`sweeps` reads what to measure, and `plan` makes rows of it. `session` takes the samples in rounds, each in processes of
its own (`worker`), and keeps them all (`results`). `numbers` computes speeds and ratios from samples; `tables`,
`figures` and `compare` report them. benchmarks/README.md explains each number.
"""
