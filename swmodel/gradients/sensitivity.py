"""The task `sensitivity`: maps of the derivatives of a quantity with respect to fields, computed by the adjoint."""

from __future__ import annotations

import re
import time
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..errors import NumericalError, UsageError, join_names, suggest
from ..files.run_folder import SENSITIVITY, write_config
from ..files.status import read_status, write_status
from ..model.validate import require_derivatives
from ..ocean.coordinates import coordinate_names_and_unit, is_spherical, points
from ..ocean.table import CONTROLS, INITIAL_FIELDS, variable_in_run
from ..ocean.variable import Variable
from ..parallel.environment import peak_memory
from ..parallel.stop import StopRequests
from .quantities import ScalarQuantity, parse_quantity

if TYPE_CHECKING:
    from ..config.options.model import Config
    from ..parallel.transport.transport import Transport

FIELD_CONTROLS = tuple(name for name, row in CONTROLS.items() if row.control == "field")
NUMBER_CONTROLS = tuple(name for name, row in CONTROLS.items() if row.control == "number")

OUTPUT_FILE, PICTURE_FILE = SENSITIVITY, "sensitivity.png"
FILE_COMMENT = (
    "Each map gives the change of the quantity if the field changes by one unit in one cell. Divide it by cell_area to "
    "make it independent of the size of the cells. A change of depth keeps the initial eta and velocity."
)


def write_sensitivity(
    path,
    config: Config,
    transport: Transport,
    quantity: ScalarQuantity,
    value: float,
    gradient: dict,
    options,
    command_line,
):
    """Write sensitivity.nc; returns {name of a map: the ExtremeValue of `files.output.maps`} on rank 0."""
    from ..files.output.maps import write_maps  # imported here because it needs JAX
    from ..files.output.metadata import define_variable

    time_of_value = (
        f"mean over the states after steps 1 to {config.run.steps}" if options["mean"] else "at the end of the run"
    )
    long_name = f"{quantity.long_name}, {time_of_value}"
    quantity_attributes = {"long_name": long_name, "definition": options["of"], "units": quantity.units}
    numbers, maps, maps_on_boundary = {quantity.name: (value, quantity_attributes)}, [], []
    for name, derivative in gradient.items():
        entry = derivative_variable(quantity, name, config.physics)
        if name in FIELD_CONTROLS:
            maps.append((entry, transport.get(derivative)))
            maps_on_boundary += [] if name in INITIAL_FIELDS else [entry.name]
        else:
            numbers[entry.name] = float(derivative), {"long_name": entry.long_name, "units": entry.units}
    attributes = {"quantity": options["of"], "quantity_long_name": long_name, "quantity_value": value}
    attributes |= {"quantity_units": quantity.units, "comment": FILE_COMMENT}
    if quantity.points:
        attributes |= {"quantity_x": [x for x, _ in quantity.points], "quantity_y": [y for _, y in quantity.points]}

    def define(dataset) -> None:
        dataset.setncatts(attributes)
        for name, (number, number_attributes) in numbers.items():
            define_variable(dataset, name, (), number_attributes, number)

    return write_maps(path, config, transport, maps, define, command_line, maps_on_boundary)


def derivative_variable(quantity: ScalarQuantity, name: str, physics) -> Variable:
    """The output variable of the derivative with respect to a field or number."""
    entry = variable_in_run(name, physics)
    long_name = f"initial {entry.long_name}" if name in INITIAL_FIELDS else entry.long_name
    derivative_name = f"derivative of {quantity.long_name} with respect to {long_name}"
    units = f"{quantity.units} {inverse_units(entry.units)}".strip()
    return Variable(f"d_{quantity.name}_d_{name}", entry.control_location, units, "", derivative_name)


def inverse_units(units: str) -> str:
    """The inverse of units: "m-2 s" of "m2 s-1"; powers may be fractions, as in "s m-1/3"."""
    factors = re.findall(r"([A-Za-z]+)(-?[\d/]*)", units)
    powers = [(unit, -Fraction(power or 1)) for unit, power in factors]
    return " ".join(unit if power == 1 else f"{unit}{power}" for unit, power in powers)


def check_request(config: Config, of: str, wrt) -> None:
    """Raise a UsageError if the derivatives of `of` with respect to `wrt` cannot be computed; does not need JAX."""
    unknown = [name for name in wrt if name not in FIELD_CONTROLS + NUMBER_CONTROLS]
    if unknown:
        hint = suggest(unknown[0], FIELD_CONTROLS + NUMBER_CONTROLS)
        if not hint.startswith("did you mean"):
            hint = f"fields are {join_names(FIELD_CONTROLS)}; numbers are {join_names(NUMBER_CONTROLS)}"
        raise UsageError(f"--wrt {unknown[0]}: no such field or number; {hint}")
    require_derivatives(config)
    parse_quantity(of, config)


def compute(config: Config, directory, options, report, command_line, watch) -> None:
    """Write sensitivity.nc, config.toml, status.json and, if there are maps, sensitivity.png.

    See `cli.tasks.TASK_MODULES`.

    Options:
        of: the quantity, as text.
        wrt: names of FIELD_CONTROLS and NUMBER_CONTROLS.
        mean: whether to differentiate the mean of the quantity over the states after each step, not its last value.
        memory: largest memory of a process, bytes.
    """
    from ..plotting.maps import draw_results
    from .problem import Problem
    from .sweep_monitor import SweepMonitor
    from .sweeps import steps_per_piece

    start_time, quantity = time.perf_counter(), parse_quantity(options["of"], config)
    every = 1 if options["mean"] else None
    problem = Problem(config, options["wrt"], quantity.observe, every, options["memory"])
    transport, directory = problem.transport, Path(directory)

    def value_of(series):  # the mean excludes the initial state
        return transport.sum(series[1:].mean() if options["mean"] and len(series) > 1 else series[-1])

    with StopRequests(config.run.walltime) as stop:
        monitor = SweepMonitor(problem, stop, report)
        watch(lambda: monitor.n_pieces)
        problem.split_into_pieces(steps_per_piece(problem.config), monitor)
        with monitor.measure_compilation():
            value, gradient = problem.value_and_gradient(problem.first_guess(), value_of)
            value, gradient = float(value), {name: gradient[name] for name in options["wrt"]}  # JAX sorts names
    if not all(np.isfinite(x) for x in (value, *(problem.dot({n: g}, {n: g}) for n, g in gradient.items()))):
        raise NumericalError(f"the derivatives of {quantity.long_name} are not finite in {config.run.dtype}")
    largest = write_sensitivity(
        directory / OUTPUT_FILE, problem.config, transport, quantity, value, gradient, options, command_line
    )
    peak = int(transport.reduce(np.asarray(peak_memory()), "max"))
    if transport.rank == 0:
        write_config(directory, problem.config)
        if any(name in FIELD_CONTROLS for name in gradient):
            draw_results(directory / OUTPUT_FILE)
        entries = {name: status_entry(quantity, name, gradient[name], largest, problem.config) for name in gradient}
        numbers = {"quantity": options["of"], "mean": options["mean"], "long_name": quantity.long_name, "value": value}
        numbers |= {"units": quantity.units, "derivatives": entries} | monitor.costs()
        numbers |= {"wall_seconds": time.perf_counter() - start_time, "peak_memory_bytes": peak}
        numbers |= {"nproc": transport.size, "dtype": config.run.dtype}
        write_status(directory, state="completed", exit_code=0, message="", **numbers)


def status_entry(quantity: ScalarQuantity, name: str, derivative, largest: dict, config: Config) -> dict:
    """The entry of a derivative in status.json: the number, or the largest value of the map and its position."""
    entry = derivative_variable(quantity, name, config.physics)
    status = {"name": entry.name, "units": entry.units}
    if name not in FIELD_CONTROLS:
        return status | {"value": float(derivative)}
    peak = largest[entry.name]
    at = points(config.grid, entry.location, [peak.row], [peak.column])
    names, unit = coordinate_names_and_unit(config.grid)
    coordinates = (at.lon, at.lat) if is_spherical(config.grid) else (at.x, at.y)
    position = {name: float(values[0, 0]) for name, values in zip(names, coordinates, strict=True)}
    return status | {"largest": peak.value, "unit": unit} | position


def summary(directory) -> str:
    """Lines for the value, each derivative (of a map the largest), the cost, the files, and the next command."""
    directory, status = Path(directory), read_status(directory)
    derivatives, maps = status["derivatives"], []
    mean = "mean " if status["mean"] else ""
    lines = [f"{mean}{status['long_name']}: {status['value']:.6g} {status['units']}"]
    for name, entry in derivatives.items():
        value_text = f"{entry.get('value', 0.0):.6g} {entry['units']}"
        if "largest" in entry:
            maps.append(entry["name"])
            position = (f"{key} = {entry[key]:g} {entry['unit']}" for key in ("x", "y", "lon", "lat") if key in entry)
            value_text = f"largest {entry['largest']:.4g} {entry['units']} at {', '.join(position)}"
        lines.append(f"with respect to {name}: {value_text}")
    times = f"in {status['wall_seconds']:.1f} s, of which compilation {status['compile_seconds']:.1f} s"
    ratio = status["gradient_over_forward"]
    lines.append(times + (f"; value and gradient take {ratio:.1f} times as long as the forward run" if ratio else ""))
    picture_text = f", {PICTURE_FILE}" if (directory / PICTURE_FILE).exists() else ""
    lines.append(f"{directory}: {OUTPUT_FILE}{picture_text}, config.toml, status.json")
    plot, field = ("plot", f" --field {maps[0]}") if maps else ("info", "")
    return "\n".join([*lines, f"Next: swmodel {plot} {directory / OUTPUT_FILE}{field}"])
