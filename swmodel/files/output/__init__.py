"""The NetCDF files of a run: output.nc, diagnostics.nc, spectra.nc, stations.nc, sections.nc, harmonics.nc."""

from .samples import Sections, Stations
from .series import Diagnostics, Spectra
from .snapshots import Output

__all__ = ["Diagnostics", "Output", "Sections", "Spectra", "Stations"]
