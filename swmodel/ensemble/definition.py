"""The contents of ensemble.nc: the variables of fields, members and time series, with their metadata."""

from __future__ import annotations

from functools import partial

import numpy as np

from ..files.gather import chunk_rows
from ..files.output.metadata import (
    DIMENSIONS,
    attributes,
    define_checksums,
    define_grid,
    define_provenance,
    define_time,
    times_of,
)
from ..files.output.static import FILL, define_static
from ..ocean.diagnostics import Quantity, quantities
from ..ocean.table import entry_of, on_grid
from ..setup.setup import setup_of
from .settings import viscosity_factors, wind_factors, written

MEAN, SPREAD, RMS = "_mean", "_spread", "_spread_rms"

WORDS = {MEAN: ("mean over the members", "realization: mean"), SPREAD: ("spread", "realization: standard_deviation")}


def define(dataset, config, transport, command_line: str) -> None:
    """Define everything in a new netCDF4.Dataset."""
    define_provenance(dataset, config, transport, command_line)
    dataset.setncatts({"title": f"ensemble: {dataset.title}", "seed": np.int64(config.ensemble.seed)})
    define_time(dataset, times_of(config.time), bounds=False)
    define_grid(dataset, config.grid)
    define_members(dataset, config)
    shape, dtype = (config.grid.ny, config.grid.nx), np.dtype(config.run.dtype)
    rows = chunk_rows(shape, dtype.itemsize)
    packed = {"compression": "zlib", "complevel": 1, "shuffle": True}
    define_static(dataset, config, packed | {"chunksizes": (rows, shape[1])})
    make = partial(dataset.createVariable, datatype=dtype, fill_value=FILL, **packed)
    for name in config.output.fields:
        entry = entry_of(name, config.physics)
        named, points = on_grid(entry, config.grid), DIMENSIONS[entry.location]
        chosen = make(name, dimensions=("time", "member", *points), chunksizes=(1, 1, rows, shape[1]))
        chosen.setncatts(attributes(entry, config.grid, cell_methods="time: point"))
        for suffix, (words, methods) in WORDS.items():
            made = make(name + suffix, dimensions=("time", *points), chunksizes=(1, rows, shape[1]))
            told = {"long_name": f"{named.long_name}, {words}", "cell_methods": f"time: point {methods}"}
            made.setncatts(attributes(entry, config.grid, **told))
        dataset.createVariable(name + RMS, "f8", ("time",), fill_value=False).setncatts(
            {
                "long_name": f"{named.long_name}, spread, root mean square over the domain",
                "units": entry.units,
                "cell_methods": f"time: point {WORDS[SPREAD][1]} area: root_mean_square",
            }
        )
    define_checksums(dataset)


def define_members(dataset, config) -> None:
    """Make the dimensions of all members and of those with fields, their coordinates, and the time series of all."""
    numbers = {"member": ("number of the member in realization, of those with fields in the file", written(config))}
    every = "number of the member, of all; 0 is not perturbed; fields of some are along member"
    numbers["realization"] = every, range(config.ensemble.members)
    for name, (words, values) in numbers.items():
        dataset.createDimension(name, len(values))
        variable = dataset.createVariable(name, "i4", (name,), fill_value=False)
        variable.setncatts({"standard_name": "realization", "long_name": words, "units": "1"})
        variable[:] = values
    factors = {"viscosity": viscosity_factors(config)} if config.ensemble.viscosity else {}
    factors |= {"wind": wind_factors(config)} if config.ensemble.wind and not config.ensemble.wind_length else {}
    for name, values in factors.items():
        variable = dataset.createVariable(f"{name}_factor", "f8", ("realization",), fill_value=False)
        variable.setncatts({"long_name": f"factor of the {name} of each member", "units": "1"})
        variable[:] = values
    for name, quantity in series(setup_of(config).scheme, config.open_sides.sides).items():
        variable = dataset.createVariable(name, "f8", ("time", "realization"), fill_value=False)
        variable.setncatts({"long_name": f"{quantity.long_name}, of each member", "units": quantity.units})


def series(scheme, sides) -> dict[str, Quantity]:
    """The `diagnostics.quantities` by their names here; that of a content is not the name of the concentration."""
    return {f"{name}_content" if name in scheme.initial else name: of for name, of in quantities(scheme, sides).items()}
