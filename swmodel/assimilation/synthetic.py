"""Synthetic observations: places and times of an altimeter and moorings, and their values from known fields."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..errors import UsageError, file_errors
from ..files.journal import recover
from ..files.store.data import opened
from ..ocean.coordinates import axes, edges, metres, on_sphere
from ..parallel.worker import NETCDF
from ..setup.positions.stencils import QUANTITIES, neighbourhoods, stencils
from .observations import TOLERANCE, Observations


class Altimeter(NamedTuple):
    """A satellite that measures sea level along its ground tracks."""

    repeat: float  # s, repeat period
    separation: float  # m, distance in x of neighbouring parallel tracks
    spacing: float  # m, distance along the track of neighbouring observations
    error: float  # m, standard deviation
    angle: float = 25.0  # degrees, between the tracks and the y axis; above 0, below 90
    speed: float = 5800.0  # m s-1, over ground


def tracks(config, altimeter: Altimeter, seed: int = 0) -> Observations:
    """Sea level along the ground tracks of an altimeter, without values.

    Ascending tracks lean to the east of north by the angle; descending tracks go south and lean east by the same angle.
    On a sphere they have a constant course relative to the grid's axes, and the separation holds at its middle
    latitude. On a ring the separation is the nearest one that divides its length. The altimeter flies over all tracks
    once in each repeat period. The seed determines their order and shifts in time and place, the same in each period.

    Returns:
        Observations over water during the run, ordered in time; the platforms are "ascending-1", ...
    """
    rng, end = np.random.default_rng(seed), config.run.steps * config.time.dt
    lean, (west, east, south, north) = math.radians(altimeter.angle), edges(config.grid)
    lines = ground_tracks(config.grid, altimeter.separation, lean, rng.random(2))
    order, phase = rng.permutation(len(lines)), rng.random()
    northward = math.cos(lean) / metres(config.grid, "y")  # along the y axis, for each metre of a track
    along = np.arange(0.5, (north - south) / (altimeter.spacing * northward)) * altimeter.spacing
    passes = []
    for cycle in range(max(1, math.ceil(end / altimeter.repeat))):
        for place, number in enumerate(order):
            name, x_start, direction = lines[number]
            begin = (cycle + (place + phase) / len(lines)) * altimeter.repeat
            y_start = south if direction > 0 else north
            y = y_start + direction * along * northward
            gone = np.abs(conformal(config.grid, y) - conformal(config.grid, y_start))
            x = x_start + (gone * math.tan(lean) if on_sphere(config.grid) else along * math.sin(lean))
            passes.append((begin + along / altimeter.speed, x, y, np.full(len(along), name)))
    time, x, y, platform = (np.concatenate(parts) for parts in zip(*passes, strict=True))
    x = west + (x - west) % (east - west) if config.grid.periodic_x else x
    inside = np.flatnonzero((x >= west) & (x <= east) & (time <= end))
    chosen = inside[over_water(config, x[inside], y[inside])]
    chosen = chosen[np.argsort(time[chosen], kind="stable")]
    quantity, error = np.zeros(len(chosen), np.int8), np.full(len(chosen), float(altimeter.error))
    return Observations(
        quantity, time[chosen], x[chosen], y[chosen], np.full(len(chosen), np.nan), error, platform[chosen]
    )


def ground_tracks(grid, separation: float, lean: float, shifts) -> list[tuple[str, float, int]]:
    """(name, x of the entry, +1 northward or -1 southward) of all tracks that cross the domain."""
    west, east, south, north = edges(grid)
    length, reach = east - west, (conformal(grid, north) - conformal(grid, south)) * math.tan(lean)
    separation = separation / metres(grid, "x", (south + north) / 2)
    if grid.periodic_x:
        count = max(1, round(length / separation))
        separation = length / count
    else:
        count = max(1, math.ceil((length + reach) / separation))
        west -= reach
    return [
        (f"{name}-{k + 1}", west + (k + shift) * separation, direction)
        for name, direction, shift in (("ascending", +1, shifts[0]), ("descending", -1, shifts[1]))
        for k in range(count)
    ]


def conformal(grid, y):
    """Positions along the y axis in a Mercator map, whose lines of constant course are straight; degrees."""
    return np.degrees(np.arctanh(np.sin(np.radians(y)))) if on_sphere(grid) else y


def moorings(config, nx: int, ny: int, every: float, errors: dict[str, float]) -> Observations:
    """Moorings in the middle of the cells of a coarse grid of ny x nx over the domain, without values.

    Moorings on land or without an open face around are omitted.

    Args:
        every: time between observations, s; the first is at the start.
        errors: {quantity: standard deviation of its error, m or m s-1} for the observed ones of eta, u and v.

    Returns:
        Observations ordered by time, mooring and quantity; the platforms are "mooring-1", ...
    """
    west, east, south, north = edges(config.grid)
    y, x = np.meshgrid(
        south + (np.arange(ny) + 0.5) * (north - south) / ny,
        west + (np.arange(nx) + 0.5) * (east - west) / nx,
        indexing="ij",
    )
    x, y, numbers = x.ravel(), y.ravel(), np.array(sorted(QUANTITIES.index(name) for name in errors))
    wet = over_water(config, x, y)
    for number in numbers:
        wet &= stencils(config, np.full(x.shape, number), x, y).reached
    names = np.array([f"mooring-{k + 1}" for k in range(wet.sum())])
    end = config.run.steps * config.time.dt
    times = np.arange(math.floor(end / every * (1 + 1e-12)) + 1) * every
    t, m, q = (axis.ravel() for axis in np.meshgrid(times, np.arange(len(names)), numbers, indexing="ij"))
    sigma = np.array([errors.get(name, np.nan) for name in QUANTITIES])[q]
    return Observations(q.astype(np.int8), t, x[wet][m], y[wet][m], np.full(q.shape, np.nan), sigma, names[m])


def over_water(config, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Whether positions within the domain lie in wet cells."""
    along = axes(config.grid)
    rows, columns = (
        np.clip(np.floor(axis.index(axis.within(place)) + 0.5), 0, axis.cells - 1).astype(np.int64)
        for axis, place in ((along.y, y), (along.x, x))
    )
    return neighbourhoods(config, rows, columns)[:, 0, 0] > 0


def together(*parts: Observations) -> Observations:
    """Several sets of observations as one, ordered in time."""
    whole = Observations(*(np.concatenate(fields) for fields in zip(*parts, strict=True)))
    return whole.where(np.argsort(whole.time, kind="stable"))


def observe_run(observations: Observations, samples, config, seed: int = 0) -> Observations:
    """The observations with values from known fields, plus noise with their errors, the same on every process.

    Args:
        samples: the true values [n], as from `Operator.collect`, a function (quantity, time in s, x, y in m) of arrays,
            or the path of a run's snapshots. Of these the nearest records count.

    Raises:
        UsageError: the output lacks a quantity, has another grid, or is too short.
        FilesError: the output cannot be read.
    """
    if callable(samples):
        true = by_quantity(observations, lambda name, at: samples(name, at.time, at.x, at.y))
    elif isinstance(samples, (str, bytes)) or hasattr(samples, "__fspath__"):
        true = in_output(observations, samples, config)
    else:
        true = np.asarray(samples, dtype=np.float64)
    noise = np.random.default_rng(seed).standard_normal(observations.size)
    return observations._replace(value=true + observations.error * noise)


def by_quantity(observations: Observations, evaluate: Callable) -> np.ndarray:
    """Values [n] from `evaluate(quantity, observations of this quantity)`."""
    values = np.empty(observations.size)
    for number, name in enumerate(QUANTITIES):
        chosen = observations.quantity == number
        if chosen.any():
            values[chosen] = evaluate(name, observations.where(chosen))
    return values


def in_output(observations: Observations, path, config) -> np.ndarray:
    """Values [n] from the output of a run: bilinear in space, nearest record in time."""
    with file_errors(path, "read"):
        recover(path)
        with NETCDF, opened(path) as dataset:
            return by_quantity(observations, lambda name, at: in_records(dataset, path, name, at, config))


def in_records(dataset, path, name: str, at: Observations, config) -> np.ndarray:
    """Values of one quantity."""
    shape = (config.grid.ny, config.grid.nx)
    if name not in dataset.variables:
        raise UsageError(f"{path} has no {name}; it has to be among output.fields")
    if dataset[name].shape[1:] != shape:
        raise UsageError(f"{path} has {dataset[name].shape[1:]} cells, the configuration {shape} (ny, nx)")
    times = np.asarray(dataset["time"][:], dtype=np.float64)
    slack = TOLERANCE * config.time.dt
    if at.time.max() > times[-1] + slack or at.time.min() < times[0] - slack:
        raise UsageError(
            f"{path} has records from {times[0]:g} to {times[-1]:g} s, the observations are from {at.time.min():g} to "
            f"{at.time.max():g} s"
        )
    record = np.searchsorted(0.5 * (times[1:] + times[:-1]), at.time, side="right")
    found, values = stencils(config, at.quantity, at.x, at.y), np.empty(at.size)
    for number in np.unique(record):
        chosen = record == number
        field = np.ma.filled(np.ma.asarray(dataset[name][number], dtype=np.float64), 0.0)
        points = field[found.rows[chosen], found.columns[chosen]]
        values[chosen] = (found.weights[chosen] * points).sum(axis=1)
    return values


DAY = 86400.0


def is_twin(config) -> bool:
    """Whether the case defines a truth and a first guess."""
    return spins_up(config) or hasattr(config.case, "believed")


def spins_up(config) -> bool:
    """Whether truth and first guess of a twin experiment are states of one run."""
    return {"spinup", "lead", "forecast"} <= set(type(config.case).model_fields)


def network(config) -> Observations:
    """The altimeter's tracks and the moorings of a twin experiment, or else the run's stations, without values.

    Moorings measure both components of the current at each sample of the model, stations the sea level.
    """
    case, every = config.case, config.assimilation.every_steps * config.time.dt
    if not spins_up(config):
        places = config.output.stations
        x, y = np.reshape([(at.x, at.y) if at.lon is None else (at.lon, at.lat) for at in places], (-1, 2)).T
        times = every * np.arange(config.run.steps // config.assimilation.every_steps + 1)
        t, k = (axis.ravel() for axis in np.meshgrid(times, np.arange(x.size), indexing="ij"))
        value, error = np.full(t.size, np.nan), np.full(t.size, float(case.eta_error))
        names = np.array([at.name for at in places], str)
        return Observations(np.zeros(t.size, np.int8), t, x[k], y[k], value, error, names[k])
    altimeter = Altimeter(case.repeat * DAY, case.separation, case.spacing, case.eta_error)
    parts = [tracks(config, altimeter, case.seed)]
    if case.moorings:
        error = {"u": case.velocity_error, "v": case.velocity_error}
        parts.append(moorings(config, case.moorings, case.moorings, every, error))
    return together(*parts)
