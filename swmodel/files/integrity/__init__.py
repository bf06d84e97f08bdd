"""Whether the files of a run are what was written: `checksums` says how that is kept, `examine` verifies one file.

HDF5 may crash, hang or ask for any amount of memory on a damaged file, so `guard` has another process do it, `program`.
"""
