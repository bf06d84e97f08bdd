"""Synthetic observations of an altimeter, moorings and stations: positions, times, and values from known fields."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..errors import UsageError, translate_os_errors
from ..files.journal import recover
from ..files.store.dataset import open_netcdf_or_zarr
from ..ocean.coordinates import cells_containing, edges, is_spherical, metres_per_unit, to_grid_axes
from ..ocean.places import position_in_table
from ..parallel.worker import NETCDF_LOCK
from ..setup.positions.stencils import OBSERVED_QUANTITIES, bilinear_stencils, neighbourhood_values
from .observations import TIME_TOLERANCE_STEPS, Observations

if TYPE_CHECKING:
    from ..config.options.model import Config


class Altimeter(NamedTuple):
    """A satellite that measures sea level along its ground tracks."""

    repeat: float  # s, repeat period
    separation: float  # m, distance in x between neighbouring parallel tracks
    spacing: float  # m, distance along the track between neighbouring observations
    error: float  # m, standard deviation of the errors
    angle: float = 25.0  # degrees, between the tracks and the y axis; above 0, below 90
    speed: float = 5800.0  # m s-1, over ground


def tracks(config: Config, altimeter: Altimeter, seed: int = 0) -> Observations:
    """Observations, without values, of sea level along the ground tracks of an altimeter.

    Ascending tracks lean to the east of north by the angle; descending tracks go south and lean east by the same angle.
    On a sphere their course relative to the grid's axes is constant, and the separation holds at the middle latitude.
    If x is periodic, the separation is rounded so that it divides the domain. The altimeter flies over all tracks once
    per repeat period. The seed determines their order and their shifts in time and position, the same in each period.

    Returns:
        Observations over water during the run, ordered in time; the platforms are "ascending-1", "descending-1", ...
    """
    rng, end_time = np.random.default_rng(seed), config.run.steps * config.time.dt
    lean_angle, (west, east, south, north) = math.radians(altimeter.angle), edges(config.grid)
    all_tracks = ground_tracks(config.grid, altimeter.separation, lean_angle, rng.random(2))
    order, phase = rng.permutation(len(all_tracks)), rng.random()
    northward = math.cos(lean_angle) / metres_per_unit(config.grid, "y")  # change of y per metre of a track
    distances = np.arange(0.5, (north - south) / (altimeter.spacing * northward)) * altimeter.spacing
    passes = []
    for period in range(max(1, math.ceil(end_time / altimeter.repeat))):
        for position_in_order, number in enumerate(order):
            name, x_start, direction = all_tracks[number]
            start_time = (period + (position_in_order + phase) / len(all_tracks)) * altimeter.repeat
            y_start = south if direction > 0 else north
            y = y_start + direction * distances * northward
            mercator_distance = np.abs(mercator_y(config.grid, y) - mercator_y(config.grid, y_start))
            x = x_start + (
                mercator_distance * math.tan(lean_angle)
                if is_spherical(config.grid)
                else distances * math.sin(lean_angle)
            )
            passes.append((start_time + distances / altimeter.speed, x, y, np.full(len(distances), name)))
    time, x, y, platform = (np.concatenate(parts) for parts in zip(*passes, strict=True))
    x = west + (x - west) % (east - west) if config.grid.periodic_x else x
    inside = np.flatnonzero((x >= west) & (x <= east) & (time <= end_time))
    indices = inside[is_over_water(config, x[inside], y[inside])]
    indices = indices[np.argsort(time[indices], kind="stable")]
    quantity, error = np.zeros(len(indices), np.int8), np.full(len(indices), float(altimeter.error))
    return Observations(
        quantity, time[indices], x[indices], y[indices], np.full(len(indices), np.nan), error, platform[indices]
    )


def ground_tracks(grid, separation: float, lean_angle: float, shifts) -> list[tuple[str, float, int]]:
    """(name, x where it starts, +1 northward or -1 southward) of each track that crosses the domain.

    A northward track starts at the latitude or y of the southern edge, a southward track at that of the northern edge.

    Args:
        separation: distance between parallel tracks along x, m, in the middle of the domain.
        lean_angle: angle between the tracks and the y axis, radians.
        shifts: position of the first ascending and of the first descending track, as fractions of the separation.
    """
    west, east, south, north = edges(grid)
    length, lean_width = east - west, (mercator_y(grid, north) - mercator_y(grid, south)) * math.tan(lean_angle)
    separation = separation / metres_per_unit(grid, "x", (south + north) / 2)
    if grid.periodic_x:
        count = max(1, round(length / separation))
        separation = length / count
    else:
        count = max(1, math.ceil((length + lean_width) / separation))
        west -= lean_width
    return [
        (f"{name}-{k + 1}", west + (k + shift) * separation, direction)
        for name, direction, shift in (("ascending", +1, shifts[0]), ("descending", -1, shifts[1]))
        for k in range(count)
    ]


def mercator_y(grid, y):
    """Positions along the y axis of a Mercator map, where lines of constant course are straight; on a plane, y."""
    return np.degrees(np.arctanh(np.sin(np.radians(y)))) if is_spherical(grid) else y


def moorings(config: Config, nx: int, ny: int, every: float, errors: dict[str, float]) -> Observations:
    """Observations, without values, of moorings at the cell centres of a coarse grid of ny x nx over the domain.

    Moorings on land are omitted, and those with no wet point of an observed quantity around them.

    Args:
        every: time between observations, s; the first is at the start.
        errors: {quantity: standard deviation of its error, m or m s-1}, for those of eta, u and v that are observed.

    Returns:
        Observations ordered by time, mooring and quantity; the platforms are "mooring-1", ...
    """
    west, east, south, north = edges(config.grid)
    y_2d, x_2d = np.meshgrid(
        south + (np.arange(ny) + 0.5) * (north - south) / ny,
        west + (np.arange(nx) + 0.5) * (east - west) / nx,
        indexing="ij",
    )
    x, y = x_2d.ravel(), y_2d.ravel()
    quantities = np.array(sorted(OBSERVED_QUANTITIES.index(name) for name in errors))
    wet = is_over_water(config, x, y)
    for each in quantities:
        wet &= bilinear_stencils(config, np.full(x.shape, each), x, y).is_covered
    names = np.array([f"mooring-{k + 1}" for k in range(wet.sum())])
    end_time = config.run.steps * config.time.dt
    times = np.arange(math.floor(end_time / every * (1 + 1e-12)) + 1) * every
    axes = times, np.arange(len(names)), quantities
    time, mooring, quantity = (axis.ravel() for axis in np.meshgrid(*axes, indexing="ij"))
    error = np.array([errors.get(name, np.nan) for name in OBSERVED_QUANTITIES])[quantity]
    x, y, value = x[wet][mooring], y[wet][mooring], np.full(quantity.shape, np.nan)
    return Observations(quantity.astype(np.int8), time, x, y, value, error, names[mooring])


def is_over_water(config: Config, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Whether each position, within the domain, lies in a wet cell."""
    return neighbourhood_values(config, *cells_containing(config.grid, x, y))[:, 0, 0] > 0


def merge_observations(*parts: Observations) -> Observations:
    """Several sets of observations as one, ordered in time."""
    merged = Observations(*(np.concatenate(fields) for fields in zip(*parts, strict=True)))
    return merged.select(np.argsort(merged.time, kind="stable"))


def observe_run(observations: Observations, samples, config: Config, seed: int = 0) -> Observations:
    """The observations with values from known fields plus Gaussian noise, the same on all processes.

    The standard deviation of the noise is the `error` of each observation.

    Args:
        samples: the true values [n], as from `ObservationOperator.collect`; or a function (name of the quantity, time
            in s, x, y) of arrays, with x and y in the units of Observations; or the path of a run's output, of which
            the records nearest in time are used.

    Raises:
        UsageError: the output lacks a quantity, has another grid, or is too short.
        FilesError: the output cannot be read.
    """
    if callable(samples):
        true_values = evaluate_by_quantity(observations, lambda name, part: samples(name, part.time, part.x, part.y))
    elif isinstance(samples, str | os.PathLike):
        true_values = values_from_output(observations, samples, config)
    else:
        true_values = np.asarray(samples, dtype=np.float64)
    noise = np.random.default_rng(seed).standard_normal(observations.size)
    return observations._replace(value=true_values + observations.error * noise)


def evaluate_by_quantity(observations: Observations, evaluate: Callable) -> np.ndarray:
    """The values [n] that `evaluate(quantity, observations of this quantity)` returns."""
    values = np.empty(observations.size)
    for number, name in enumerate(OBSERVED_QUANTITIES):
        has_quantity = observations.quantity == number
        if has_quantity.any():
            values[has_quantity] = evaluate(name, observations.select(has_quantity))
    return values


def values_from_output(observations: Observations, path, config: Config) -> np.ndarray:
    """Values [n] from a run's output: bilinear in space, the nearest record in time."""
    with translate_os_errors(path, "read"):
        recover(path)
        with NETCDF_LOCK, open_netcdf_or_zarr(path) as dataset:
            return evaluate_by_quantity(
                observations, lambda name, part: values_from_records(dataset, path, name, part, config)
            )


def values_from_records(dataset, path, name: str, observations: Observations, config: Config) -> np.ndarray:
    shape = (config.grid.ny, config.grid.nx)
    if name not in dataset.variables:
        raise UsageError(f"{path} has no {name}; it must be among output.fields")
    if dataset[name].shape[1:] != shape:
        raise UsageError(f"{path} has {dataset[name].shape[1:]} cells, but the configuration has {shape} (ny, nx)")
    times = np.asarray(dataset["time"][:], dtype=np.float64)
    tolerance = TIME_TOLERANCE_STEPS * config.time.dt
    if observations.time.max() > times[-1] + tolerance or observations.time.min() < times[0] - tolerance:
        raise UsageError(
            f"{path} has records from {times[0]:g} to {times[-1]:g} s, but the observations are from "
            f"{observations.time.min():g} to {observations.time.max():g} s"
        )
    record = np.searchsorted(0.5 * (times[1:] + times[:-1]), observations.time, side="right")
    stencil = bilinear_stencils(config, observations.quantity, observations.x, observations.y)
    values = np.empty(observations.size)
    for number in np.unique(record):
        at_record = record == number
        field = np.ma.filled(np.ma.asarray(dataset[name][number], dtype=np.float64), 0.0)
        points = field[stencil.rows[at_record], stencil.columns[at_record]]
        values[at_record] = (stencil.weights[at_record] * points).sum(axis=1)
    return values


#: Length of a day, s.
DAY = 86400.0


def is_twin(config: Config) -> bool:
    """Whether the case defines a truth and a first guess."""
    return is_spun_up_twin(config) or hasattr(config.case, "prior_config")


def is_spun_up_twin(config: Config) -> bool:
    """Whether truth and first guess are states of one run at different times."""
    return {"spinup", "lead", "forecast"} <= set(type(config.case).model_fields)


def make_network(config: Config) -> Observations:
    """Observations, without values, of the altimeter and the moorings of a twin experiment, or of the run's stations.

    At each sample of the model, moorings measure both components of the current, and stations measure sea level.
    """
    case = config.case
    every = config.assimilation.every_steps * config.time.dt
    if not is_spun_up_twin(config):
        stations = config.output.stations
        positions = [to_grid_axes(config.grid, *position_in_table(config.grid, s, s.name)) for s in stations]
        x, y = np.reshape(positions, (-1, 2)).T
        times = every * np.arange(config.run.steps // config.assimilation.every_steps + 1)
        t, k = (axis.ravel() for axis in np.meshgrid(times, np.arange(x.size), indexing="ij"))
        value, error = np.full(t.size, np.nan), np.full(t.size, float(case.eta_error))
        names = np.array([station.name for station in stations], str)
        return Observations(np.zeros(t.size, np.int8), t, x[k], y[k], value, error, names[k])
    altimeter = Altimeter(case.repeat * DAY, case.separation, case.spacing, case.eta_error)
    parts = [tracks(config, altimeter, case.seed)]
    if case.moorings:
        errors = {"u": case.velocity_error, "v": case.velocity_error}
        parts.append(moorings(config, case.moorings, case.moorings, every, errors))
    return merge_observations(*parts)
