"""Integrity of the files of a run: `checksums` defines their checksums, `examine` compares a file with them.

HDF5 may crash, hang or exhaust the memory on a damaged file, so `guard` examines files in another process.
"""
