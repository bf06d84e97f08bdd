"""Pictures of a run, drawn from its NetCDF files alone: `plot`, `plot_diagnostics`, `animate`, `view`."""

from .animation import animate
from .dataset import PlotError
from .diagnostics import plot_diagnostics
from .maps import plot
from .overlays import Over
from .page import view
from .scale import Scale

__all__ = ["Over", "PlotError", "Scale", "animate", "plot", "plot_diagnostics", "view"]
