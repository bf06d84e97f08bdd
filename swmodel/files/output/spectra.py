"""Spectra over time: spectra.nc of a run, and the variables of a file of spectra."""

from __future__ import annotations

from ...ocean.squares import square_of, squares_of
from ...ocean.wavenumbers import ALONG, axes_of
from ...setup.setup import setup_of
from .metadata import define_checksums, define_provenance, define_time, times_of
from .series import Series


class Spectra(Series):
    """spectra.nc of a run: `ocean.spectra.measure` over time; see `RecordFile`."""

    def define(self, dataset, config, transport, command_line: str) -> None:
        """See `RecordFile.define`."""
        define_provenance(dataset, config, transport, command_line)
        define_time(dataset, times_of(config.time), bounds=False)
        define_wavenumbers(dataset, config.grid)
        define_spectra(dataset, squares_of(setup_of(config).scheme.state._fields))
        define_checksums(dataset)


def define_wavenumbers(dataset, grid) -> None:
    """Make the dimensions of spectra with their coordinates; `grid` is the section of the configuration."""
    for along, axis in axes_of(grid).items():
        name = f"wavenumber{along}"
        dataset.createDimension(name, axis.count)
        variable = dataset.createVariable(name, "f8", (name,), fill_value=False)
        variable.setncatts({"long_name": f"angular wavenumber{ALONG[along]}", "units": "rad m-1"})
        if not along:
            variable.comment = "rings as wide as the spacing, whole up to largest_whole; beyond, the grid cuts them"
            variable.largest_whole = axis.step * axis.whole
        variable[:] = axis.wavenumbers


def define_spectra(dataset, names, parts=None, **attributes: str) -> None:
    """Make the variables of spectra.

    Args:
        names: of the quantities, of `squares.squares_of`.
        parts: {quantity: the parts of the tendency whose effect on it is also in the file}.
        attributes: attributes of all variables.
    """
    for name in names:
        square = square_of(name)
        for along, words in ALONG.items():
            density = f"density of {square.long_name} by wavenumber{words}"
            made = {name: (density, square.units[0])}
            for part in (parts or {}).get(name, ()):
                made[f"{name}_by_{part}"] = f"change of the {density}, by {part.replace('_', ' ')}", square.units[1]
            for each, (long_name, units) in made.items():
                variable = dataset.createVariable(each + along, "f8", ("time", f"wavenumber{along}"), fill_value=False)
                variable.setncatts({"long_name": long_name, "units": units} | attributes)
        if square.carried in (parts or {}).get(name, ()):
            variable = dataset.createVariable(f"{name}_flux", "f8", ("time", "wavenumber"), fill_value=False)
            words = f"flux of {square.long_name} through the upper edge of a ring to larger wavenumbers, by "
            variable.setncatts({"long_name": words + square.carried, "units": square.units[2]} | attributes)
    dataset.comment = "The sum over wavenumbers of a density, times their spacing, is the mean over the domain."
