"""The NetCDF files of a run: fields in output.nc, series in diagnostics.nc, spectra.nc, stations.nc, sections.nc."""

from .samples import Sections, Stations
from .series import Diagnostics
from .snapshots import Output
from .spectra import Spectra

__all__ = ["Diagnostics", "Output", "Sections", "Spectra", "Stations"]
