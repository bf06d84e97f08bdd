"""Time series of the whole domain: diagnostics.nc (mass, energy, ...) and spectra.nc of a run."""

from __future__ import annotations

import numpy as np

from ...ocean.diagnostics import quantities
from ...ocean.squares import ALONG, axes_of, square_of, squares_of
from ...setup.setup import setup_of
from .metadata import define_variable
from .record_file import RecordFile


class Series(RecordFile):
    """A file of time series of the whole domain: numbers or vectors."""

    on_grid = False

    def write(self, step: int, seconds: float, values: dict) -> None:
        """Append the values at one time, by the names of their variables."""
        values = {"step": step, "time": seconds} | values
        self.append({name: np.asarray(each)[None] for name, each in values.items()})


class Diagnostics(Series):
    """diagnostics.nc of a run: the `quantities` over time; see `RecordFile`."""

    def define_contents(self, dataset, config) -> None:
        found = quantities(setup_of(config).scheme, config.open_sides.sides, config.time.halvings)
        for name, quantity in found.items():
            define_variable(dataset, name, ("time",), {"long_name": quantity.long_name, "units": quantity.units})


class Spectra(Series):
    """spectra.nc of a run: `ocean.spectra.measure` over time; see `RecordFile`."""

    def define_contents(self, dataset, config) -> None:
        define_wavenumbers(dataset, config.grid)
        define_spectra(dataset, squares_of(setup_of(config).scheme.state._fields))


def define_wavenumbers(dataset, grid) -> None:
    """Make the dimensions of spectra with their coordinates; `grid` is the section of the configuration."""
    for along, axis in axes_of(grid).items():
        name, about = f"wavenumber{along}", {"long_name": f"angular wavenumber{ALONG[along]}", "units": "rad m-1"}
        if not along:
            about["comment"] = "rings as wide as the spacing, whole up to largest_whole; beyond, the grid cuts them"
            about["largest_whole"] = axis.step * axis.whole
        dataset.createDimension(name, axis.count)
        define_variable(dataset, name, (name,), about, axis.wavenumbers)


def define_spectra(dataset, names, parts=None, **about: str) -> None:
    """Make the variables of spectra; `parts`: {quantity: parts of the tendency with an effect in the file}."""
    for name in names:
        square, of = square_of(name), (parts or {}).get(name, ())
        for along, words in ALONG.items():
            density = f"density of {square.long_name} by wavenumber{words}"
            made = {name: (density, square.units[0])}
            for part in of:
                made[f"{name}_by_{part}"] = f"change of the {density}, by {part.replace('_', ' ')}", square.units[1]
            for each, (long_name, units) in made.items():
                found = {"long_name": long_name, "units": units} | about
                define_variable(dataset, each + along, ("time", f"wavenumber{along}"), found)
        if square.carried in of:
            words = f"flux of {square.long_name} through the upper edge of a ring to larger wavenumbers, by "
            found = {"long_name": words + square.carried, "units": square.units[2]} | about
            define_variable(dataset, f"{name}_flux", ("time", "wavenumber"), found)
    dataset.comment = "The sum over wavenumbers of a density, times their spacing, is the mean over the domain."
