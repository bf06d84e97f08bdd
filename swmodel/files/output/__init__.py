"""The NetCDF files of a run: output.nc, diagnostics.nc, spectra.nc, stations.nc, sections.nc, drifters.nc, ..."""

from .samples import DriftersFile, SectionsFile, StationsFile
from .series import DiagnosticsFile, SpectraFile
from .snapshots import OutputFile

__all__ = ["DiagnosticsFile", "DriftersFile", "OutputFile", "SectionsFile", "SpectraFile", "StationsFile"]
