"""Checks of the numbers in an observation file: how many are wrong, and the first of them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..ocean.coordinates import axes
from ..ocean.dates import start_of
from ..ocean.table import VARIABLES
from ..setup.positions.stencils import QUANTITIES, stencils

#: Fraction of a time step by which times may lie outside the run, as units are rounded.
TOLERANCE = 1e-3

AROUND = {"eta": "no wet cell", "u": "no open east face", "v": "no open north face"}


def faults(columns: dict, used: np.ndarray, config) -> Iterator[str]:
    """What is wrong with the numbers, one line for each kind of fault. Rows without observed values do not count."""
    rows = used.any(axis=1)
    values = {name: np.ma.filled(column, np.nan) for name, column in columns.items()}
    if "time" in values:
        yield from time_faults(values["time"], rows, config)
    if {"x", "y"} <= values.keys():
        yield from place_faults(values["x"], values["y"], used, config)
    for number, name in enumerate(QUANTITIES):
        if name in values:
            yield from value_faults(name, values[name], values.get(f"{name}_error"), used[:, number])


def value_faults(name: str, value: np.ndarray, error: np.ndarray | None, some: np.ndarray) -> Iterator[str]:
    """Values that are not finite, and errors that are missing or not positive, where there is a value."""
    units = VARIABLES[name].units
    yield from told(f"{name}: {{}} values are not finite", some & ~np.isfinite(value), some, lambda i: f"{value[i]}")
    if error is not None:
        bad = some & ~((error > 0) & np.isfinite(error))
        what = f"{name}_error: {{}} errors are missing or not above 0 {units}"
        yield from told(what, bad, some, lambda i: "missing" if np.isnan(error[i]) else f"{error[i]:g} {units}")


def time_faults(time: np.ndarray, rows: np.ndarray, config) -> Iterator[str]:
    """Times that are missing or outside the run."""
    dt = config.time.dt
    last, missing = config.run.steps * dt, ~np.isfinite(time)
    yield from told("time: {} are missing or not finite", rows & missing, rows)
    early_or_late = (time < -TOLERANCE * dt) | (time > last + TOLERANCE * dt)
    what = f"time: {{}} are outside the run, 0 to {last:.10g} s after {start_of(config.time)}"
    yield from told(what, rows & ~missing & early_or_late, rows, lambda i: f"{time[i]:.10g} s")


def place_faults(x: np.ndarray, y: np.ndarray, used: np.ndarray, config) -> Iterator[str]:
    """Positions that are missing, outside the domain, or without a wet point of the model around them."""
    rows, along = used.any(axis=1), axes(config.grid)
    names = f"{along.x.name}, {along.y.name}"

    def position(i):
        return f"{along.x.told(x[i])}, {along.y.told(y[i])}"

    missing = ~(np.isfinite(x) & np.isfinite(y))
    yield from told(f"{names}: {{}} positions are missing or not finite", rows & missing, rows)
    outside = np.zeros_like(missing)
    for axis, positions in zip(along, (x, y), strict=True):
        low, high = axis.edges
        outside |= ~missing & ((axis.within(positions) < low) | (axis.within(positions) > high))
    what = f"{names}: {{}} positions are outside the domain, {along.x.span()}, {along.y.span()}"
    yield from told(what, rows & outside, rows, position)
    inside, quantity = np.nonzero(used & ~(missing | outside)[:, None])
    dry = np.zeros_like(used)
    dry[inside, quantity] = ~stencils(config, quantity, x[inside], y[inside]).reached
    for number, name in enumerate(QUANTITIES):
        what = f"{names}: {{}} positions of {name} are on land, with {AROUND[name]} around them"
        yield from told(what, dry[:, number], used[:, number], position)


def told(what: str, bad: np.ndarray, among: np.ndarray, show=None) -> Iterator[str]:
    """A line that says how many are bad, of how many, and which is the first; none if none is bad."""
    if bad.any():
        first = int(np.argmax(bad))
        how = f": {show(first)}" if show else ""
        yield f"{what.format(f'{bad.sum()} of {among.sum()}')}; the first is observation {first} (from 0){how}"
