"""Positions in tables of the configuration: x and y in m, or longitude and latitude."""

from __future__ import annotations

import math

from ..errors import UsageError
from . import projection
from .coordinates import coordinate_names_and_unit

#: Fraction of the domain's length by which rounding errors may put a position outside.
ROUND_OFF = 1e-6


def position_in_domain(axis, label: str, position: float) -> float:
    """A position on an Axis; longitudes are shifted by full circles into the domain where possible.

    A position that is outside only by rounding errors is moved to the edge. UsageError, which begins with `label`: the
    position is farther outside, or not finite.
    """
    (first, last), within = axis.edges, float(axis.wrap(position))
    if not math.isfinite(position):
        where = axis.describe_position(position)
        raise UsageError(f"{label}: {where} is no place on the grid; are longitude and latitude exchanged?")
    tolerance = ROUND_OFF * (last - first)
    if not first - tolerance <= within <= last + tolerance:
        raise UsageError(
            f"{label}: {axis.describe_position(position, 9)} is outside the domain, {first:.9g} to {last:.9g} "
            f"{axis.unit}"
        )
    return min(max(within, first), last)


def position_in_table(grid, table, label: str) -> tuple[float, float]:
    """x and y of a table [[station]], [[drifters]] or [[river]] in m, or its longitude and latitude.

    On a projected grid a longitude and latitude become x and y. UsageError, which begins with `label`: the table has
    another combination of these keys.
    """
    keys, unit = coordinate_names_and_unit(grid)
    if grid.crs and position_keys(table) == {"lon", "lat"}:
        x, y = projection.eastings_northings(grid.crs, table.lon, table.lat)
        return float(x), float(y)
    if position_keys(table) != set(keys):
        raise UsageError(f"{label} needs {keys[0]} and {keys[1]}, in {unit}, and no other position")
    return tuple(getattr(table, key) for key in keys)


def position_keys(table) -> set[str]:
    """Which of the keys lon, lat, x and y a table has."""
    return {key for key in ("lon", "lat", "x", "y") if getattr(table, key) is not None}
