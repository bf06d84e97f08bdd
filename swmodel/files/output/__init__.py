"""The NetCDF files of a run: fields in output.nc, time series in diagnostics.nc, spectra in spectra.nc."""

from .series import Diagnostics
from .snapshots import Output
from .spectra import Spectra

__all__ = ["Diagnostics", "Output", "Spectra"]
