"""The section [grid]: rows and columns of cells on a plane or a sphere, and the keys that give their size."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from ...ocean import projection
from ...ocean.coordinates import FULL_CIRCLE_DEGREES
from ...ocean.option import Deferred, Section, option

#: Largest number of cells along an axis, so that the number of cells of a grid fits in 64 bits.
MAX_CELLS_PER_AXIS = 10**9

#: Smallest and largest cell size, m or degrees; also limits of the radius of a sphere, m.
MIN_CELL_SIZE, MAX_CELL_SIZE = 1e-6, 1e12

#: Relative difference up to which numbers count as equal, for example a length and the sum of the cell sizes.
ROUND_OFF = 1e-12

#: Keys of [physics] that set the Coriolis parameter; if both are 0, it follows from latitudes, if the grid has them.
CORIOLIS_KEYS = "f0", "beta"

#: Radius of the Earth, m, and its rotation rate, s-1.
EARTH_RADIUS, EARTH_ROTATION_RATE = 6371e3, 7.292115e-5

#: Latitude of a pole, degrees.
POLE_LATITUDE = 90.0

#: Smallest distance between a pole and the northern or southern edge of the domain, degrees.
MIN_POLE_DISTANCE_DEGREES = 0.01


class ExtentKeys(NamedTuple):
    """The keys that set the extent of the domain along an axis: number of cells, their size, end and start.

    On a plane the domain starts at zero, so its end is its length.
    """

    cells: str
    size: str
    end: str
    start: str = ""


#: The keys of the extents in x and y, by kind of grid. A source of the configuration that sets the size or the end
#: replaces both keys of earlier sources. The resolved configuration of a run has only the size.
EXTENT_KEYS = {
    "plane": (ExtentKeys("nx", "dx", "lx"), ExtentKeys("ny", "dy", "ly")),
    "latlon": (ExtentKeys("nx", "dlon", "east", "west"), ExtentKeys("ny", "dlat", "north", "south")),
}

#: Keys that only one kind of grid has; a plane with `crs` also has the PLANET_KEYS.
KEYS_BY_KIND = {
    "plane": ("dx", "dy", "lx", "ly", "crs", "easting", "northing"),
    "latlon": ("west", "south", "dlon", "dlat", "east", "north", "pole", "radius", "rotation"),
}

#: Keys of the south-western corner of a projected grid, and keys of the planet, which any grid with latitudes needs.
CORNER_KEYS, PLANET_KEYS = ("easting", "northing"), ("radius", "rotation")

#: The geometries for which the formulas of a case may be written: the kinds of grid, and a plane with `crs`.
PROJECTED = "projected"
GEOMETRIES = (*EXTENT_KEYS, PROJECTED)


def cells_between(size: Any, end: Any, start: Any = 0.0) -> int | None:
    """Number of cells, rounded; None unless all are finite numbers with `size` positive and `end` beyond `start`."""
    if not all(isinstance(each, int | float) and math.isfinite(each) for each in (size, end, start)):
        return None
    return max(1, round((end - start) / size)) if size > 0 and end > start else None


class GridOptions(Section):
    """C-grid of ny rows by nx columns: cells of one size on a plane, or in degrees on a sphere."""

    kind: Literal["plane", "latlon"] = option(
        "plane", "", "plane: cells of one size in m; latlon: cells of one size in degrees, on a sphere"
    )
    file: str = option("", "", "NetCDF file of `swmodel grid`, which sets this section, input.depth and input.mask")
    nx: int = option(
        360, "cells", "cells in x (west to east); or give dx and lx (dlon and east)", ge=1, le=MAX_CELLS_PER_AXIS
    )
    ny: int = option(
        180, "cells", "cells in y (south to north); or give dy and ly (dlat and north)", ge=1, le=MAX_CELLS_PER_AXIS
    )
    dx: Deferred[float] = option(5e3, "m", "cell size in x (or give lx)", gt=0)
    dy: Deferred[float] = option(5e3, "m", "cell size in y (or give ly)", gt=0)
    lx: float | None = option(None, "m", "size of the domain in x; dx is lx / nx (or give dx)", gt=0)
    ly: float | None = option(None, "m", "size of the domain in y; dy is ly / ny (or give dy)", gt=0)
    west: Deferred[float] = option(None, "degrees", "longitude of the western edge (latlon); none: 0 if periodic")
    south: Deferred[float] = option(None, "degrees", "latitude of the southern edge (latlon)")
    dlon: Deferred[float] = option(
        None, "degrees", "cell size in longitude (latlon; or give east); none: 360 / nx if periodic", gt=0
    )
    dlat: Deferred[float] = option(None, "degrees", "cell size in latitude (latlon; or give north)", gt=0)
    east: float | None = option(None, "degrees", "longitude of the eastern edge; dlon is (east - west) / nx")
    north: float | None = option(None, "degrees", "latitude of the northern edge; dlat is (north - south) / ny")
    pole: tuple[float, float] | None = option(
        None,
        "degrees",
        "longitude and latitude of the grid's north pole (latlon); edges and cell sizes refer to this pole",
    )
    crs: str | None = option(
        None, "", 'projected coordinate reference system of x and y, in m, such as "EPSG:32633" (plane); none: a plane'
    )
    easting: Deferred[float] = option(None, "m", "easting of the western edge (plane with crs)")
    northing: Deferred[float] = option(None, "m", "northing of the southern edge (plane with crs)")
    radius: Deferred[float] = option(
        None,
        "m",
        f"radius of the sphere (latlon; with crs only for distances on the Earth); none: {EARTH_RADIUS:g}",
        ge=MIN_CELL_SIZE,
        le=MAX_CELL_SIZE,
    )
    rotation: Deferred[float] = option(
        None,
        "s-1",
        "rotation rate of the planet (latlon, or crs), f = 2 rotation sin(latitude) where physics.f0 and physics.beta "
        f"are 0; none: {EARTH_ROTATION_RATE:g}",
    )
    periodic_x: bool = option(True, "", "whether x is periodic; false: walls in the west and the east")
    periodic_y: bool = option(False, "", "whether y is periodic; false: walls in the south and the north")
    origin: Literal["edge", "centre", "middle"] = option(
        "edge",
        "",
        "place of x = y = 0: south-western corner, centre of the first cell, or middle of the domain; not with crs",
    )

    @property
    def extents(self) -> tuple[ExtentKeys, ExtentKeys]:
        return EXTENT_KEYS[self.kind]

    @property
    def geometry(self) -> str:
        """The geometry for which the formulas of a case must be written, one of GEOMETRIES."""
        return PROJECTED if self.crs else self.kind

    @property
    def unused_keys(self) -> list[str]:
        """Keys that have no meaning for this grid."""
        unused = [key for kind, keys in KEYS_BY_KIND.items() if kind != self.kind for key in keys]
        if self.crs:
            return [key for key in unused if key not in PLANET_KEYS]
        return unused + (["crs", *CORNER_KEYS] if self.kind == "plane" else [])

    def is_set(self, key: str) -> bool:
        return key in self.model_fields_set and getattr(self, key) is not None

    def contradictions(self) -> dict[str, str]:
        """The problems of the keys, {key: problem}, from the first of four checks that finds any."""
        return (
            dict(self.keys_of_another_kind())
            or dict(self.size_problems())
            or dict(self.sphere_problems())
            or dict(self.projection_problems())
        )

    def keys_of_another_kind(self) -> Iterator[tuple[str, str]]:
        """Keys that this kind of grid does not have, corner keys that it lacks, and values that it does not allow."""
        for kind, keys in KEYS_BY_KIND.items():
            for key in (key for key in keys if kind != self.kind and key in self.unused_keys and self.is_set(key)):
                own_keys = ", ".join(KEYS_BY_KIND[self.kind])
                yield key, f'belongs to grid.kind = "{kind}"; this grid is "{self.kind}", which has {own_keys}'
        for key in CORNER_KEYS if self.kind == "plane" else ():
            if self.is_set(key) and not self.crs:
                yield key, "has no effect without grid.crs"
            elif self.crs and not self.is_set(key):
                yield key, "must be given, in m, where grid.crs is given"
        for key in ("periodic_x", "periodic_y") if self.crs else ():
            if getattr(self, key):
                yield key, "must be false where grid.crs is given: places on the Earth do not repeat"
        if self.crs and self.origin != "edge":
            yield "origin", "has no effect where grid.crs is given: x and y are those of this system; leave it out"
        if self.kind == "latlon" and self.periodic_y:
            yield "periodic_y", "must be false on a sphere: latitudes are not periodic"
        if self.pole is not None and abs(self.pole[1]) > POLE_LATITUDE:
            yield "pole", f"its latitude, {self.pole[1]:.10g}, is beyond 90 degrees: give longitude, latitude"

    def size_problems(self) -> Iterator[tuple[str, str]]:
        """Edges of the domain and sizes of cells that are missing, contradict each other, or are out of range."""
        unit = "degrees" if self.kind == "latlon" else "m"
        for cells, size, end, start in self.extents:
            start_position = getattr(self, start) if start else 0.0
            n_cells, cell_size, end_position = (getattr(self, key) for key in (cells, size, end))
            if start == "west" and self.periodic_x:
                start_position = 0.0 if start_position is None else start_position
                cell_size = FULL_CIRCLE_DEGREES / n_cells if cell_size is None else cell_size
            if start_position is None:
                yield start, "must be given, in degrees, where grid.kind is latlon"
            elif cell_size is None and end_position is None:
                yield end if start else size, f"must be given, in {unit} (or {size if start else end})"
            elif end_position is not None and not start_position < end_position:
                hint = ": longitudes may exceed 360" if end == "east" else ""
                yield end, f"{end_position:.12g} {unit} is not beyond {start} = {start_position:.12g} {unit}{hint}"
            elif (
                end_position is not None
                and self.is_set(size)
                and abs(start_position + n_cells * cell_size - end_position)
                > ROUND_OFF * (abs(start_position) + abs(n_cells * cell_size))
            ):
                prefix = f"{start_position:.12g} + " if start else ""
                equation = f"is not {prefix}{cells} {size} = {prefix}{n_cells} x {cell_size:.12g} {unit}"
                yield end, f"{end_position:.12g} {unit} {equation}; leave out {end} or {size}"
            else:
                cell_size = (
                    cell_size
                    if end_position is None or self.is_set(size)
                    else (end_position - start_position) / n_cells
                )
                if not MIN_CELL_SIZE <= cell_size <= MAX_CELL_SIZE:
                    problem = (
                        f"cells of {cell_size:g} {unit}; they must be of {MIN_CELL_SIZE:g} to {MAX_CELL_SIZE:g} {unit}"
                    )
                    yield size if self.is_set(size) else end, problem

    def sphere_problems(self) -> Iterator[tuple[str, str]]:
        """Edges too near a pole or beyond it, longitudes that overlap, and periodic ones that are not a full circle."""
        if self.kind == "plane":
            return
        grid = self.with_cell_sizes()
        for key, latitude in {"south": grid.south, "north": grid.south + grid.ny * grid.dlat}.items():
            if abs(latitude) > POLE_LATITUDE - MIN_POLE_DISTANCE_DEGREES:
                yield (
                    key if self.is_set(key) else "dlat",
                    f"the {key}ern edge is at latitude {latitude:.10g}, but must be within "
                    f"{POLE_LATITUDE - MIN_POLE_DISTANCE_DEGREES:g} degrees of the equator, because cells have no "
                    "width at a pole",
                )
        width, key = grid.nx * grid.dlon, "dlon" if self.east is None else "east"
        is_full_circle = math.isclose(width, FULL_CIRCLE_DEGREES, rel_tol=ROUND_OFF)
        if width > FULL_CIRCLE_DEGREES and not is_full_circle:
            yield key, f"the domain is {width:.10g} degrees wide: longitudes overlap beyond 360"
        elif self.periodic_x and not is_full_circle:
            yield (
                key,
                f"the domain is {width:.10g} degrees wide, not a full circle of 360; periodic_x=false puts walls in "
                "the west and the east",
            )

    def projection_problems(self) -> Iterator[tuple[str, str]]:
        """A coordinate reference system that the model cannot use, or a domain that does not fit into it."""
        if not self.crs:
            return
        if problem := projection.find_problem(self.crs):
            yield "crs", problem
            return
        grid = self.with_cell_sizes()
        east, north = grid.easting + grid.nx * grid.dx, grid.northing + grid.ny * grid.dy
        if problem := projection.find_problem_of_domain(self.crs, grid.easting, east, grid.northing, north):
            yield "easting", problem

    def with_cell_sizes(self) -> GridOptions:
        """A copy with cell sizes in place of ends, with defaults, and with None for keys without use for this grid."""
        updates: dict[str, Any] = dict.fromkeys(self.unused_keys)
        if self.kind == "latlon" or self.crs:
            updates["radius"] = self.radius or EARTH_RADIUS
            updates["rotation"] = EARTH_ROTATION_RATE if self.rotation is None else self.rotation
        if self.kind == "latlon":
            updates["west"] = 0.0 if self.west is None else self.west
            updates["dlon"] = FULL_CIRCLE_DEGREES / self.nx if self.dlon is None else self.dlon
        for cells, size, end, start in self.extents:
            if (end_position := getattr(self, end)) is not None:
                start_position = updates.get(start, getattr(self, start)) if start else 0.0
                updates[end] = None
                updates |= {} if self.is_set(size) else {size: (end_position - start_position) / getattr(self, cells)}
        return self.model_copy(update=updates)
