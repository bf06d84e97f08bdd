"""The files of a run: output, restart files and status, and the protection of their integrity.

run_folder     names of the files of a run, and checks of its folder
lock           one run in a folder at a time
journal        writing that keeps complete records if the process is killed
background     the one writer of NetCDF and HDF5 files, in a thread of rank 0
queue          calls of such a thread
records        records along time, with their checksums
gather         fields of all processes on rank 0
draft          small files that appear whole or not at all
block_file     fields of all processes in one HDF5 file
output/        output.nc, diagnostics.nc, spectra.nc and further NetCDF files
store/         stores of Zarr, which all processes write
restart/       restart files, verified as they are written
integrity/     checksums, and reading of files that may be damaged
status         status.json: the end of a run
"""
