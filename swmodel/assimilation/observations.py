"""Observations, with one entry for each datum: reading, checking and writing a file of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..config import ConfigError, to_toml
from ..files.output.metadata import history_line, versions
from ..ocean.coordinates import axes
from ..ocean.dates import start_date
from ..ocean.table import VARIABLES, variable_in_run
from ..setup.positions.stencils import OBSERVED_QUANTITIES, bilinear_stencils
from .observation_file import load_columns, save_columns

if TYPE_CHECKING:
    from ..config.options.model import Config


class Observations(NamedTuple):
    """Arrays [n], one entry per datum. Data from one row of a file are adjacent, in the order eta, u, v."""

    quantity: np.ndarray  # index of the quantity in OBSERVED_QUANTITIES, int8
    time: np.ndarray  # s since the start of the run
    x: np.ndarray  # position along the x axis of the grid, m, or degrees on a sphere
    y: np.ndarray  # position along the y axis
    value: np.ndarray  # m or m s-1; NaN: no value yet
    error: np.ndarray  # standard deviation of the value's error
    platform: np.ndarray  # text, "" if unknown

    @property
    def size(self) -> int:
        return len(self.quantity)

    def select(self, indices) -> Observations:
        return Observations(*(field[indices] for field in self))


def read_observations(path, config: Config) -> Observations:
    """The observations in a file (docs/assimilation.md), in the order of the file.

    Raises:
        ConfigError: the file is not an observation file or does not fit the run; the message lists all problems.
        InputError: the file of the mask cannot be read.
    """
    columns, platform, problems = load_columns(path, config)
    n_rows = max((len(column) for column in columns.values()), default=0)
    all_masked = np.ma.masked_all(n_rows)
    value, error = (
        np.ma.stack([columns.get(name + suffix, all_masked) for name in OBSERVED_QUANTITIES], axis=1)
        for suffix in ("", "_error")
    )
    is_observed = ~np.ma.getmaskarray(value)
    if not problems and not is_observed.any():
        problems = [f"{path}: contains no observations"]
    problems += [f"{path}: {message}" for message in find_faults(columns, is_observed, config)]
    if problems:
        raise ConfigError(problems)
    row, quantity = np.nonzero(is_observed)
    time, x, y = (np.ma.getdata(columns[name])[row] for name in ("time", "x", "y"))
    return Observations(
        quantity.astype(np.int8),
        np.clip(time, 0.0, config.run.steps * config.time.dt),
        x,
        y,
        value=np.ma.filled(value, np.nan)[row, quantity],
        error=np.ma.filled(error, np.nan)[row, quantity],
        platform=(np.full(n_rows, "") if platform is None else platform)[row],
    )


def write_observations(path, observations: Observations, config: Config, command_line: str = "") -> None:
    """Write the file completely or not at all; `read_observations` reads the observations from it in the same order.

    Raises:
        FilesError: the file cannot be written.
        ValueError: values are not finite.
    """
    if not np.isfinite(observations.value).all():
        raise ValueError("observations without values cannot be written")
    row = file_rows(observations)
    first_in_row = np.flatnonzero(np.diff(row, prepend=-1))
    columns = {name: getattr(observations, name)[first_in_row] for name in ("time", "x", "y")}
    for quantity_index, name in enumerate(OBSERVED_QUANTITIES):
        has_quantity = observations.quantity == quantity_index
        for key, values in ((name, observations.value), (f"{name}_error", observations.error)):
            if has_quantity.any():
                columns[key] = np.full(len(first_in_row), np.nan)
                columns[key][row[has_quantity]] = values[has_quantity]
    platform = observations.platform[first_in_row] if (observations.platform != "").any() else None
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
    """The row of each datum in the file.

    Adjacent data of the same time, position and platform share a row if their quantities are in the order eta, u, v.
    """
    same_row = np.diff(observations.quantity.astype(np.int64)) > 0
    for field in (observations.time, observations.x, observations.y, observations.platform):
        same_row &= field[1:] == field[:-1]
    return np.cumsum(np.append(False, ~same_row)) if observations.size else np.zeros(0, np.int64)


#: How far an observation may lie outside the run, in time steps, because times in files are rounded.
TIME_TOLERANCE_STEPS = 1e-3

#: What is missing around a position on land, by observed quantity.
MISSING_POINT = {"eta": "no wet cell", "u": "no open east face", "v": "no open north face"}


def find_faults(columns: dict, is_observed: np.ndarray, config: Config) -> Iterator[str]:
    """One message for each kind of fault in the numbers. Rows of the file without observed values are not checked."""
    has_observation = np.any(is_observed, axis=1)
    values = {name: np.ma.filled(column, np.nan) for name, column in columns.items()}
    if "time" in values:
        time, dt, last = values["time"], config.time.dt, config.run.steps * config.time.dt
        yield from fault_messages(
            "time: {} are missing or not finite", has_observation & ~np.isfinite(time), has_observation
        )
        outside = np.isfinite(time) & ((time < -TIME_TOLERANCE_STEPS * dt) | (time > last + TIME_TOLERANCE_STEPS * dt))
        template = (
            f"time: {{}} are outside the run, which lasts from 0 to {last:.10g} s after {start_date(config.time)}"
        )
        yield from fault_messages(template, has_observation & outside, has_observation, lambda i: f"{time[i]:.10g} s")
    if {"x", "y"} <= values.keys():
        yield from find_position_faults(values["x"], values["y"], is_observed, config)
    for quantity_index, name in enumerate(OBSERVED_QUANTITIES):
        value, error, has_value = values.get(name), values.get(f"{name}_error"), is_observed[:, quantity_index]
        if value is not None:
            template = f"{name}: {{}} values are not finite"
            yield from fault_messages(
                template, has_value & ~np.isfinite(value), has_value, lambda i, value=value: f"{value[i]}"
            )
        if error is not None:
            template = f"{name}_error: {{}} errors are missing or not above 0 {VARIABLES[name].units}"
            bad = ~((error > 0) & np.isfinite(error))
            yield from fault_messages(template, has_value & bad, has_value, lambda i, error=error: f"{error[i]:g}")


def find_position_faults(x: np.ndarray, y: np.ndarray, is_observed: np.ndarray, config: Config) -> Iterator[str]:
    """Messages about positions that are missing, outside the domain, or without a wet point around them."""
    has_observation, grid_axes = np.any(is_observed, axis=1), axes(config.grid)
    names = f"{grid_axes.x.name}, {grid_axes.y.name}"

    def position(i):
        return f"{grid_axes.x.describe_position(x[i])}, {grid_axes.y.describe_position(y[i])}"

    missing = ~(np.isfinite(x) & np.isfinite(y))
    yield from fault_messages(
        f"{names}: {{}} positions are missing or not finite", has_observation & missing, has_observation
    )
    outside = np.zeros_like(missing)
    for axis, positions in zip(grid_axes, (x, y), strict=True):
        low, high = axis.edges
        outside |= ~missing & ((axis.wrap(positions) < low) | (axis.wrap(positions) > high))
    template = (
        f"{names}: {{}} positions are outside the domain, {grid_axes.x.describe_extent()}, "
        f"{grid_axes.y.describe_extent()}"
    )
    yield from fault_messages(template, has_observation & outside, has_observation, position)
    inside, quantity = np.nonzero(is_observed & ~(missing | outside)[:, None])
    dry = np.zeros_like(is_observed)
    dry[inside, quantity] = ~bilinear_stencils(config, quantity, x[inside], y[inside]).is_covered
    for quantity_index, name in enumerate(OBSERVED_QUANTITIES):
        template = f"{names}: {{}} positions of {name} are on land, with {MISSING_POINT[name]} around them"
        yield from fault_messages(template, dry[:, quantity_index], is_observed[:, quantity_index], position)


def fault_messages(
    template: str, is_bad: np.ndarray, is_checked: np.ndarray, describe=lambda i: "no finite number"
) -> Iterator[str]:
    """One message with the number of bad rows of the file and the first of them; none if all are good."""
    if is_bad.any():
        first = int(np.argmax(is_bad))
        count = f"{is_bad.sum()} of {is_checked.sum()}"
        yield f"{template.format(count)}; the first is observation {first} (from 0): {describe(first)}"
