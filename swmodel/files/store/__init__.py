"""Zarr stores, whose fields all processes write at once without exchanging messages.

tiling        how a grid is cut into files, and which process writes each
arrays        the arrays of a store and their metadata
block_store   the base: all processes write their parts
record_store  records in time; each appears complete
snapshots     output.zarr
draft_store   a store that appears complete or not at all, for restart files
dataset       reading of a store with the interface of a netCDF4.Dataset
examine       check of a store against its checksums

This `__init__` loads neither zarr nor NetCDF.
"""
