"""Observations: one entry for each single datum, read from a file and checked before the first step."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..config import ConfigError, to_toml
from ..files.output.metadata import history_line, versions
from ..ocean.table import entry_of
from ..setup.positions.stencils import QUANTITIES
from .checks import faults
from .observation_file import load, save


class Observations(NamedTuple):
    """n single data, arrays [n]. Data of one time, place and platform are neighbours, in the order eta, u, v."""

    quantity: np.ndarray  # number in QUANTITIES, int8
    time: np.ndarray  # s since the start of the run
    x: np.ndarray  # m, or on a sphere longitude
    y: np.ndarray  # m, or latitude
    value: np.ndarray  # m or m s-1; NaN: not observed yet
    error: np.ndarray  # standard deviation of the value's error
    platform: np.ndarray  # text, "" where it is not known

    @property
    def size(self) -> int:
        """Number of data."""
        return len(self.quantity)

    def where(self, chosen) -> Observations:
        """The data chosen by a mask or by indices."""
        return Observations(*(field[chosen] for field in self))


def read(path, config) -> Observations:
    """The observations in a file, in its order.

    Args:
        path: NetCDF file; docs/assimilation.md describes it.
        config: resolved configuration of the run to compare with them.

    Raises:
        ConfigError: the file is no observation file, or the run cannot be compared with it; names all problems.
        InputError: the file of the mask cannot be read.
    """
    columns, platform, problems = load(path, config)
    used = np.stack([observed(columns, name) for name in QUANTITIES], axis=1)
    if not problems and not used.any():
        problems = [f"{path}: holds no observations"]
    problems += [f"{path}: {fault}" for fault in faults(columns, used, config)]
    if problems:
        raise ConfigError(problems)
    row, quantity = np.nonzero(used)
    time, x, y = (np.ma.getdata(columns[name])[row] for name in ("time", "x", "y"))
    platform = np.full(len(used), "") if platform is None else platform
    return Observations(
        quantity.astype(np.int8),
        np.clip(time, 0.0, config.run.steps * config.time.dt),
        x,
        y,
        value=table(columns, "")[row, quantity],
        error=table(columns, "_error")[row, quantity],
        platform=platform[row],
    )


def observed(columns: dict, name: str) -> np.ndarray:
    """Where a quantity is observed, [obs]."""
    length = max((len(column) for column in columns.values()), default=0)
    return ~np.ma.getmaskarray(columns[name]) if name in columns else np.zeros(length, bool)


def table(columns: dict, end: str) -> np.ndarray:
    """The columns of all QUANTITIES whose names end so, [obs, quantity], NaN where there is no value."""
    nothing = np.full(len(columns["time"]), np.nan)
    return np.stack([np.ma.filled(columns.get(name + end, nothing), np.nan) for name in QUANTITIES], axis=1)


def write(path, observations: Observations, config, command_line: str = "") -> None:
    """Write an observation file that `read` reads in the same order.

    Args:
        path: that of the file, which appears whole or not at all.
        observations: with values and errors.
        config: recorded in the file.
        command_line: recorded in the file's history.

    Raises:
        FilesError: it cannot be written.
        ValueError: values are not finite, as they have not been observed yet.
    """
    if not np.isfinite(observations.value).all():
        raise ValueError("observations without values cannot be written")
    row = rows_of(observations)
    first = np.flatnonzero(np.diff(row, prepend=-1))
    columns = {name: getattr(observations, name)[first] for name in ("time", "x", "y")}
    for number, name in enumerate(QUANTITIES):
        chosen = observations.quantity == number
        for key, values in ((name, observations.value), (f"{name}_error", observations.error)):
            if chosen.any():
                columns[key] = np.full(len(first), np.nan)
                columns[key][row[chosen]] = values[chosen]
    platform = observations.platform[first] if (observations.platform != "").any() else None
    version = versions().get("swmodel", "").split()
    attributes = {
        "title": f"observations of {entry_of('eta', config.physics).long_name} and currents",
        "institution": config.output.institution or "not given",
        "source": " ".join(["swmodel", *version]),
        "references": "not given",
        "history": history_line(command_line or "swmodel.assimilation.observations.write"),
        "configuration": to_toml(config),
    }
    save(path, columns, platform, attributes, config)


def rows_of(observations: Observations) -> np.ndarray:
    """The row of each datum in the file: neighbours of one time, place and platform share a row."""
    together = np.diff(observations.quantity.astype(np.int64)) > 0
    for field in (observations.time, observations.x, observations.y, observations.platform):
        together &= field[1:] == field[:-1]
    return np.cumsum(np.append(False, ~together)) if observations.size else np.zeros(0, np.int64)
