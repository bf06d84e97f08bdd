"""The values of observed quantities in known fields: formulas, or the output of a run."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..errors import UsageError, file_errors
from ..files.journal import recover
from ..setup.positions.stencils import QUANTITIES, stencils
from .checks import TOLERANCE
from .observations import Observations


def by_quantity(observations: Observations, evaluate: Callable) -> np.ndarray:
    """Values [n] from `evaluate(quantity, the observations of this quantity)`."""
    values = np.empty(observations.size)
    for number, name in enumerate(QUANTITIES):
        chosen = observations.quantity == number
        if chosen.any():
            values[chosen] = evaluate(name, observations.where(chosen))
    return values


def in_output(observations: Observations, path, config) -> np.ndarray:
    """Values [n] from the output of a run: bilinear in space, nearest record in time."""
    import netCDF4

    with file_errors(path, "read"):
        recover(path)
        with netCDF4.Dataset(path) as dataset:
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
