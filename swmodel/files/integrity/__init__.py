"""Whether the files of a run are as they were written: `checksums` defines the checksums, `examine` verifies one file.

HDF5 may crash, hang or use up the memory on a damaged file, so `guard` has another process examine it.
"""
