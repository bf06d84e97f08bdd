"""The state from which a run with `input.state` starts, in the restart file of another run."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator
from datetime import timedelta
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...ocean.dates import start_date
from ...ocean.table import INITIAL_FIELDS
from ...ocean.terms.boundary_data import input_file_of
from ...ocean.terms.tracer import CONTENT_SUFFIX
from .netcdf_input import InputError
from .netcdf_input.dataset import open_file, read_values

if TYPE_CHECKING:
    from ...config.options.model import Config

#: Where a run keeps its restart files, and their names.
RESTART_FOLDER, RESTART_NAME_PATTERN = "restart", re.compile(r"step-(\d+)\.(nc|zarr)")


def newest_restart_file(path: str) -> str:
    """The path of a restart file unchanged or, for the folder of a run, the path of its newest restart file.

    InputError: the folder contains no restart file.
    """
    if not os.path.isdir(path) or os.path.isfile(os.path.join(path, "zarr.json")):
        return path
    folder = os.path.join(path, RESTART_FOLDER)
    names = [
        name for name in (os.listdir(folder) if os.path.isdir(folder) else ()) if RESTART_NAME_PATTERN.fullmatch(name)
    ]
    if not names:
        raise InputError(f"{path} contains no restart file; give the folder of a run, or a restart file")
    return os.path.join(folder, max(names))


def read_header(path: str) -> tuple[dict[str, Any], float, dict[str, int]]:
    """A run's configuration, its model time, s, and how many dimensions each variable of its restart file has.

    InputError: the file cannot be read, or is not a restart file.
    """
    with open_file(path) as dataset:
        attributes, variables = dataset.data.attrs, dataset.data.variables
        if not {"configuration", "seconds", "mean_steps"} <= attributes.keys():
            raise InputError(f"{path} is not a restart file")
        n_dimensions = {str(name): variable.ndim for name, variable in variables.items()}
        try:
            return tomllib.loads(str(attributes["configuration"])), float(attributes["seconds"]), n_dimensions
        except tomllib.TOMLDecodeError as error:
            raise InputError(f"{path}: its configuration was changed or damaged: {error}") from None


def keys_from_state(path: str) -> dict[tuple[str, str], str]:
    """{(section, key): value} for a run that starts from a state: the date of the state as `time.start`, if it has one.

    If the state is from after the ramp of the tide, `tide.ramp` is "none".
    """
    tables, seconds, _ = read_header(path)
    time, ramp = SimpleNamespace(**tables["time"]), tables.get("tide", {}).get("ramp", "none")
    keys = {("tide", "ramp"): "none"} if ramp != "none" and ramp <= seconds else {}
    date = (start_date(time) + timedelta(seconds=seconds)).isoformat() if time.start else ""
    return keys | ({("time", "start"): date} if date else {})


def problems(config: Config, names: tuple[str, ...]) -> Iterator[str]:
    """Why a run with the state fields `names` cannot start from the state, one line each."""
    path = config.input.state
    try:
        tables, _, n_dimensions = read_header(path)
    except InputError as error:
        yield f"input.state: {error}"
        return
    grid_keys = {key: value for key, value in config.grid.model_dump(mode="json").items() if value not in (None, "")}
    different_keys = {
        key: tables["grid"].get(key) for key, value in grid_keys.items() if tables["grid"].get(key, value) != value
    }
    for key, value in different_keys.items():
        yield f"input.state: {path} has another grid: grid.{key} is {value} there and {grid_keys[key]} here"
    if missing := [name for name in names if name not in n_dimensions and other_tracer_name(name) not in n_dimensions]:
        yield f"input.state: {path} has no {', '.join(missing)}, because its run had other terms or tracers"
    elif n_dimensions["h"] > 2:
        yield f"input.state: {path} is the state of an ensemble; give that of one run"
    for name in (*INITIAL_FIELDS, *(each.name for each in config.physics.tracers)):
        if input_file_of(config, name) or name in config.python.names:
            yield f"input.state: contains {name}, which is also given elsewhere; leave out one of the two"


def other_tracer_name(name: str) -> str:
    """The name under which runs with other steppers store a tracer: as content, not concentration, or the reverse."""
    return name.removesuffix(CONTENT_SUFFIX) if name.endswith(CONTENT_SUFFIX) else name + CONTENT_SUFFIX


def read_state_field(config: Config, name: str, rows, columns) -> np.ndarray:
    """Values of a state field in rows and columns within the grid, float64."""
    rows, columns = np.asarray(rows), np.asarray(columns)
    y, x = (slice(int(numbers.min()), int(numbers.max()) + 1) for numbers in (rows, columns))
    with open_file(config.input.state, "input.state: ") as dataset, np.errstate(all="ignore"):

        def read_window(name):
            return np.asarray(read_values(dataset.data[name], (y, x)), np.float64)

        if name in dataset.data:
            window = read_window(name)
        else:
            window = read_window(other_tracer_name(name)) * read_window("h") ** (
                1 if name.endswith(CONTENT_SUFFIX) else -1
            )
    return window[np.ix_(rows - y.start, columns - x.start)]
