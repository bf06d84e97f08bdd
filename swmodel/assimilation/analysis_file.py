"""analysis.nc: first guess, analysis and increment of the controls, departures of the observations, costs, errors."""

from __future__ import annotations

from pathlib import Path

import netCDF4
import numpy as np

from ..errors import FilesError
from ..files.output.metadata import DIMENSIONS, attributes, define_grid, define_provenance
from ..files.output.static import FILL, land, on_water
from ..gradients.controls import CONTROLS
from ..ocean.state import entry_of
from .observation_file import START
from .stencils import QUANTITIES

#: Bytes of a field gathered at a time.
GATHER_BYTES = 4 << 20

#: Units of the errors over time.
FORECAST = {"eta": "m", "current": "m s-1"}

WORDS = {
    "background": "first guess",
    "analysis": "analysis",
    "increment": "analysis minus first guess",
    "truth": "truth",
}


def write_analysis(path, experiment, analysis: dict, departures: dict, results: dict, command_line: str = "") -> None:
    """Write the file, whole or not at all; called by all processes together.

    Raises:
        FilesError: it could not be written, on all processes.
    """
    path, transport, config = Path(path), experiment.problem.transport, experiment.problem.config
    temporary, problem, dataset = path.with_suffix(".writing"), None, None
    if transport.rank == 0:
        try:
            dataset = netCDF4.Dataset(temporary, "w")
            define_provenance(dataset, config, transport, command_line)
            dataset.title = f"assimilation: {dataset.title}"
            define_grid(dataset, config.grid)
            put_observations(dataset, experiment.observations, departures)
            put_iterations(dataset, results["iterations"])
            put_forecast(dataset, results.get("twin", {}).get("forecast"), config.physics)
        except OSError as error:
            problem = f"{path} cannot be written: {error.strerror or error}"
    for name, of, values in fields(experiment, analysis):
        problem = put_field(dataset, name, of, np.asarray(values), config, transport, problem)
    if transport.rank == 0 and problem is None:
        dataset.close()
        temporary.replace(path)
    if problem := transport.broadcast(problem):
        raise FilesError(problem)


def fields(experiment, analysis: dict):
    """(control, of what, values) of everything that is written."""
    for name in experiment.background.names:
        base = np.asarray(experiment.base[name])
        yield name, "background", base
        yield name, "analysis", analysis[name]
        yield name, "increment", np.asarray(analysis[name]) - base
        if experiment.truth is not None:
            yield name, "truth", experiment.truth[name]


def put_field(dataset, name: str, of: str, values, config, transport, problem):
    """Write a control, gathered in blocks of rows; what went wrong on rank 0, in words."""
    control, block = CONTROLS[name], transport.block
    entry = entry_of(name, config.physics) if control.location else None
    words = entry.long_name if entry else name.replace("_", " ")
    about = {"long_name": f"{words}, {WORDS[of]}", "units": control.units}
    if not control.location:
        if dataset is not None and problem is None:
            variable = dataset.createVariable(f"{name}_{of}", "f8", fill_value=False)
            variable.setncatts(about)
            variable[...] = values
        return problem
    rows, columns = (np.arange(axis.start, axis.stop) for axis in (block.y, block.x))
    values = on_water(values, land(config, rows, columns)[control.location])
    variable = None
    if dataset is not None and problem is None:
        variable = dataset.createVariable(
            f"{name}_{of}", values.dtype, DIMENSIONS[control.location], fill_value=FILL, compression="zlib"
        )
        variable.setncatts(attributes(entry, **about, standard_name="" if of == "increment" else entry.standard_name))
    height = max(1, GATHER_BYTES // (config.grid.nx * values.itemsize))
    for first in range(0, config.grid.ny, height):
        last = min(first + height, config.grid.ny)
        whole = transport.gather_rows(values, first, last)
        if variable is not None:
            try:
                variable[first:last] = whole
            except (OSError, RuntimeError) as error:
                problem, variable = f"{dataset.filepath()} cannot be written: {error}", None
    return problem


def put_observations(dataset, observations, departures: dict) -> None:
    """Where what was observed, and how far first guess and analysis are from it."""
    dataset.createDimension("observation", observations.size)
    columns = {
        "observation_time": (observations.time, {"standard_name": "time", "units": f"seconds since {START}"}),
        "observation_x": (observations.x, {"long_name": "x of the observation", "units": "m"}),
        "observation_y": (observations.y, {"long_name": "y of the observation", "units": "m"}),
        "observation_quantity": (observations.quantity, {"long_name": "observed quantity"}),
        "observation_error": (observations.error, {"long_name": "standard deviation of the error, m or m s-1"}),
    }
    for who, values in departures.items():
        words = f"observation minus {WORDS[who]}, m or m s-1"
        columns[f"departure_{who}"] = values, {"long_name": words}
    for name, (values, about) in columns.items():
        kind = "i1" if name == "observation_quantity" else "f8"
        variable = dataset.createVariable(name, kind, ("observation",), fill_value=False)
        variable.setncatts(about)
        variable[:] = values
    flags = {"flag_values": np.arange(len(QUANTITIES), dtype="i1"), "flag_meanings": " ".join(QUANTITIES)}
    dataset["observation_quantity"].setncatts(flags)


def put_iterations(dataset, history: list) -> None:
    """Cost, its parts and the gradient after each outer iteration."""
    dataset.createDimension("iteration", len(history))
    words = {
        "cost": "cost",
        "background": "part of the cost from the first guess",
        "observations": "part of the cost from observations",
        "gradient_norm": "norm of the gradient",
        "misfit": "rms of departures over their errors",
    }
    for name, long_name in words.items():
        variable = dataset.createVariable(f"iteration_{name}", "f8", ("iteration",), fill_value=False)
        variable.setncatts({"long_name": long_name, "units": "1"})
        variable[:] = [row[name] for row in history]


def put_forecast(dataset, forecast: dict | None, physics) -> None:
    """Errors against the truth over time, in a twin experiment."""
    if forecast is None:
        return
    dataset.createDimension("error_time", len(forecast["days"]))
    variable = dataset.createVariable("error_time", "f8", ("error_time",), fill_value=False)
    variable.setncatts({"long_name": "time since the start of the window", "units": "days"})
    variable.end_of_window = forecast["window_days"]
    variable[:] = forecast["days"]
    told = {"eta": entry_of("eta", physics).long_name, "current": "current"}
    for name, units in FORECAST.items():
        for who, of in forecast[name].items():
            for where, values in of.items():
                variable = dataset.createVariable(f"{name}_error_{who}_{where}", "f8", ("error_time",))
                what = told[name]
                words = f"rms error of {what} of the run from the {WORDS[who]}, {where}"
                variable.setncatts({"long_name": words, "units": units})
                variable[:] = values
