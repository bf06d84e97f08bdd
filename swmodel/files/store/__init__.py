"""Records in a store of Zarr, which all processes write at once, without messages between them.

pieces        how a grid is cut into files, and which process writes each
arrays        the arrays of a store and their metadata
record_store  records that all processes write; each appears as a whole
data          a store with the interface of a netCDF4.Dataset, for reading
examine       the check of a store against its checksums

This `__init__` loads neither zarr nor NetCDF.
"""
