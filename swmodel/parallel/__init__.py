"""Blocks of the grid, and the only door to other processes.

decomposition  how the grid is cut into blocks
transport/     how blocks exchange messages: serial, mpi, sharded
environment    the environment of this process, and its place among others
spawn, stop, watchdog, streams, interrupt   starting, stopping and watching processes
"""
