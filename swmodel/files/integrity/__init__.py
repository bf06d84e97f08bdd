"""Integrity of the files of a run: `checksums` defines the checksums, `examine` verifies one file.

HDF5 may crash, hang or exhaust the memory on a damaged file, so `guard` starts another process to examine it.
"""
