"""The contents of ensemble.nc: the variables of fields, members and time series, with their metadata."""

from __future__ import annotations

import numpy as np

from ..files.output.metadata import define_field, define_grid, define_variable
from ..files.output.static import define_static
from ..ocean.diagnostics import Quantity, quantities
from ..ocean.table import entry_of, on_grid
from ..setup.setup import setup_of
from .settings import viscosity_factors, wind_factors, written

MEAN, SPREAD, RMS = "_mean", "_spread", "_spread_rms"

WORDS = {MEAN: ("mean over the members", "realization: mean"), SPREAD: ("spread", "realization: standard_deviation")}


def define_contents(dataset, config) -> None:
    """Define everything but times, checksums and the usual global attributes in a new netCDF4.Dataset."""
    dataset.setncatts({"title": f"ensemble: {dataset.title}", "seed": np.int64(config.ensemble.seed)})
    define_grid(dataset, config.grid)
    define_members(dataset, config)
    define_static(dataset, config)
    for name in config.output.fields:
        entry = entry_of(name, config.physics)
        words = on_grid(entry, config.grid).long_name
        define_field(dataset, entry, config, ("time", "member"), cell_methods="time: point")
        for suffix, (what, methods) in WORDS.items():
            about = {"long_name": f"{words}, {what}", "cell_methods": f"time: point {methods}"}
            define_field(dataset, entry, config, ("time",), name + suffix, **about)
        about = {
            "long_name": f"{words}, spread, root mean square over the domain",
            "units": entry.units,
            "cell_methods": f"time: point {WORDS[SPREAD][1]} area: root_mean_square",
        }
        define_variable(dataset, name + RMS, ("time",), about)


def define_members(dataset, config) -> None:
    """Make the dimensions of all members and of those with fields, their coordinates, and the time series of all."""
    numbers = {"member": ("number of the member in realization, of those with fields in the file", written(config))}
    every = "number of the member, of all; 0 is not perturbed; fields of some are along member"
    numbers["realization"] = every, range(config.ensemble.members)
    for name, (words, values) in numbers.items():
        dataset.createDimension(name, len(values))
        about = {"standard_name": "realization", "long_name": words, "units": "1"}
        define_variable(dataset, name, (name,), about, values, "i4")
    factors = {"viscosity": viscosity_factors(config)} if config.ensemble.viscosity else {}
    factors |= {"wind": wind_factors(config)} if config.ensemble.wind and not config.ensemble.wind_length else {}
    for name, values in factors.items():
        about = {"long_name": f"factor of the {name} of each member", "units": "1"}
        define_variable(dataset, f"{name}_factor", ("realization",), about, values)
    for name, quantity in series(setup_of(config).scheme, config.open_sides.sides).items():
        about = {"long_name": f"{quantity.long_name}, of each member", "units": quantity.units}
        define_variable(dataset, name, ("time", "realization"), about)


def series(scheme, sides) -> dict[str, Quantity]:
    """The `diagnostics.quantities` by their names here; that of a content is not the name of the concentration."""
    return {f"{name}_content" if name in scheme.initial else name: of for name, of in quantities(scheme, sides).items()}
