"""Time series of the whole domain: diagnostics.nc (mass, energy, ...) and spectra.nc of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...ocean.diagnostics import diagnostics_of_run
from ...ocean.spectral_quantities import SPECTRUM_AXES, spectral_quantities_of, spectral_quantity, wavenumber_axes
from ...setup.setup import setup_of
from .metadata import define_variable
from .record_file import RecordFile

if TYPE_CHECKING:
    from ...config.options.model import Config


class DomainSeriesFile(RecordFile):
    """A file of time series of the whole domain; each record holds numbers or vectors."""

    has_fields = False

    def write(self, step: int, seconds: float, values: dict) -> None:
        values = {"step": step, "time": seconds} | values
        self.append({name: np.asarray(value)[None] for name, value in values.items()})


class DiagnosticsFile(DomainSeriesFile):
    """diagnostics.nc of a run: the `diagnostics_of_run` over time; see `RecordFile`."""

    def define_contents(self, dataset, config: Config) -> None:
        diagnostics = diagnostics_of_run(
            setup_of(config).scheme, config.open_boundaries.sides, config.time.max_substeps
        )
        for name, quantity in diagnostics.items():
            define_variable(dataset, name, ("time",), {"long_name": quantity.long_name, "units": quantity.units})


class SpectraFile(DomainSeriesFile):
    """spectra.nc of a run: `ocean.spectra.compute_spectra` over time; see `RecordFile`."""

    def define_contents(self, dataset, config: Config) -> None:
        define_wavenumbers(dataset, config.grid)
        define_spectra(dataset, spectral_quantities_of(setup_of(config).scheme.state_type._fields))


def define_wavenumbers(dataset, grid) -> None:
    """Define the dimensions of spectra and their coordinates; `grid` is the section of the configuration."""
    for suffix, axis in wavenumber_axes(grid).items():
        name = f"wavenumber{suffix}"
        attrs: dict[str, str | float] = {"long_name": f"angular wavenumber{SPECTRUM_AXES[suffix]}", "units": "rad m-1"}
        if not suffix:
            attrs["comment"] = "bins as wide as the spacing; those beyond largest_whole are incomplete on the grid"
            attrs["largest_whole"] = axis.spacing * axis.last_resolved
        dataset.createDimension(name, axis.n_wavenumbers)
        define_variable(dataset, name, (name,), attrs, axis.wavenumbers)


def define_spectra(dataset, names, tendency_parts=None, **extra_attrs: str) -> None:
    """Define the variables of spectra of the quantities `names`.

    `tendency_parts`: {quantity: parts of its tendency that are in the file}. `extra_attrs`: further attributes of all
    variables.
    """
    for name in names:
        quantity, parts_of_quantity = spectral_quantity(name), (tendency_parts or {}).get(name, ())
        for suffix, direction in SPECTRUM_AXES.items():
            density = f"density of {quantity.long_name} by wavenumber{direction}"
            descriptions = {name: (density, quantity.units[0])}
            for part in parts_of_quantity:
                descriptions[f"{name}_by_{part}"] = (
                    f"rate of change of the {density}, due to {part.replace('_', ' ')}",
                    quantity.units[1],
                )
            for density_name, (long_name, units) in descriptions.items():
                attrs = {"long_name": long_name, "units": units} | extra_attrs
                define_variable(dataset, density_name + suffix, ("time", f"wavenumber{suffix}"), attrs)
        if quantity.transfer_part in parts_of_quantity:
            description = f"flux of {quantity.long_name} across the upper edge of a bin to larger wavenumbers, due to "
            attrs = {"long_name": description + quantity.transfer_part, "units": quantity.units[2]} | extra_attrs
            define_variable(dataset, f"{name}_flux", ("time", "wavenumber"), attrs)
    dataset.comment = "The sum over wavenumbers of a density, times their spacing, is the mean over the domain."
