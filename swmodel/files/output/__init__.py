"""The NetCDF files of a run: output.nc, diagnostics.nc, spectra.nc, stations.nc, sections.nc, drifters.nc, ..."""

from .domain_series import DiagnosticsFile, SpectraFile
from .point_series import DriftersFile, SectionsFile, StationsFile
from .snapshots import OutputFile

__all__ = ["DiagnosticsFile", "DriftersFile", "OutputFile", "SectionsFile", "SpectraFile", "StationsFile"]
