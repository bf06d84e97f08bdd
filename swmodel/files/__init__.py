"""The files of a run: output, restart files and status; checksums and journals protect them.

run_folder     names of the files of a run, and checks of its folder
lock           at most one run in a folder at a time
journal        writing that keeps complete records if the process is killed
background     writing of a run's NetCDF and HDF5 files by one thread of rank 0
queue          calls of a file that wait for a writing thread
records        appending records to a file, with their checksums
gather         collection of the fields of all processes on rank 0
schedule       when records and restart files are due
draft          atomic writing of small files
block_file     fields of all processes in one HDF5 file
output/        output.nc, diagnostics.nc, spectra.nc and further NetCDF files
store/         Zarr stores, which all processes write in parallel
restart/       restart files, verified as they are written
integrity/     checksums, and reading of files that may be damaged
verify         comparison of the files of a run with their checksums
relief/        depth and coast of a grid from elevation files
gauge_series   observed sea level from text files of agencies
status         status.json: whether and how a run has ended
"""
