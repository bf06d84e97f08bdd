"""The outside water of open sides: where it is, and whether all of it is given."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ...ocean.coordinates import points
from ...ocean.table import location_of
from ...ocean.terms import TERMS, sponge
from ...ocean.terms.outside import ARRAYS, FLOWS, LEVEL, SIDES, are_given, names, parts_of, uses_air_pressure
from .. import fields
from ..fields import field_of, varies, varying

ROWS = ("south", "north")

#: What gives the flow through a side, with its axis behind it.
FLOW = "transport", "current"

#: Most cells that are looked at together.
CELLS = 2**17

#: Air pressure on the Earth is no further from the standard one, Pa: what is has other units, or another zero.
MOST_OFF = 2e4


class Side(NamedTuple):
    """The cells along an open side, [cells]: the outermost ones and those inside.

    Attributes:
        rows, columns: of both, [2] and [cells] or the other way round.
        open: whether there is water in both.
        flows: names of the transport and the current through it.
        low: which of the two, the one in the west or the south, has the number of the face between them.
        in_rows: whether both are rows.
    """

    rows: np.ndarray
    columns: np.ndarray
    open: np.ndarray
    flows: tuple[str, str]
    low: int
    in_rows: bool

    def both(self, config, name: str) -> np.ndarray:
        """Values of a field in the outermost cells and those inside, NaN where they are missing, [2, cells].

        Of records in time those of the first one.
        """
        if varies(config, name):
            number, _ = field_of(config, name).at(0)
            return self.as_rows(varying.record_where_there(config, name, number, self.rows, self.columns))
        return self.as_rows(fields.evaluate(config, name, self.rows, self.columns))

    def as_rows(self, values) -> np.ndarray:
        """Values in the rows and columns as [2, cells]."""
        values = np.broadcast_to(values, (self.rows.size, self.columns.size))
        return values if self.in_rows else values.T

    def on_faces(self, config, name: str) -> np.ndarray:
        """Values of a field on the faces between them, [cells]: of what lies at centres the mean; see `both`."""
        both = self.both(config, name)
        return both.mean(axis=0) if location_of(name) == "centre" else both[self.low]


def side_of(config, side: str) -> Side:
    """The cells along a side."""
    grid = config.grid
    along = np.arange(grid.nx if side in ROWS else grid.ny)
    last = (grid.ny if side in ROWS else grid.nx) - 1
    across = np.array([0, 1] if side in ("west", "south") else [last, last - 1])
    rows, columns = (across, along) if side in ROWS else (along, across)
    flows = tuple(f"outside_{what}_{'y' if side in ROWS else 'x'}" for what in FLOW)
    found = Side(rows, columns, along, flows, int(across[0] > 0), side in ROWS)
    inside = fields.within(config, rows, columns, 1)
    inside = np.broadcast_to(inside, (rows.size, columns.size))
    inside = (inside if side in ROWS else inside.T)[1] > 0
    return found._replace(open=(found.both(config, "mask") > 0).all(axis=0) & inside)


def problems(config) -> Iterator[str]:
    """Sides that are land, and what is not given where water comes in."""
    fields_given = given(config)
    for name, missing, cells in unknown_in_sponge(config):
        if 2 * missing > cells:
            yield (
                f"input.{name}: has no value at {missing} of the {cells} cells of the sponge, which relaxes to it; "
                "give more of it, or a narrower sponge (sponge.width, sponge.sides)"
            )
    for side in config.open_sides.sides:
        found = side_of(config, side)
        if not found.open.any():
            yield f"open_sides.sides: there is no water along the {side} side; leave it out, or open another"
        shallow = np.flatnonzero(found.open & ~(found.both(config, "depth")[0] > 0))
        if shallow.size:
            yield (
                f"depth: must be above 0 m in the water outside, but is not at {'column' if side in ROWS else 'row'}"
                f"{told(shallow)} of the {side} side; give it, or close such cells in input.mask"
            )
        yield from problems_of_pressure(config, side, found)
        for name in (name for name in fields_given if location_of(name) in ("centre", location_of(found.flows[0]))):
            missing = np.flatnonzero(found.open & ~np.isfinite(found.on_faces(config, name)))
            if missing.size:
                yield (
                    f"input.{name}: has no value at {'column' if side in ROWS else 'row'}{told(missing)} of the {side} "
                    "side; it must cover both rows of cells at the side, the outermost and the next, but where one of "
                    f"them is land: close such cells in input.mask{too_far(config, name, found)}"
                )


def too_far(config, name: str, found: Side) -> str:
    """How far the nearest value of a file may be that stands for a missing one, in words; "" where none may."""
    if varies(config, name) or not (reach := fields.how_far(config, name, found.rows, found.columns)[1]):
        return ""
    return f"; the nearest value in the file is further than {reach:.3g} degrees"


def filled(config) -> Iterator[str]:
    """Where water of the grid beside open sides is land of the file that gives the outside: how far water is there."""
    for side in config.open_sides.sides:
        found = side_of(config, side)
        parts = {name: fields.how_far(config, name, found.rows, found.columns)[0]
                 for name in given(config) if not varies(config, name)}  # fmt: skip
        name = max(parts, key=lambda name: parts[name].size, default="")
        if name and (most := parts[name].size):
            away = max(part.max() for part in parts.values() if part.size)
            points = "1 point" if most == 1 else f"{most} points"
            yield (
                f"input.{name}: its file has land at {points} of the {side} side, where the value of the nearest water "
                f"is taken, up to {away:.3g} degrees away"
            )


def level_alone(config) -> Iterator[str]:
    """Tides, and sea level that varies in time, outside of which the flow is not known, so that half comes in."""
    sides = config.open_sides.sides
    axes = [axis for axis in "xy" if axis in {SIDES[side] for side in sides}]
    axes = [axis for axis in axes if not any(varies(config, f"outside_{flow}_{axis}") for flow in FLOW)]
    arrays = [array for array in FLOWS if array[-1] in axes]
    half = "a wave that nothing reflects comes in with half of its level"
    missing = {name: [array for array in arrays if not are_given(config, name, array)] for name in names(config)}
    if alone := [name for name in missing if missing[name]]:
        keys = " and ".join(f"input.{array}" for array in missing[alone[0]])
        yield f"open_sides: the tide outside has a level and no transport of {', '.join(alone)}: {half}; give {keys}"
    if axes and varies(config, "outside_level"):
        keys = " and ".join(f"input.outside_current_{axis} (or outside_transport_{axis})" for axis in axes)
        yield f"input.outside_level: varies in time, without a current: {half}; give {keys}"


def incomplete(config) -> Iterator[str]:
    """Tides with transports alone, with amplitudes that files replace, or of files with lags without a date."""
    options, files = config.open_sides, [array for array in ARRAYS if any(getattr(config.input, array))]
    without = [name for name in names(config) if not any(options.amplitude) and not are_given(config, name, LEVEL)]
    if without:
        yield f"open_sides: {', '.join(without)} has a transport and no level: half of it comes in; give input.{LEVEL}"
    if options.amplitude and LEVEL in files:
        replaced = [name for name in names(config) if are_given(config, name, LEVEL)]
        yield f"open_sides.amplitude: has no effect for {', '.join(replaced)}, as input.{LEVEL} gives these tides"
    yield from zero_on_land(config)
    if files and not config.time.start:
        yield f"input.{files[0]}: its lags count from the start of the run; with time.start they do behind Greenwich"


def zero_on_land(config) -> Iterator[str]:
    """Tides of files whose level is 0 at a part of a side, as in an atlas that has 0 on its land."""
    for side in config.open_sides.sides:
        found = side_of(config, side)
        for name in (name for name in names(config) if fields.file_of(config, parts_of(name, LEVEL)[0])):
            parts = [found.on_faces(config, part) for part in parts_of(name, LEVEL)]
            zero = found.open & (np.abs(np.broadcast_to(parts, (2, *found.open.shape))).max(axis=0) == 0)
            if 0 < zero.sum() < found.open.sum():
                yield (
                    f"input.{LEVEL}: {name} is 0 at {'column' if found.in_rows else 'row'}"
                    f"{told(np.flatnonzero(zero))} of the {side} side; land of the file must be missing there, not 0"
                )


def unknown_in_sponge(config) -> Iterator[tuple[str, int, int]]:
    """Fields that do not cover the sponge which relaxes to them: name, cells without a value, all of its cells."""
    if not (config.open_sides.sides and sponge.active(config.sponge)):
        return
    grid, columns = config.grid, np.arange(config.grid.nx)
    for name in given(config):
        counts = np.zeros(2, np.int64)
        for first in range(0, grid.ny, max(1, CELLS // grid.nx)):
            rows = np.arange(first, min(grid.ny, first + max(1, CELLS // grid.nx)))
            zone = sponge.parabolas(config, points(grid, location_of(name), rows, columns)) > 0
            zone = np.broadcast_to(zone * fields.wet(config, rows, columns) > 0, (len(rows), len(columns)))
            first = field_of(config, name).at(0)[0] if varies(config, name) else 0
            values = fields.unfilled(config, name, rows, columns, first)
            counts += (zone & ~np.isfinite(values)).sum(), zone.sum()
        if counts[0]:
            yield name, *map(int, counts)


def given(config) -> list[str]:
    """The fields of the outside water that there are."""
    return [row.name for row in TERMS["open_sides"].coefficients if fields.given(config, row.name)]


def told(numbers: np.ndarray) -> str:
    """Rising numbers behind what they are of, in words: " 3", "s 3 to 5 and 9"."""
    parts = np.split(numbers, np.flatnonzero(np.diff(numbers) > 1) + 1)
    *most, last = (f"{part[0]}" if part.size == 1 else f"{part[0]} to {part[-1]}" for part in parts)
    return f"s {', '.join(most)} and {last}" if most else f"{'s' * (numbers.size > 1)} {last}"


def problems_of_pressure(config, side: str, found: Side) -> Iterator[str]:
    """Air pressure over a side that is not counted from the same zero as `open_sides.pressure`."""
    if not uses_air_pressure(config):
        return
    standard, pressure = config.open_sides.pressure, found.on_faces(config, "air_pressure")
    off = np.where(found.open, np.abs(pressure - standard), 0.0)
    if off.max() > MOST_OFF:
        worst = int(off.argmax())
        height, line = (
            off[worst] / (config.physics.density * config.physics.gravity),
            "column" if found.in_rows else "row",
        )
        yield (
            f"open_sides.pressure: the level outside is that under {standard:g} Pa, and air_pressure is "
            f"{pressure[worst]:g} Pa at {line} {worst} of the {side} side, {height:.3g} m of water off; give the "
            'pressure that it is counted from, or "none"'
        )
