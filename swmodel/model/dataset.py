"""The fields of a model as a Dataset of xarray, with coordinates, units and CF names as in an output file."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import numpy as np

import swmodel

from ..config import config_hash, to_toml
from ..errors import UsageError
from ..files.output import static
from ..files.output.metadata import DIMENSIONS, TIME, along_axes, attributes, of_case, times_of
from ..ocean.dates import alike, start_of
from ..ocean.evaluation import derived
from ..ocean.table import GIVEN, INITIAL, entry_of

#: Attributes of the coordinate `step`.
STEP = {"long_name": "number of time steps", "units": "1"}
#: The fields that `drawn` gives to pictures besides those that are named: others are computed from them.
STATE, RESTING = ("h", "u", "v", "eta"), ("depth", "mask", "f")
#: The first and the last year whose dates xarray counts in nanoseconds; it reads others as dates of cftime.
YEARS = 1678, 2261


def dataset(model, names=None):
    """The Dataset of a model's present fields on this process's part; see `Simulation.dataset`."""
    names = list(names or model.config.output.fields) if not isinstance(names, str) else [names]
    config, resting, (rows, columns) = model.config, static.static_fields(model.config), indices(model.block)
    there = *derived(model.scheme), *model.scheme.forcing, *resting
    if unknown := [str(name) for name in names if name not in there]:
        raise UsageError(f"dataset: no field {', '.join(unknown)}; there are {', '.join(there)}")
    dry, variables = static.land(config, rows, columns), {}
    moving = model.fields([name for name in names if name not in resting])
    for name in names:
        row = resting.get(name) or entry_of(name, config.physics)
        if name in moving:
            values, on_land = moving[name], dry[row.location]
        else:
            values = np.broadcast_to(static.evaluate(config, name, rows, columns), model.block.shape)
            on_land = static.ground(config, rows, columns) if static.on_water_only(name) else None
        variables[name] = field(config, name, row, values, on_land)
    return made(config, model.block, variables, moment(model))


def drawn(model, fields: Iterable[str], how: dict):
    """The figure of a model's present fields; see `Simulation.plot`."""
    if model.transport.size > 1:
        raise UsageError("plot draws what one process holds; of a run of several, `swmodel.plot` draws the run folder")
    found = dataset(model, list(dict.fromkeys([*fields, *STATE, *RESTING])))
    found.attrs["configuration"] = to_toml(model.config)
    return swmodel.plot(found, *fields, **how)


def dataset_of(config, block, fields: dict):
    """The Dataset of controls by name on a process's part: fields [y, x], NaN on land, and numbers.

    Depth and coefficients also have values on the water outside open sides.
    """
    dry = {outside: static.land(config, *indices(block), outside=outside) for outside in (False, True)}
    variables: dict[str, tuple] = {}
    for name, values in fields.items():
        row = entry_of(name, config.physics)
        if np.ndim(values):
            variables[name] = field(config, name, row, values, dry[name in GIVEN and name not in INITIAL][row.location])
        else:
            variables[name] = ((), float(values), {"long_name": row.long_name, "units": row.units})
    return made(config, block, variables, {})


def indices(block) -> tuple[np.ndarray, np.ndarray]:
    """The rows and columns of a process's part."""
    return np.arange(block.y.start, block.y.stop), np.arange(block.x.start, block.x.stop)


def field(config, name: str, row, values, on_land) -> tuple:
    """A variable: dimensions, values with NaN on land, and attributes."""
    values = np.array(values) if on_land is None else np.where(on_land, np.nan, values)
    about = attributes(row, config.grid, name, grid="", cell_measures="", grid_mapping="", coordinates="")
    return DIMENSIONS[row.location], values, about


def made(config, block, variables: dict, more: dict):
    """The Dataset, with the coordinates of a process's part and `more`, and the case and the configuration."""
    import xarray

    coordinates = {
        name: (name, values[span.start : span.stop], about)
        for name, values, about in along_axes(config.grid)
        for span in (block.y if name.startswith("y") else block.x,)
    }
    title, references = of_case(config)
    about = {"title": title, "references": references, "configuration_sha256": config_hash(config)}
    dataset = xarray.Dataset(variables, coordinates | more, about)
    if "time" in dataset:
        dataset["time"].encoding = times_of(config.time) | {"dtype": "float64"}
    return dataset


def moment(model) -> dict:
    """The coordinates of the present time: `time`, in the form that xarray reads from output files, and `step`."""
    start = start_of(model.config.time)
    when: Any = start + timedelta(seconds=model.time)
    if alike(start.calendar, "standard") and YEARS[0] <= start.year and when.year <= YEARS[1]:
        when = np.datetime64(start.isoformat(), "ns") + np.timedelta64(round(model.time * 1e9), "ns")
    about = {key: TIME[key] for key in ("standard_name", "long_name", "axis")}
    return {"time": ((), when, about), "step": ((), model.step, STEP)}
