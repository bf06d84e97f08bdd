"""The fields of a model as a Dataset of xarray, with coordinates, units and CF names as in an output file."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np

from ..config import config_hash
from ..errors import UsageError
from ..files.output import static
from ..files.output.metadata import DIMENSIONS, TIME, along_axes, attributes, of_case
from ..ocean.dates import alike, start_of
from ..ocean.evaluation import derived
from ..ocean.table import GIVEN, INITIAL, entry_of

#: Attributes of the coordinate `step`.
STEP = {"long_name": "number of time steps", "units": "1"}
#: Longest model time, s, that xarray can count in nanoseconds.
LONGEST = 8e9


def dataset(model, names=None):
    """The Dataset of a model's present fields on this process's part; see `Simulation.dataset`."""
    import xarray

    names = list(names or model.config.output.fields) if not isinstance(names, str) else [names]
    config, block, resting = model.config, model.block, static.static_fields(model.config)
    there = *derived(model.scheme), *model.scheme.forcing, *resting
    if unknown := [str(name) for name in names if name not in there]:
        raise UsageError(f"dataset: no field {', '.join(unknown)}; there are {', '.join(there)}")
    rows, columns = np.arange(block.y.start, block.y.stop), np.arange(block.x.start, block.x.stop)
    dry = static.land(config, rows, columns)
    moving = model.fields([name for name in names if name not in resting])
    variables = {}
    for name in names:
        row = resting.get(name) or entry_of(name, config.physics)
        values = moving[name] if name in moving else static.evaluate(config, name, rows, columns)
        values = np.broadcast_to(values, block.shape)
        resting_on = static.ground(config, rows, columns) if static.on_water_only(name) else None
        on_land = dry[row.location] if name in moving else resting_on
        values = np.array(values) if on_land is None else np.where(on_land, np.nan, values)
        variables[name] = (DIMENSIONS[row.location], values, plain(row, config.grid, name))
    return xarray.Dataset(variables, coordinates(config, block) | moment(model), told_of(config))


def dataset_of(config, block, fields: dict):
    """The Dataset of controls by name on a process's part: fields [y, x], NaN on land, and numbers.

    Depth and coefficients have values on the water outside open sides, too.
    """
    import xarray

    rows, columns = np.arange(block.y.start, block.y.stop), np.arange(block.x.start, block.x.stop)
    dry = {outside: static.land(config, rows, columns, outside=outside) for outside in (False, True)}
    variables: dict[str, tuple] = {}
    for name, values in fields.items():
        row = entry_of(name, config.physics)
        if np.ndim(values):
            on_land = dry[name in GIVEN and name not in INITIAL][row.location]
            values = values if on_land is None else np.where(on_land, np.nan, values)
            variables[name] = (DIMENSIONS[row.location], values, plain(row, config.grid, name))
        else:
            variables[name] = ((), float(values), {"long_name": row.long_name, "units": row.units})
    return xarray.Dataset(variables, coordinates(config, block), told_of(config))


def plain(row, grid, name: str) -> dict[str, str]:
    """The attributes of a field that no file holds."""
    return attributes(row, grid, name, grid="", cell_measures="", grid_mapping="", coordinates="")


def coordinates(config, block) -> dict:
    """The coordinates of a process's part, as in an output file."""
    return {
        name: (name, values[span.start : span.stop], about)
        for name, values, about in along_axes(config.grid)
        for span in (block.y if name.startswith("y") else block.x,)
    }


def moment(model) -> dict:
    """The coordinates of the present time: `time`, as xarray reads it from an output file, and `step`."""
    start, parts = start_of(model.config.time), 1e9 if model.time < LONGEST else 1
    unit: Any = "s" if parts == 1 else "ns"
    if alike(start.calendar, "standard"):
        when = np.datetime64(start.isoformat(), unit) + np.timedelta64(round(model.time * parts), unit)
    else:
        when = start + timedelta(seconds=model.time)
    return {
        "time": ((), when, {key: TIME[key] for key in ("standard_name", "long_name", "axis")}),
        "step": ((), model.step, STEP),
    }


def told_of(config) -> dict[str, str]:
    """The attributes of the whole Dataset: the case and the configuration."""
    title, references = of_case(config)
    return {"title": title, "references": references, "configuration_sha256": config_hash(config)}
