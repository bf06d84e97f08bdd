"""Pictures of a run, drawn only from its NetCDF files: `plot`, `animate`, `view`, ...; `spectra`."""

from .animation import animate
from .dataset import PlotError
from .maps import plot, plot_grid
from .maxima import plot_maxima
from .overlays import Over
from .page import view
from .series import plot_diagnostics, plot_sections, plot_stations
from .spectra import spectra
from .style import Scale

__all__ = [
    "Over",
    "PlotError",
    "Scale",
    "animate",
    "plot",
    "plot_diagnostics",
    "plot_grid",
    "plot_maxima",
    "plot_sections",
    "plot_stations",
    "spectra",
    "view",
]
