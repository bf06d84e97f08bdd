"""The section [grid]: rows and columns of cells on a plane or a sphere, and the keys that give their size."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from ...ocean.option import Section, option

#: Most cells along one axis; their products stay exact in 64 bits.
MOST_CELLS = 10**9

#: Least and largest size of cells, m or degrees, and of a sphere, m.
LEAST_CELL, LARGEST_CELL = 1e-6, 1e12

#: Largest relative difference between equal numbers, as a length and the cells times their size.
ROUND_OFF = 1e-12

#: Keys of [physics] with the Coriolis parameter of a plane; on a sphere it follows from the rotation.
CORIOLIS = "f0", "beta"

#: Radius of the Earth, m, and its rotation rate, s-1.
RADIUS, ROTATION = 6371e3, 7.292115e-5

#: Degrees of a full circle, and of latitude from the equator to a pole.
CIRCLE, POLE = 360.0, 90.0

#: Least distance of an edge of cells from a pole, degrees.
NEAREST = 0.01


class Extent(NamedTuple):
    """Keys of the extent of the domain along an axis: number of cells, their size, both ends.

    On a plane the domain begins at zero, and its end is its length.
    """

    cells: str
    size: str
    end: str
    start: str = ""


#: The extents of each kind of grid. A later source with size or end replaces both. Only the size is kept.
EXTENTS = {
    "plane": (Extent("nx", "dx", "lx"), Extent("ny", "dy", "ly")),
    "latlon": (Extent("nx", "dlon", "east", "west"), Extent("ny", "dlat", "north", "south")),
}

#: Keys that only one kind of grid has.
KEYS_OF = {
    "plane": ("dx", "dy", "lx", "ly"),
    "latlon": ("west", "south", "dlon", "dlat", "east", "north", "pole", "radius", "rotation"),
}


def cells_between(size: Any, end: Any, start: Any = 0.0) -> int | None:
    """Number of cells of a size in the domain, rounded; None where the arguments are no positive numbers."""
    if not all(isinstance(each, int | float) and math.isfinite(each) for each in (size, end, start)):
        return None
    return max(1, round((end - start) / size)) if size > 0 and end > start else None


class Grid(Section):
    """C-grid of ny rows by nx columns: cells of one size on a plane, or in degrees on a sphere."""

    kind: Literal["plane", "latlon"] = option(
        "plane", "", "plane: cells of one size in m; latlon: cells of one size in degrees, on a sphere"
    )
    file: str = option("", "", "NetCDF file of `swmodel grid`, which sets this section, input.depth and input.mask")
    nx: int = option(360, "cells", "cells in x (west to east); or give dx and lx (dlon and east)", ge=1, le=MOST_CELLS)
    ny: int = option(
        180, "cells", "cells in y (south to north); or give dy and ly (dlat and north)", ge=1, le=MOST_CELLS
    )
    dx: float | None = option(5e3, "m", "cell size in x (or give lx)", gt=0)
    dy: float | None = option(5e3, "m", "cell size in y (or give ly)", gt=0)
    lx: float | None = option(None, "m", "size of the domain in x; dx is lx / nx (or give dx)", gt=0)
    ly: float | None = option(None, "m", "size of the domain in y; dy is ly / ny (or give dy)", gt=0)
    west: float | None = option(None, "degrees", "longitude of the western edge (latlon); none: 0 on a ring")
    south: float | None = option(None, "degrees", "latitude of the southern edge (latlon)")
    dlon: float | None = option(
        None, "degrees", "cell size in longitude (latlon; or give east); none: 360 / nx on a ring", gt=0
    )
    dlat: float | None = option(None, "degrees", "cell size in latitude (latlon; or give north)", gt=0)
    east: float | None = option(None, "degrees", "longitude of the eastern edge; dlon is (east - west) / nx")
    north: float | None = option(None, "degrees", "latitude of the northern edge; dlat is (north - south) / ny")
    pole: tuple[float, float] | None = option(
        None,
        "degrees",
        "longitude and latitude of the grid's north pole (latlon); edges and cell sizes refer to this pole",
    )
    radius: float | None = option(
        None, "m", f"radius of the sphere (latlon); none: {RADIUS:g}", ge=LEAST_CELL, le=LARGEST_CELL
    )
    rotation: float | None = option(
        None,
        "s-1",
        "rotation rate of the planet (latlon), f = 2 rotation sin(latitude) where physics.f0 and physics.beta are 0; "
        f"none: {ROTATION:g}",
    )
    periodic_x: bool = option(True, "", "whether x is a ring; false: walls in the west and the east")
    periodic_y: bool = option(False, "", "whether y is a ring; false: walls in the south and the north")
    origin: Literal["edge", "centre", "middle"] = option(
        "edge", "", "place of x = y = 0: south-west edge, centre of the first cell, or middle of the domain"
    )

    @property
    def extents(self) -> tuple[Extent, Extent]:
        """The keys of this kind of grid, along x and y."""
        return EXTENTS[self.kind]

    def given(self, key: str) -> bool:
        """Whether a source has set this key."""
        return key in self.model_fields_set and getattr(self, key) is not None

    def contradictions(self) -> dict[str, str]:
        """{key: problem} of keys that contradict each other."""
        return dict(self.of_another_kind()) or dict(self.unsized()) or dict(self.off_the_sphere())

    def of_another_kind(self) -> Iterator[tuple[str, str]]:
        """Keys that this kind of grid does not have, or values that it does not allow."""
        for kind, keys in KEYS_OF.items():
            for key in (key for key in keys if kind != self.kind and self.given(key)):
                has = ", ".join(KEYS_OF[self.kind])
                yield key, f'is of grid.kind = "{kind}"; this grid is "{self.kind}", which has {has}'
        if self.kind == "latlon" and self.periodic_y:
            yield "periodic_y", "must be false on a sphere: latitudes are no ring"
        if self.pole is not None and abs(self.pole[1]) > POLE:
            yield "pole", f"its latitude, {self.pole[1]:.10g}, is beyond 90 degrees: give longitude, latitude"

    def unsized(self) -> Iterator[tuple[str, str]]:
        """Sizes of the domain or of cells that are missing, contradict each other, or are out of range."""
        unit = "degrees" if self.kind == "latlon" else "m"
        for cells, size, end, start in self.extents:
            first = getattr(self, start) if start else 0.0
            number, each, last = (getattr(self, key) for key in (cells, size, end))
            if start == "west" and self.periodic_x:
                first = 0.0 if first is None else first
                each = CIRCLE / number if each is None else each
            if first is None:
                yield start, "must be given, in degrees, where grid.kind is latlon"
            elif each is None and last is None:
                yield end if start else size, f"must be given, in {unit} (or {size if start else end})"
            elif last is not None and not first < last:
                more = ": longitudes may exceed 360" if end == "east" else ""
                yield end, f"{last:.12g} {unit} are not beyond {start} = {first:.12g} {unit}{more}"
            elif (
                last is not None
                and self.given(size)
                and not math.isclose(first + number * each, last, rel_tol=ROUND_OFF)
            ):
                whole = f"{first:.12g} + " if start else ""
                are = f"are not {whole}{cells} {size} = {whole}{number} x {each:.12g} {unit}"
                yield end, f"{last:.12g} {unit} {are}; leave out {end} or {size}"
            else:
                each = each if last is None or self.given(size) else (last - first) / number
                if not LEAST_CELL <= each <= LARGEST_CELL:
                    words = f"cells of {each:g} {unit}; they must be of {LEAST_CELL:g} to {LARGEST_CELL:g} {unit}"
                    yield size if self.given(size) else end, words

    def off_the_sphere(self) -> Iterator[tuple[str, str]]:
        """Edges at or beyond a pole, longitudes that overlap, and rings that are not closed."""
        if self.kind == "plane":
            return
        grid: Any = self.sized()
        for key, latitude in {"south": grid.south, "north": grid.south + grid.ny * grid.dlat}.items():
            if abs(latitude) > POLE - NEAREST:
                yield (
                    key if self.given(key) else "dlat",
                    f"the {key}ern edge lies at latitude {latitude:.10g}; latitudes up to {POLE - NEAREST:g} can, as "
                    "cells have no width at a pole",
                )
        around, key = grid.nx * grid.dlon, "dlon" if self.east is None else "east"
        closed = math.isclose(around, CIRCLE, rel_tol=ROUND_OFF)
        if around > CIRCLE and not closed:
            yield key, f"the domain is {around:.10g} degrees wide: longitudes overlap beyond 360"
        elif self.periodic_x and not closed:
            yield (
                key,
                f"the domain is {around:.10g} degrees wide, which closes no ring of 360; periodic_x=false puts walls "
                "at the west and the east",
            )

    def sized(self) -> Grid:
        """The grid with cell sizes in place of its ends, and without keys of other kinds."""
        sizes = dict.fromkeys(key for kind, keys in KEYS_OF.items() if kind != self.kind for key in keys)
        if self.kind == "latlon":
            sizes["west"] = 0.0 if self.west is None else self.west
            sizes["radius"] = self.radius or RADIUS
            sizes["rotation"] = ROTATION if self.rotation is None else self.rotation
            sizes["dlon"] = CIRCLE / self.nx if self.dlon is None else self.dlon
        for cells, size, end, start in self.extents:
            if (whole := getattr(self, end)) is not None:
                begin = sizes.get(start, getattr(self, start)) if start else 0.0
                sizes[end] = None
                sizes |= {} if self.given(size) else {size: (whole - begin) / getattr(self, cells)}
        return self.model_copy(update=sizes)
