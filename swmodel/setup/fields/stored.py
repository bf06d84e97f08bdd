"""The state of another run, in its restart file: that from which a run with `input.state` starts."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import numpy as np

from ...ocean.dates import start_of
from ...ocean.table import INITIAL
from ...ocean.terms.outside import file_of
from ...ocean.terms.tracer import CONTENT
from .netcdf_input import InputError
from .netcdf_input.dataset import open_file, values_of

#: Where a run keeps its restart files, and their names.
FOLDER, NAME = "restart", re.compile(r"step-\d+\.(nc|zarr)")


def newest(path: str) -> str:
    """A restart file; of a run folder the one after the most steps."""
    if not os.path.isdir(path) or os.path.isfile(os.path.join(path, "zarr.json")):
        return path
    folder = os.path.join(path, FOLDER)
    found = [name for name in (os.listdir(folder) if os.path.isdir(folder) else ()) if NAME.fullmatch(name)]
    if not found:
        raise InputError(f"{path} holds no restart file; give the folder of a run, or a restart file")
    return os.path.join(folder, max(found))


def header(path: str) -> tuple[dict[str, Any], float, dict[str, int]]:
    """The configuration of the run, its model time, s, and the number of dimensions of each variable."""
    with open_file(path) as dataset:
        attributes, variables = dataset.data.attrs, dataset.data.variables
        if not {"configuration", "seconds", "mean_steps"} <= attributes.keys():
            raise InputError(f"{path} is no restart file")
        ranks = {str(name): variable.ndim for name, variable in variables.items()}
        return tomllib.loads(str(attributes["configuration"])), float(attributes["seconds"]), ranks


def keys_of(path: str) -> dict[tuple[str, str], str]:
    """The keys with which a run goes on at the date of the state: `time.start`; and `tide.ramp`, as that is over."""
    tables, seconds, _ = header(path)
    time, ramp = SimpleNamespace(**tables["time"]), tables.get("tide", {}).get("ramp", "none")
    found = {("tide", "ramp"): "none"} if ramp != "none" and ramp <= seconds else {}
    date = (start_of(time) + timedelta(seconds=seconds)).isoformat() if time.start else ""
    return found | ({("time", "start"): date} if date else {})


def problems(config: Any, names: tuple[str, ...]) -> Iterator[str]:
    """Why a run with the state fields `names` cannot start from the state, one line each."""
    path = config.input.state
    try:
        tables, _, ranks = header(path)
    except InputError as error:
        yield f"input.state: {error}"
        return
    here = {key: value for key, value in config.grid.model_dump(mode="json").items() if value not in (None, "")}
    other = {key: tables["grid"].get(key) for key, value in here.items() if tables["grid"].get(key, value) != value}
    for key, value in other.items():
        yield f"input.state: {path} is of another grid: grid.{key} is {value} there and {here[key]} here"
    if missing := [name for name in names if name not in ranks and other_form(name) not in ranks]:
        yield f"input.state: {path} has no {', '.join(missing)}: its run had other terms or tracers"
    elif ranks["h"] > 2:
        yield f"input.state: {path} is the state of an ensemble; give that of one run"
    for name in (*INITIAL, *(each.name for each in config.physics.tracers)):
        if file_of(config, name) or name in config.python.names:
            yield f"input.state: has {name}, which is also given otherwise; leave out one of both"


def other_form(name: str) -> str:
    """The name under which runs with other steppers store a tracer: its content in place of its concentration."""
    return name.removesuffix(CONTENT) if name.endswith(CONTENT) else name + CONTENT


def stored_field(config: Any, name: str, rows, columns) -> np.ndarray:
    """Values of a state field in rows and columns within the grid, float64."""
    rows, columns = np.asarray(rows), np.asarray(columns)
    y, x = (slice(int(numbers.min()), int(numbers.max()) + 1) for numbers in (rows, columns))
    with open_file(config.input.state, "input.state: ") as dataset, np.errstate(all="ignore"):

        def read(name):
            return np.asarray(values_of(dataset.data[name], (y, x)), np.float64)

        if name in dataset.data:
            window = read(name)
        else:
            window = read(other_form(name)) * read("h") ** (1 if name.endswith(CONTENT) else -1)
    return window[np.ix_(rows - y.start, columns - x.start)]
