"""Blocks of the grid, and all communication with other processes.

decomposition          blocks of the grid
transport/             messages between blocks: serial, mpi, sharded
fourier/               Fourier transforms of fields on blocks
fixed_point, linear    sums with the same bits on any layout; linear maps as JAX primitives
environment            the environment of this process, its rank, and the machine
ffi_libraries          the compiled libraries of foreign calls
worker                 a thread that runs calls beside the time loop
spawn, abort, stop, interrupt, watchdog, streams    start, stop and watch processes; their output
"""
