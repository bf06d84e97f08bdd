"""The fields of a model as an xarray Dataset, with the coordinates, units and CF names of an output file."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

import swmodel

from ..config import config_hash, to_toml
from ..errors import UsageError
from ..files.output import static
from ..files.output.metadata import (
    DIMENSIONS,
    TIME_ATTRIBUTES,
    field_attributes,
    grid_coordinates,
    time_attributes,
    title_and_references,
)
from ..ocean.dates import have_same_days, start_date
from ..ocean.evaluation import derived_names
from ..ocean.table import INITIAL_FIELDS, INPUT_FIELDS, variable_in_run
from ..setup.setup import rows_and_columns

if TYPE_CHECKING:
    from ..config.options.model import Config

STEP_ATTRIBUTES = {"long_name": "number of time steps", "units": "1"}
#: Fields that `plot_fields` adds to the named ones, because `swmodel.plot` computes other fields from them.
STATE_FIELDS, CONSTANT_FIELDS = ("h", "u", "v", "eta"), ("depth", "mask", "f")
#: The first and the last year whose dates xarray represents in nanoseconds; for others it uses cftime.
NANOSECOND_YEARS = 1678, 2261


def dataset(model, names=None):
    """See `Simulation.dataset`."""
    names = model.config.output.fields if names is None else names
    names = [names] if isinstance(names, str) else list(names)
    config, (rows, columns) = model.config, rows_and_columns(model.block, 0)
    constant_fields = static.static_fields(config)
    available = *derived_names(model.scheme), *model.scheme.forcing, *constant_fields
    if unknown := [str(name) for name in names if name not in available]:
        raise UsageError(f"dataset: no field {', '.join(unknown)}; available are {', '.join(available)}")
    land, variables = static.land_masks(config, rows, columns), {}
    varying_fields = model.fields([name for name in names if name not in constant_fields])
    for name in names:
        entry = constant_fields.get(name) or variable_in_run(name, config.physics)
        if name in varying_fields:
            values, on_land = varying_fields[name], land[entry.location]
        else:
            values = np.broadcast_to(static.evaluate_static(config, name, rows, columns), model.block.shape)
            on_land = static.land_mask(config, rows, columns) if static.is_missing_on_land(name) else None
        variables[name] = make_variable(config, entry, values, on_land)
    return assemble_dataset(config, model.block, variables, time_coordinates(model))


def plot_fields(model, fields: Iterable[str], options: dict):
    """See `Simulation.plot`."""
    if model.transport.size > 1:
        raise UsageError("plot works on one process only; with several, plot the run folder with `swmodel.plot`")
    data = dataset(model, list(dict.fromkeys([*fields, *STATE_FIELDS, *CONSTANT_FIELDS])))
    data.attrs["configuration"] = to_toml(model.config)
    return swmodel.plot(data, *fields, **options)


def controls_dataset(config: Config, block, fields: dict):
    """The Dataset of controls by name on a process's part of the grid: fields [y, x], NaN on land, and numbers.

    Depth and coefficients also have values in the cells outside open boundaries.
    """
    (rows, columns), variables = rows_and_columns(block, 0), {}
    land = {choice: static.land_masks(config, rows, columns, with_boundary_cells=choice) for choice in (False, True)}
    for name, values in fields.items():
        entry = variable_in_run(name, config.physics)
        if np.ndim(values):
            with_boundary_cells = name in INPUT_FIELDS and name not in INITIAL_FIELDS
            on_land = land[with_boundary_cells][entry.location]
            variables[name] = make_variable(config, entry, values, on_land)
        else:
            variables[name] = ((), float(values), {"long_name": entry.long_name, "units": entry.units})
    return assemble_dataset(config, block, variables, {})


def make_variable(config: Config, entry, values, on_land) -> tuple:
    """A variable as (dimensions, values with NaN on land, attributes); `on_land` None: no value is missing."""
    values = np.array(values) if on_land is None else np.where(on_land, np.nan, values)
    attrs = field_attributes(entry, config.grid, grid="", cell_measures="", grid_mapping="", coordinates="")
    return DIMENSIONS[entry.location], values, attrs


def assemble_dataset(config: Config, block, variables: dict, extra_coordinates: dict):
    """The Dataset, with the coordinates of a process's part and `extra_coordinates`.

    Its attributes are the title and references of the case, and the SHA-256 of the configuration.
    """
    import xarray

    coordinates = {
        name: (name, values[index_range.start : index_range.stop], attributes)
        for name, values, attributes in grid_coordinates(config.grid)
        for index_range in (block.y if name.startswith("y") else block.x,)
    }
    title, references = title_and_references(config)
    attrs = {"title": title, "references": references, "configuration_sha256": config_hash(config)}
    dataset = xarray.Dataset(variables, coordinates | extra_coordinates, attrs)
    if "time" in dataset:
        dataset["time"].encoding = time_attributes(config.time) | {"dtype": "float64"}
    return dataset


def time_coordinates(model) -> dict:
    """The coordinates of the present time: `time`, in the form that xarray reads from output files, and `step`."""
    start = start_date(model.config.time)
    date: Any = start + timedelta(seconds=model.time)
    first_year, last_year = NANOSECOND_YEARS
    if have_same_days(start.calendar, "standard") and first_year <= start.year and date.year <= last_year:
        date = np.datetime64(start.isoformat(), "ns") + np.timedelta64(round(model.time * 1e9), "ns")
    attrs = {key: TIME_ATTRIBUTES[key] for key in ("standard_name", "long_name", "axis")}
    return {"time": ((), date, attrs), "step": ((), model.step, STEP_ATTRIBUTES)}
