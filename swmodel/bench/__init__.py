"""Benchmarks: the speed of the model on this machine, beside the published table and the machine's limits.

`sweeps` reads definitions, and `plan` makes rows of them. `session` takes the samples in rounds, each in new processes
(`worker`), and keeps them all (`results`). `row_statistics` computes speeds and ratios from samples; `tables`,
`figures` and `compare` report them. benchmarks/README.md explains each number.
"""
