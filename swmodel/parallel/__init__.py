"""Blocks of the grid, and the only door to other processes.

decomposition  how the grid is cut into blocks
transport/     how blocks talk: serial, mpi, sharded
environment    what this process was started as, and what it may use
spawn, stop, watchdog, streams, interrupt   starting, stopping and watching processes
"""
