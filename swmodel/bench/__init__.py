"""Benchmarks: the speed of the model on this machine, compared with the published table and the limits of the machine.

`sweeps` reads the definitions of sweeps, and `plan` turns them into rows. `session` takes samples in rounds, each in
new processes (`worker`), and stores them (`results`). `row_statistics` computes speeds and ratios from samples;
`tables`, `figures` and `compare` report them. benchmarks/README.md explains each number.
"""
