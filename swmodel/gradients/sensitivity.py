"""The task `sensitivity`: maps of a quantity's derivatives with respect to fields, by the adjoint."""

from __future__ import annotations

import re
import time
from fractions import Fraction
from pathlib import Path

import numpy as np

from ..errors import NumericalError, UsageError, listed, suggest
from ..files.run_folder import SENSITIVITY, write_config
from ..files.status import read_status, write_status
from ..model.validate import require_derivatives
from ..ocean.coordinates import points, positions
from ..ocean.table import CONTROLS, INITIAL, entry_of
from ..ocean.variable import Variable
from ..parallel.environment import peak_memory
from ..parallel.stop import Stop
from .quantities import Quantity, parse

#: The fields and numbers of derivatives.
FIELDS = tuple(name for name, row in CONTROLS.items() if row.control == "field")
NUMBERS = tuple(name for name, row in CONTROLS.items() if row.control == "number")

#: A comment for readers of the file.
COMMENT = (
    "Each map gives the change of the quantity for a change of the field by one unit in one cell. Divided by "
    "cell_area it does not depend on the size of the cells. A change of depth keeps the initial eta and velocity."
)


def write(path, config, transport, quantity: Quantity, value: float, gradient: dict, options, command_line):
    """Write the file; returns the Largest of each map, by name, on rank 0."""
    from ..files.output.maps import write_maps  # imported here, as it needs JAX
    from ..files.output.metadata import define_variable

    when = f"mean over the states after steps 1 to {config.run.steps}" if options["mean"] else "at the end of the run"
    long_name = f"{quantity.long_name}, {when}"
    meaning = {"long_name": long_name, "definition": options["of"], "units": quantity.units}
    numbers, maps, static = {quantity.name: (value, meaning)}, [], []
    for name, derivative in gradient.items():
        entry = derivative_of(quantity, name, config.physics)
        if name in FIELDS:
            maps.append((entry, transport.get(derivative)))
            static += [] if name in INITIAL else [entry.name]
        else:
            numbers[entry.name] = float(derivative), {"long_name": entry.long_name, "units": entry.units}
    about = {"quantity": options["of"], "quantity_long_name": long_name, "quantity_value": value}
    about |= {"quantity_units": quantity.units, "comment": COMMENT}
    if quantity.line:
        about |= {"quantity_x": [x for x, _ in quantity.line], "quantity_y": [y for _, y in quantity.line]}

    def define(dataset) -> None:
        dataset.setncatts(about)
        for name, (number, meaning) in numbers.items():
            define_variable(dataset, name, (), meaning, number)

    return write_maps(path, config, transport, maps, define, command_line, static)


def derivative_of(quantity: Quantity, name: str, physics) -> Variable:
    """The variable of the derivative with respect to a field or number."""
    entry = entry_of(name, physics)
    long_name = f"initial {entry.long_name}" if name in INITIAL else entry.long_name
    words, units = f"derivative of {quantity.long_name} with respect to {long_name}", inverse(entry.units)
    return Variable(
        f"d_{quantity.name}_d_{name}", entry.control_location, f"{quantity.units} {units}".strip(), "", words
    )


def inverse(units: str) -> str:
    """The inverse of units like "m2 s-1": "m-2 s"; powers may be fractions, as in "s m-1/3"."""
    factors = (re.fullmatch(r"([A-Za-z]+)(-?[\d/]*)", factor) for factor in units.split() if factor != "1")
    powers = [(factor[1], -Fraction(factor[2] or 1)) for factor in factors]
    return " ".join(unit if power == 1 else f"{unit}{power}" for unit, power in powers)


NAME, PICTURE = SENSITIVITY, "sensitivity.png"


def check_request(config, of: str, wrt) -> None:
    """Make sure that the derivatives of `of` with respect to `wrt` can be computed, without JAX; else a UsageError."""
    unknown = [name for name in wrt if name not in FIELDS + NUMBERS]
    if unknown:
        hint = suggest(unknown[0], FIELDS + NUMBERS)
        if not hint.startswith("did you mean"):
            hint = f"fields are {listed(FIELDS)}; numbers are {listed(NUMBERS)}"
        raise UsageError(f"--wrt {unknown[0]}: no such field; {hint}")
    require_derivatives(config)
    parse(of, config)


def compute(config, directory, options, report, command_line, watch) -> None:
    """Write sensitivity.nc and sensitivity.png; see `cli.job.TASKS`.

    Options:
        of: the quantity.
        wrt: names of FIELDS and NUMBERS.
        mean: whether to take the quantity's mean over the states after each step, not its value in the last state.
        memory: bytes that a process may hold.
    """
    from ..plotting.maps import draw_results
    from .problem import Problem
    from .sweeps import length_of
    from .watcher import Watcher

    begin, quantity = time.perf_counter(), parse(options["of"], config)
    every = 1 if options["mean"] else None
    problem = Problem(config, options["wrt"], quantity.observe, every, options["memory"])
    transport, directory = problem.transport, Path(directory)

    def value_of(series):  # from the shares of all samples; the mean excludes the first one
        return transport.sum(series[1:].mean() if options["mean"] and len(series) > 1 else series[-1])

    with Stop(config.run.walltime) as stop:
        watcher = Watcher(problem, stop, report)
        watch(lambda: watcher.pieces)
        problem.in_pieces(length_of(problem.config), watcher)
        with watcher.compilations():
            value, gradient = problem.value_and_gradient(problem.first_guess(), value_of)
            value, gradient = float(value), {name: gradient[name] for name in options["wrt"]}  # JAX sorts names
    if not all(np.isfinite(x) for x in (value, *(problem.dot({n: g}, {n: g}) for n, g in gradient.items()))):
        raise NumericalError(f"the derivatives of {quantity.long_name} are not finite in {config.run.dtype}")
    largest = write(directory / NAME, problem.config, transport, quantity, value, gradient, options, command_line)
    peak = int(transport.reduce(np.asarray(peak_memory()), "max"))
    if transport.rank == 0:
        write_config(directory, problem.config)
        if any(name in FIELDS for name in gradient):
            draw_results(directory / NAME)
        found = {name: found_of(quantity, name, gradient[name], largest, problem.config) for name in gradient}
        numbers = {"quantity": options["of"], "mean": options["mean"], "long_name": quantity.long_name, "value": value}
        numbers |= {"units": quantity.units, "derivatives": found} | watcher.costs()
        numbers |= {"wall_seconds": time.perf_counter() - begin, "peak_memory_bytes": peak}
        numbers |= {"nproc": transport.size, "dtype": config.run.dtype}
        write_status(directory, state="completed", exit_code=0, message="", **numbers)


def found_of(quantity: Quantity, name: str, derivative, largest: dict, config) -> dict:
    """The entry of a derivative in status.json: the number, or the largest value of the map and its position."""
    entry = derivative_of(quantity, name, config.physics)
    found = {"name": entry.name, "units": entry.units}
    if name not in FIELDS:
        return found | {"value": float(derivative)}
    peak = largest[entry.name]
    at = points(config.grid, entry.location, [peak.row], [peak.column])
    names, unit = positions(config.grid)
    places = (at.lon, at.lat) if at.degrees else (at.x, at.y)
    where = {name: float(place[0, 0]) for name, place in zip(names, places, strict=True)}
    return found | {"largest": peak.value, "unit": unit} | where


def summary(directory) -> str:
    """The value, the largest sensitivity of each field with its position, the cost, and the next command."""
    directory, status = Path(directory), read_status(directory)
    derivatives, maps = status["derivatives"], []
    mean = "mean " if status["mean"] else ""
    lines = [f"{mean}{status['long_name']}: {status['value']:.6g} {status['units']}"]
    for name, found in derivatives.items():
        what = f"{found.get('value', 0.0):.6g} {found['units']}"
        if "largest" in found:
            maps.append(found["name"])
            places = (f"{key} = {found[key]:g} {found['unit']}" for key in ("x", "y", "lon", "lat") if key in found)
            what = f"largest {found['largest']:.4g} {found['units']} at {', '.join(places)}"
        lines.append(f"by {name}: {what}")
    times = f"in {status['wall_seconds']:.1f} s, of which compilation {status['compile_seconds']:.1f} s"
    ratio = status["gradient_over_forward"]
    lines.append(times + (f"; value and gradient take {ratio:.1f} times the run forward" if ratio else ""))
    pictured = f", {PICTURE}" if (directory / PICTURE).exists() else ""
    lines.append(f"{directory}: {NAME}{pictured}, config.toml, status.json")
    plot, field = ("plot", f" --field {maps[0]}") if maps else ("info", "")
    return "\n".join([*lines, f"Next: swmodel {plot} {directory / NAME}{field}"])
