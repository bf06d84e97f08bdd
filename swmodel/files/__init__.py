"""Everything that is on disk: a run's folder with its output, restart files and status, and how they stay whole.

run_folder     names of the files of a run, and what may be done with a folder
lock           one writer a folder
journal        writing so that a kill leaves every complete record
gather         fields of all processes on rank 0
draft          files in their place whole or not at all
block_file     fields of all processes in one HDF5 file
output/        output.nc, diagnostics.nc and spectra.nc
restart/       restart files, verified as they are written
integrity/     checksums, and reading of files that may be damaged
status         status.json: how a run ended
"""
