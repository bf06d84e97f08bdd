"""Observations, one entry for each datum, read from a file and checked before the first step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..config import ConfigError, to_toml
from ..files.output.metadata import history_line, versions
from ..ocean.coordinates import axes
from ..ocean.dates import start_date
from ..ocean.table import VARIABLES, variable_in_run
from ..setup.positions.stencils import OBSERVED_QUANTITIES, bilinear_stencils
from .observation_file import load_columns, save_columns


class Observations(NamedTuple):
    """Arrays [n] of n data. Data of the same time, place and platform are adjacent, in the order eta, u, v."""

    quantity: np.ndarray  # index in OBSERVED_QUANTITIES, int8
    time: np.ndarray  # s since the start of the run
    x: np.ndarray  # m, or on a sphere longitude
    y: np.ndarray  # m, or latitude
    value: np.ndarray  # m or m s-1; NaN: no value yet
    error: np.ndarray  # standard deviation of the value's error
    platform: np.ndarray  # text, "" if unknown

    @property
    def size(self) -> int:
        return len(self.quantity)

    def select(self, indices) -> Observations:
        return Observations(*(field[indices] for field in self))


def read_observations(path, config) -> Observations:
    """The observations in a file (docs/assimilation.md), in the order of the file.

    Raises:
        ConfigError: the file is not an observation file or does not fit the run; the message lists all problems.
        InputError: the file of the mask cannot be read.
    """
    columns, platform, problems = load_columns(path, config)
    length = max((len(column) for column in columns.values()), default=0)
    all_masked = np.ma.masked_all(length)
    value, error = (
        np.ma.stack([columns.get(name + end, all_masked) for name in OBSERVED_QUANTITIES], axis=1)
        for end in ("", "_error")
    )
    used = ~np.ma.getmaskarray(value)
    if not problems and not used.any():
        problems = [f"{path}: contains no observations"]
    problems += [f"{path}: {fault_line}" for fault_line in find_faults(columns, used, config)]
    if problems:
        raise ConfigError(problems)
    row, quantity = np.nonzero(used)
    time, x, y = (np.ma.getdata(columns[name])[row] for name in ("time", "x", "y"))
    return Observations(
        quantity.astype(np.int8),
        np.clip(time, 0.0, config.run.steps * config.time.dt),
        x,
        y,
        value=np.ma.filled(value, np.nan)[row, quantity],
        error=np.ma.filled(error, np.nan)[row, quantity],
        platform=(np.full(length, "") if platform is None else platform)[row],
    )


def write_observations(path, observations: Observations, config, command_line: str = "") -> None:
    """Write a file, whole or not at all, from which `read_observations` reads the observations in the same order.

    Raises:
        FilesError: the file cannot be written.
        ValueError: values are not finite.
    """
    if not np.isfinite(observations.value).all():
        raise ValueError("observations without values cannot be written")
    row = file_rows(observations)
    first = np.flatnonzero(np.diff(row, prepend=-1))
    columns = {name: getattr(observations, name)[first] for name in ("time", "x", "y")}
    for number, name in enumerate(OBSERVED_QUANTITIES):
        has_quantity = observations.quantity == number
        for key, values in ((name, observations.value), (f"{name}_error", observations.error)):
            if has_quantity.any():
                columns[key] = np.full(len(first), np.nan)
                columns[key][row[has_quantity]] = values[has_quantity]
    platform = observations.platform[first] if (observations.platform != "").any() else None
    version = versions().get("swmodel", "").split()
    attributes = {
        "title": f"observations of {variable_in_run('eta', config.physics).long_name} and currents",
        "institution": config.output.institution or "not given",
        "source": " ".join(["swmodel", *version]),
        "references": "not given",
        "history": history_line(command_line or "swmodel.assimilation.observations.write_observations"),
        "configuration": to_toml(config),
    }
    save_columns(path, columns, platform, attributes, config)


def file_rows(observations: Observations) -> np.ndarray:
    """The row of each datum in the file: adjacent data of the same time, place and platform share a row."""
    same_row = np.diff(observations.quantity.astype(np.int64)) > 0
    for field in (observations.time, observations.x, observations.y, observations.platform):
        same_row &= field[1:] == field[:-1]
    return np.cumsum(np.append(False, ~same_row)) if observations.size else np.zeros(0, np.int64)


#: How far a time may lie outside the run by rounding, in time steps.
TIME_TOLERANCE_STEPS = 1e-3

MISSING_POINT = {"eta": "no wet cell", "u": "no open east face", "v": "no open north face"}


def find_faults(columns: dict, used: np.ndarray, config) -> Iterator[str]:
    """A message for each kind of fault in the numbers. Rows without observed values are not checked."""
    rows = used.any(axis=1)
    values = {name: np.ma.filled(column, np.nan) for name, column in columns.items()}
    if "time" in values:
        time, dt, last = values["time"], config.time.dt, config.run.steps * config.time.dt
        yield from fault_line("time: {} are missing or not finite", rows & ~np.isfinite(time), rows)
        outside = np.isfinite(time) & ((time < -TIME_TOLERANCE_STEPS * dt) | (time > last + TIME_TOLERANCE_STEPS * dt))
        text = f"time: {{}} are outside the run, which lasts from 0 to {last:.10g} s after {start_date(config.time)}"
        yield from fault_line(text, rows & outside, rows, lambda i: f"{time[i]:.10g} s")
    if {"x", "y"} <= values.keys():
        yield from find_position_faults(values["x"], values["y"], used, config)
    for number, name in enumerate(OBSERVED_QUANTITIES):
        value, error, has_value = values.get(name), values.get(f"{name}_error"), used[:, number]
        if value is not None:
            text = f"{name}: {{}} values are not finite"
            yield from fault_line(
                text, has_value & ~np.isfinite(value), has_value, lambda i, value=value: f"{value[i]}"
            )
        if error is not None:
            text = f"{name}_error: {{}} errors are missing or not above 0 {VARIABLES[name].units}"
            bad = ~((error > 0) & np.isfinite(error))
            yield from fault_line(text, has_value & bad, has_value, lambda i, error=error: f"{error[i]:g}")


def find_position_faults(x: np.ndarray, y: np.ndarray, used: np.ndarray, config) -> Iterator[str]:
    """Messages about positions that are missing, outside the domain, or without a wet point around them."""
    rows, grid_axes = used.any(axis=1), axes(config.grid)
    names = f"{grid_axes.x.name}, {grid_axes.y.name}"

    def position(i):
        return f"{grid_axes.x.describe_position(x[i])}, {grid_axes.y.describe_position(y[i])}"

    missing = ~(np.isfinite(x) & np.isfinite(y))
    yield from fault_line(f"{names}: {{}} positions are missing or not finite", rows & missing, rows)
    outside = np.zeros_like(missing)
    for axis, positions in zip(grid_axes, (x, y), strict=True):
        low, high = axis.edges
        outside |= ~missing & ((axis.wrap(positions) < low) | (axis.wrap(positions) > high))
    text = (
        f"{names}: {{}} positions are outside the domain, {grid_axes.x.describe_extent()}, "
        f"{grid_axes.y.describe_extent()}"
    )
    yield from fault_line(text, rows & outside, rows, position)
    inside, quantity = np.nonzero(used & ~(missing | outside)[:, None])
    dry = np.zeros_like(used)
    dry[inside, quantity] = ~bilinear_stencils(config, quantity, x[inside], y[inside]).is_covered
    for number, name in enumerate(OBSERVED_QUANTITIES):
        text = f"{names}: {{}} positions of {name} are on land, with {MISSING_POINT[name]} around them"
        yield from fault_line(text, dry[:, number], used[:, number], position)


def fault_line(text: str, bad: np.ndarray, candidates: np.ndarray, describe=lambda i: "missing") -> Iterator[str]:
    """A message with the number of bad observations and the first one; none if all are good."""
    if bad.any():
        first = int(np.argmax(bad))
        count = f"{bad.sum()} of {candidates.sum()}"
        yield f"{text.format(count)}; the first is observation {first} (from 0): {describe(first)}"
