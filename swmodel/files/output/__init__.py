"""The NetCDF files of a run: output.nc, diagnostics.nc, spectra.nc, stations.nc, sections.nc, drifters.nc, ..."""

from .samples import Drifters, Sections, Stations
from .series import Diagnostics, Spectra
from .snapshots import Output

__all__ = ["Diagnostics", "Drifters", "Output", "Sections", "Spectra", "Stations"]
