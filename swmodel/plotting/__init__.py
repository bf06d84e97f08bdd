"""Pictures, animations, web pages and spectra of a run, made from its files alone.

PlotError: a picture is impossible. FilesError: a file is damaged or cannot be written.
"""

from .animation import animate
from .dataset import PlotError
from .maps import plot, plot_grid
from .maxima import plot_maxima
from .overlays import Overlays
from .page import view
from .series import plot_diagnostics, plot_sections, plot_stations
from .spectra import spectra
from .style import ColourRange

__all__ = [
    "ColourRange",
    "Overlays",
    "PlotError",
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
