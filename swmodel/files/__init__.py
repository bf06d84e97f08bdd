"""The files of a run: output, restart files and status, and the protection of their integrity.

run_folder     names of the files of a run, and checks of its folder
lock           one run in a folder at a time
journal        writing that keeps complete records if the process is killed
background     the one writer of NetCDF and HDF5 files, in a thread of rank 0
queue          a queue of calls for this thread
records        records along time, with their checksums
gather         collection of the fields of all processes on rank 0
schedule       when records and restart files are due
draft          atomic writing of small files
block_file     fields of all processes in one HDF5 file
output/        output.nc, diagnostics.nc, spectra.nc and further NetCDF files
store/         Zarr stores, which all processes write
restart/       restart files, verified as they are written
integrity/     checksums, and reading of files that may be damaged
verify         check of the files of a run against their checksums
relief/        depth and coast of a grid from files of elevation
gauge_series   observed sea level in the text files of agencies
status         status.json: whether and how a run has ended
"""
