"""The outside water of open sides: where it is, whether all of it is given, what energy it can bring."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..ocean.coordinates import metrics
from ..ocean.terms import TERMS
from . import fields

ROWS = ("south", "north")


class Side(NamedTuple):
    """The cells along an open side, [cells]: the outermost ones and those inside.

    Attributes:
        rows, columns: of both, [2] and [cells] or the other way round.
        open: whether there is water in both.
        transport: name of the transport through it.
        low: which of both has the number of their face, that in the west or the south.
        in_rows: whether both are rows.
    """

    rows: np.ndarray
    columns: np.ndarray
    open: np.ndarray
    transport: str
    low: int
    in_rows: bool

    def both(self, config, name: str) -> np.ndarray:
        """Values of a field in the outermost cells and in those inside, [2, cells]."""
        values = fields.evaluate(config, name, self.rows, self.columns)
        values = np.broadcast_to(values, (self.rows.size, self.columns.size))
        return values if self.in_rows else values.T

    def on_faces(self, config, name: str) -> np.ndarray:
        """Values of a field on the faces between them, [cells]: of what lies at centres the mean."""
        both = self.both(config, name)
        return both[self.low] if name == self.transport else both.mean(axis=0)


def side_of(config, side: str) -> Side:
    """The cells along a side."""
    grid = config.grid
    along = np.arange(grid.nx if side in ROWS else grid.ny)
    last = (grid.ny if side in ROWS else grid.nx) - 1
    across = np.array([0, 1] if side in ("west", "south") else [last, last - 1])
    rows, columns = (across, along) if side in ROWS else (along, across)
    found = Side(
        rows, columns, along, f"outside_transport_{'y' if side in ROWS else 'x'}", int(across[0] > 0), side in ROWS
    )
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
        for name in (name for name in names if not name.startswith("outside_transport") or name == found.transport):
            missing = np.flatnonzero(found.open & ~np.isfinite(found.on_faces(config, name)))
            if missing.size:
                line = "column" if side in ROWS else "row"
                yield (
                    f"input.{name}: has no value at {line} {missing[0]} of the {side} side; it must cover both rows of "
                    "cells at the side, the outermost and the next"
                )


def power(config) -> float:
    """The most energy that waves from outside bring in, over density, m5 s-3.

    A wave that comes in with what is given, Q = U_ext + sqrt(g H) eta_ext, brings g Q² / (4 sqrt(g H)) over each metre.
    """
    g, total = config.physics.gravity, 0.0
    lengths = metrics(config.grid, np.arange(config.grid.ny))
    tides = [row.name for row in TERMS["open_sides"].coefficients if row.name.endswith(("cosine", "sine"))]
    for side in config.open_sides.sides:
        found = side_of(config, side)
        speed = np.sqrt(g * np.where(found.open, found.on_faces(config, "depth"), 0.0))
        level = np.abs(found.on_faces(config, "outside_level"))
        for name, other in zip(tides[::2], tides[1::2], strict=True):
            level = level + np.hypot(found.on_faces(config, name), found.on_faces(config, other))
        brought = np.abs(found.on_faces(config, found.transport)) + speed * level
        length = lengths["dx"].v if side in ROWS else lengths["dy"].u
        length = np.broadcast_to(length, (config.grid.ny, 1))[:, 0]
        length = length[found.rows.min()] if side in ROWS else length
        total += float((length * g * brought**2 / (4 * np.where(found.open, speed, 1.0)) * found.open).sum())
    return total
