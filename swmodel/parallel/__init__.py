"""Blocks of the grid, and all communication with other processes.

decomposition  blocks of the grid
transport/     messages between blocks: serial, mpi, sharded
environment    the environment of this process, and its rank
spawn, stop, watchdog, streams, interrupt   starting, stopping and watching processes
"""
