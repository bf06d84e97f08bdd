"""The water outside open sides: its cells, missing values, and the rate of waves that leave through it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ...ocean.coordinates import metrics, points
from ...ocean.table import location_of
from ...ocean.terms import TERMS, sponge
from ...ocean.terms.outside import ARRAYS, FLOWS, LEVEL, SIDES, are_given, names, uses_air_pressure
from .. import fields
from ..fields import field_of, varies

#: Largest difference of air pressure from the standard one, Pa; a larger one has other units or another zero.
MOST_OFF = 2e4


#: With `gfb`, waves of rate w that leave at a rate r are stable to dt (r + WITH_WAVES w) = 0.64. From eigenvalues of a
#: linear basin: 0.41 in a corner of two open sides, 0.31 along one side, up to 0.35 for cells narrow along the side.
WITH_WAVES = 0.42


class Side(NamedTuple):
    """The cells along an open side, [cells]: the outermost ones and those inside.

    Attributes:
        rows, columns: the numbers of both, [2] and [cells] or vice versa.
        in_rows: whether both are rows.
        low: index of the cell in the west or the south, which has the number of the face between both.
        open: whether both cells are water.
    """

    name: str
    rows: np.ndarray
    columns: np.ndarray
    in_rows: bool
    low: int
    open: np.ndarray

    def both(self, config, name: str) -> np.ndarray:
        """Values of a field, or its first record, in the outermost and the inner cells, NaN if missing, [2, cells]."""
        if varies(config, name):
            field = field_of(config, name)
            return self.as_rows(fields.filled(config, name, self.rows, self.columns, field.at(0)[0], field))
        return self.as_rows(fields.evaluate(config, name, self.rows, self.columns))

    def as_rows(self, values) -> np.ndarray:
        """Values in the rows and columns as [2, cells]."""
        values = np.broadcast_to(values, (self.rows.size, self.columns.size))
        return values if self.in_rows else values.T

    def on_faces(self, config, name: str) -> np.ndarray:
        """Values of a field on the faces between both cells, [cells], at centres their mean; see `both`."""
        both = self.both(config, name)
        return both.mean(axis=0) if location_of(name) == "centre" else both[self.low]

    def in_words(self, where: np.ndarray) -> str:
        """The cells of a mask, in words: "rows 3 to 5 and 9 of the west side"."""
        numbers = np.flatnonzero(where)
        parts = np.split(numbers, np.flatnonzero(np.diff(numbers) > 1) + 1)
        *most, last = (f"{part[0]}" if part.size == 1 else f"{part[0]} to {part[-1]}" for part in parts)
        words = f"{', '.join(most)} and {last}" if most else last
        return f"{'column' if self.in_rows else 'row'}{'s' * (numbers.size > 1)} {words} of the {self.name} side"


def side_of(config, name: str) -> Side:
    """The cells along a side."""
    grid, in_rows = config.grid, name in ("south", "north")
    along, last = np.arange(grid.nx if in_rows else grid.ny), (grid.ny if in_rows else grid.nx) - 1
    across = np.array([0, 1] if name in ("west", "south") else [last, last - 1])
    rows, columns = (across, along) if in_rows else (along, across)
    side = Side(name, rows, columns, in_rows, int(across[0] > 0), along)
    inside = side.as_rows(fields.within(config, rows, columns, 1))[1] > 0
    return side._replace(open=(side.both(config, "mask") > 0).all(axis=0) & inside)


def problems(config) -> Iterator[str]:
    """Sides of land only, and fields without values where water enters."""
    for name, missing, cells in unknown_in_sponge(config):
        if 2 * missing > cells:
            yield (
                f"input.{name}: has no value at {missing} of the {cells} cells of the sponge, which relaxes to it; "
                "give more of it, or a narrower sponge (sponge.width, sponge.sides)"
            )
    known = given(config)
    for side in (side_of(config, name) for name in config.open_sides.sides):
        if not side.open.any():
            yield f"open_sides.sides: there is no water along the {side.name} side; leave it out, or open another"
        depth = side.both(config, "depth")
        shallow = side.open & ~((depth[0] > 0) & (depth.mean(axis=0) > 0))
        if shallow.any():
            yield (
                f"depth: must be above 0 m in the water outside, and in the mean of it and the cell inside, but is not "
                f"at {side.in_words(shallow)}; give it, or make such cells land in input.mask"
            )
        yield from problems_of_pressure(config, side)
        for name in (name for name in known if location_of(name) in ("centre", "v" if side.in_rows else "u")):
            missing = side.open & ~np.isfinite(side.on_faces(config, name))
            if missing.any():
                far = 0.0 if varies(config, name) else fields.how_far(config, name, side.rows, side.columns)[1]
                nearest = f"; the nearest value in the file is further than {far:.3g} degrees" if far else ""
                yield (
                    f"input.{name}: has no value at {side.in_words(missing)}, where both outermost cells are water; "
                    f"give it there, or make such cells land in input.mask{nearest}"
                )


def problems_of_pressure(config, side: Side) -> Iterator[str]:
    """Air pressure over a side whose zero is not that of `open_sides.pressure`."""
    if not uses_air_pressure(config):
        return
    standard, pressure = config.open_sides.pressure, side.on_faces(config, "air_pressure")
    off = np.where(side.open, np.abs(pressure - standard), 0.0)
    if off.max() > MOST_OFF:
        height = off.max() / (config.physics.density * config.physics.gravity)
        yield (
            f"open_sides.pressure: is {standard:g} Pa, but air_pressure is {pressure[off.argmax()]:g} Pa at "
            f"{side.in_words(np.arange(off.size) == off.argmax())}, {height:.3g} m of water off; give the pressure "
            'under which the level outside holds, or "none"'
        )


def remarks(config) -> Iterator[str]:
    """Remarks on the water outside."""
    yield from level_alone(config)
    yield from incomplete(config)
    for side in (side_of(config, name) for name in config.open_sides.sides):
        yield from filled(config, side)


def filled(config, side: Side) -> Iterator[str]:
    """Points of a side that take values from the nearest water of a file, as the file has land there."""
    steady = [name for name in given(config) if not varies(config, name)]
    parts = {name: fields.how_far(config, name, side.rows, side.columns)[0] for name in steady}
    name = max(parts, key=lambda name: parts[name].size, default="")
    if name and parts[name].size:
        away = max(part.max() for part in parts.values() if part.size)
        yield (
            f"input.{name}: its file has land at {parts[name].size} points of the {side.name} side, which take values "
            f"of the nearest water, up to {away:.3g} degrees away"
        )


def level_alone(config) -> Iterator[str]:
    """Tides, and sea level that varies in time, without a current outside, so that only half enters."""
    axes = sorted({SIDES[side] for side in config.open_sides.sides})
    flows = {axis: [f"outside_{flow}_{axis}" for flow in ("transport", "current")] for axis in axes}
    axes = [axis for axis in axes if not any(varies(config, name) for name in flows[axis])]
    half = "a wave that nothing reflects enters with half of its level"
    arrays = [array for array in FLOWS if array[-1] in axes]
    missing = {name: [array for array in arrays if not are_given(config, name, array)] for name in names(config)}
    if alone := [name for name in missing if missing[name]]:
        keys = " and ".join(f"input.{array}" for array in missing[alone[0]])
        yield f"open_sides: the tide outside has a level and no transport of {', '.join(alone)}: {half}; give {keys}"
    if axes and varies(config, "outside_level"):
        keys = " and ".join(f"input.outside_current_{axis} (or outside_transport_{axis})" for axis in axes)
        yield f"input.outside_level: varies in time, without a current: {half}; give {keys}"


def incomplete(config) -> Iterator[str]:
    """Tides with transports only, with amplitudes that files replace, or with lags of files without a date."""
    options, files = config.open_sides, [array for array in ARRAYS if any(getattr(config.input, array))]
    without = [name for name in names(config) if not any(options.amplitude) and not are_given(config, name, LEVEL)]
    if without:
        yield f"open_sides: {', '.join(without)} has a transport and no level: half of it enters; give input.{LEVEL}"
    if options.amplitude and LEVEL in files:
        replaced = [name for name in names(config) if are_given(config, name, LEVEL)]
        yield f"open_sides.amplitude: has no effect for {', '.join(replaced)}, as input.{LEVEL} gives these tides"
    if files and not config.time.start:
        yield f"input.{files[0]}: its lags refer to the start of the run; give time.start for lags behind Greenwich"


def unknown_in_sponge(config) -> Iterator[tuple[str, int, int]]:
    """Fields that do not cover their sponge: name, number of cells without a value, number of all its cells."""
    if not (config.open_sides.sides and sponge.active(config.sponge)):
        return
    grid, columns = config.grid, np.arange(config.grid.nx)
    for name in given(config):
        counts = np.zeros(2, np.int64)
        number = field_of(config, name).at(0)[0] if varies(config, name) else 0
        for rows in fields.bands(grid):
            zone = sponge.parabolas(config, points(grid, location_of(name), rows, columns)) > 0
            zone = np.broadcast_to(zone * fields.wet(config, rows, columns) > 0, (len(rows), len(columns)))
            values = fields.unfilled(config, name, rows, columns, number)
            counts += (zone & ~np.isfinite(values)).sum(), zone.sum()
        if counts[0]:
            yield name, *map(int, counts)


def given(config) -> list[str]:
    """The fields of the water outside that the run has."""
    return [row.name for row in TERMS["open_sides"].coefficients if fields.given(config, row.name)]


def radiation(config, forward: bool) -> float:
    """The fastest rate at which a cell empties through its faces of open sides, s-1.

    A face gives sqrt(g H) (3/2 - min(1, H_2/H)/2) / d. Here H is its depth, H_2 that of the next face inside, 0 if it
    is closed, and d the length of the cell across the side. The level at the face is 3/2 of the cell minus 1/2 of the
    next one. The next one follows the cell if waves between them are as fast as through the face.

    The forward-backward stepper (`forward`) is less stable where waves arrive in such a cell: WITH_WAVES of the rate of
    the shortest ones, 2 sqrt(g h (1/dx² + 1/dy²)), is added.
    """
    grid, total = config.grid, {}
    for side in (side_of(config, name) for name in config.open_sides.sides):
        inside, last = (side.rows, grid.ny) if side.in_rows else (side.columns, grid.nx)
        next_one = np.clip(2 * inside[1:] - inside[:1], 0, last - 1)
        further = side._replace(**{"rows" if side.in_rows else "columns": np.append(inside, next_one)})
        outer, inner, beyond = further.both(config, "depth")
        wet = further.as_rows(fields.wet(config, further.rows, further.columns))[2] > 0
        H, H_2 = (outer + inner) / 2, np.where(wet, inner + beyond, 0.0) / 2
        dx, dy = (further.as_rows(metrics(grid, further.rows)[name].centre)[1] for name in ("dx", "dy"))
        d = dy if side.in_rows else dx
        with np.errstate(invalid="ignore", divide="ignore"):
            rates = np.sqrt(config.physics.gravity * H) * (1.5 - 0.5 * np.minimum(1, H_2 / H)) / d
            waves = 2 * np.sqrt(config.physics.gravity * inner * (1 / dx**2 + 1 / dy**2))
        cells = side.as_rows(side.rows[:, None] * grid.nx + side.columns[None, :])[1]
        own = np.broadcast_to(WITH_WAVES * forward * waves, rates.shape)
        for cell, rate, arriving in zip(cells[side.open], rates[side.open], own[side.open], strict=True):
            total[cell] = total.get(cell, arriving) + rate
    return float(max(total.values(), default=0.0))
