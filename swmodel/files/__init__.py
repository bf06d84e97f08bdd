"""Everything on disk: the folder of a run with its output, restart files and status, and how they stay intact.

run_folder     names of the files of a run, and whether a folder may be written
lock           one run in a folder at a time
journal        writing so that a kill leaves every complete record
background     the one writer of NetCDF and HDF5 files, in a thread of rank 0
records        records along time, with their checksums
gather         fields of all processes on rank 0
draft          small files that appear whole or not at all
block_file     fields of all processes in one HDF5 file
output/        output.nc, diagnostics.nc, spectra.nc and further NetCDF files
restart/       restart files, verified as they are written
integrity/     checksums, and reading of files that may be damaged
status         status.json: how a run ended
"""
