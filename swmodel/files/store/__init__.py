"""Stores of Zarr, whose fields all processes write at once, without messages between them.

tiling        how a grid is cut into files, and which process writes each
arrays        the arrays of a store and their metadata
block_store   the base: all processes write their parts
record_store  records in time; each appears as a whole
snapshots     output.zarr
draft_store   a store that appears as a whole, for restart files
data          a store with the interface of a netCDF4.Dataset, for reading
examine       the check of a store against its checksums

This `__init__` loads neither zarr nor NetCDF.
"""
