"""Zarr stores, whose fields all processes write in parallel without exchanging messages.

tiling        how a grid is divided into files, and which process writes each file
arrays        the arrays of a store and their metadata
block_store   base class: all processes write their parts
record_store  records in time, each of which appears complete or not at all
snapshots     output.zarr
draft_store   a store that appears complete or not at all, for restart files
dataset       reading of a store with the interface of a netCDF4.Dataset
examine       comparison of a store with its checksums

Importing this package loads neither zarr nor netCDF4.
"""
