"""The NetCDF files of a run: fields in output.nc, time series in diagnostics.nc."""

from .series import Diagnostics
from .snapshots import Output

__all__ = ["Diagnostics", "Output"]
