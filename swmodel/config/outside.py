"""The outside water of open sides: where it is, whether all of it is given, what energy it can bring."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..ocean.coordinates import metrics
from ..ocean.table import location_of
from ..ocean.terms import TERMS
from . import fields
from .series import series_of, varies
from .varying import record

ROWS = ("south", "north")


class Side(NamedTuple):
    """The cells along an open side, [cells]: the outermost ones and those inside.

    Attributes:
        rows, columns: of both, [2] and [cells] or the other way round.
        open: whether there is water in both.
        flows: names of the transport and the current through it.
        low: which of both has the number of their face, that in the west or the south.
        in_rows: whether both are rows.
    """

    rows: np.ndarray
    columns: np.ndarray
    open: np.ndarray
    flows: tuple[str, str]
    low: int
    in_rows: bool

    def both(self, config, name: str, step: int = 0) -> np.ndarray:
        """Values of a field in the outermost cells and those inside, [2, cells]; of records the one before a step."""
        if varies(config, name):
            return self.as_rows(record(config, name, series_of(config, name).at(step)[0], self.rows, self.columns))
        return self.as_rows(fields.evaluate(config, name, self.rows, self.columns))

    def as_rows(self, values) -> np.ndarray:
        """Values in the rows and columns as [2, cells]."""
        values = np.broadcast_to(values, (self.rows.size, self.columns.size))
        return values if self.in_rows else values.T

    def on_faces(self, config, name: str, step: int = 0) -> np.ndarray:
        """Values of a field on the faces between them, [cells]: of what lies at centres the mean."""
        both = self.both(config, name, step)
        return both[self.low] if name in self.flows else both.mean(axis=0)


def side_of(config, side: str) -> Side:
    """The cells along a side."""
    grid = config.grid
    along = np.arange(grid.nx if side in ROWS else grid.ny)
    last = (grid.ny if side in ROWS else grid.nx) - 1
    across = np.array([0, 1] if side in ("west", "south") else [last, last - 1])
    rows, columns = (across, along) if side in ROWS else (along, across)
    flows = tuple(f"outside_{what}_{'y' if side in ROWS else 'x'}" for what in ("transport", "current"))
    found = Side(rows, columns, along, flows, int(across[0] > 0), side in ROWS)
    inside = fields.within(config, rows, columns, 1)
    inside = np.broadcast_to(inside, (rows.size, columns.size))
    inside = (inside if side in ROWS else inside.T)[1] > 0
    return found._replace(open=(found.both(config, "mask") > 0).all(axis=0) & inside)


def problems(config) -> Iterator[str]:
    """Sides that are land, and what is not given where water comes in."""
    names = [row.name for row in TERMS["open_sides"].coefficients if fields.given(config, row.name)]
    for side in config.open_sides.sides:
        found = side_of(config, side)
        if not found.open.any():
            yield f"open_sides.sides: there is no water along the {side} side; leave it out, or open another"
        for name in (name for name in names if location_of(name) == "centre" or name in found.flows):
            missing = np.flatnonzero(found.open & ~np.isfinite(found.on_faces(config, name)))
            if missing.size:
                line = "column" if side in ROWS else "row"
                yield (
                    f"input.{name}: has no value at {line} {missing[0]} of the {side} side; it must cover both rows of "
                    "cells at the side, the outermost and the next"
                )


def power(config, step: int = 0) -> float:
    """The most energy that waves from outside bring in, over density, m5 s-3; by records that before a step.

    A wave that comes in with what is given, Q = U_ext + sqrt(g H) eta_ext, brings g Q² / (4 sqrt(g H)) over each metre.
    """
    g, total = config.physics.gravity, 0.0
    lengths = metrics(config.grid, np.arange(config.grid.ny))
    tides = [row.name for row in TERMS["open_sides"].coefficients if row.name.endswith(("cosine", "sine"))]
    for side in config.open_sides.sides:
        found = side_of(config, side)
        speed = np.sqrt(g * np.where(found.open, found.on_faces(config, "depth"), 0.0))
        level = np.abs(found.on_faces(config, "outside_level", step))
        for name, other in zip(tides[::2], tides[1::2], strict=True):
            level = level + np.hypot(found.on_faces(config, name), found.on_faces(config, other))
        transport, current = (np.abs(found.on_faces(config, name, step)) for name in found.flows)
        brought = transport + current * (found.on_faces(config, "depth") + level) + speed * level
        length = lengths["dx"].v if side in ROWS else lengths["dy"].u
        length = np.broadcast_to(length, (config.grid.ny, 1))[:, 0]
        length = length[found.rows.min()] if side in ROWS else length
        total += float((length * g * brought**2 / (4 * np.where(found.open, speed, 1.0)) * found.open).sum())
    return total
