"""The NetCDF files of a run: fields in output.nc, series in diagnostics.nc, spectra.nc, stations.nc, sections.nc; at
its end tides in harmonics.nc (`tidal_constants`)."""

from .samples import Sections, Stations
from .series import Diagnostics, Spectra
from .snapshots import Output

__all__ = ["Diagnostics", "Output", "Sections", "Spectra", "Stations"]
