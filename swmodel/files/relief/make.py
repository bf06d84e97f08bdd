"""Make a grid with depth and coast from a relief."""

from __future__ import annotations

import math
import os
from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np

from ...config.options.grid import CIRCLE, MOST_CELLS, NEAREST, POLE, ROUND_OFF, Grid
from ...errors import UsageError
from ...ocean.coordinates import along_axes, axes, points
from ...parallel.environment import total_memory
from ...setup.fields.netcdf_input.errors import remark
from .average import at_places, averages, is_coarse, sea_places
from .coast import close, low_land, parts, smooth
from .crests import crests
from .grid_file import GeneratedGrid, check_vacant, write
from .source import Relief, ReliefError, open_relief
from .straits import connected

#: Least share of sea of a cell of water.
WATER = 0.5

#: Least depth of water unless it is given, m.
DEEP = 10.0

#: Most places along each axis for the comparison with the package's relief.
MOST = 100

#: Memory for a grid and its picture for each cell, bytes, measured with 3000 x 3000 cells.
CELL_BYTES = 200

#: Largest values of options, m and passes.
LARGEST = {"--min-depth": 12e3, "--land-up-to": 9e3, "--smooth": 1000}


@dataclass(frozen=True)
class GridRequest:
    """The specification of a grid.

    Attributes:
        region: west, east, south and north edge, degrees, about the pole of the grid.
        resolution: size of the cells, degrees, adjusted so that a whole number of cells fits the region.
        pole: longitude and latitude of the grid's north pole, degrees.
        min_depth: least depth of water, m; shallower water is deepened. None: DEEP, or 0 with `land_up_to`.
        land_up_to: greatest height of land that may flood, m; None: no land does.
        smooth: number of smoothing passes of the depth (`coast.smooth`).
        keep: (longitude, latitude) of places in seas to keep although they are cut off from the largest.
    """

    region: tuple[float, float, float, float]
    resolution: float
    pole: tuple[float, float] | None = None
    min_depth: float | None = None
    land_up_to: float | None = None
    smooth: int = 0
    keep: tuple[tuple[float, float], ...] = ()


def make_grid(target, wish: GridRequest, relief=None, command_line: str = "", force: bool = False) -> GeneratedGrid:
    """Make the file of a grid from a relief, "FILE" or "FILE:NAME"; without it, that of the package.

    `force`: replace an existing grid. ReliefError: the relief is invalid, does not cover the region, or has no water
    there. UsageError: the region cannot be a grid, or the file exists. FilesError: it cannot be written.
    """
    check_vacant(target, force)
    grid = grid_of(wish)
    with ExitStack() as stack:
        opened = open_relief(relief, stack)
        depth, share, height = averages(opened, grid)
        remedy = opened.remedy()
        doubt_sign(opened, grid, share >= WATER)
        places = None if is_coarse(opened, grid) else sea_places(opened, grid)
        if places is None:
            remark(
                f"cells of {grid.dlon:.4g} by {grid.dlat:.4g} degrees are finer than {opened.path}, which has points "
                f"every {opened.x.step:.4g} by {opened.y.step:.4g} degrees; give a finer one as --relief"
            )
        grid, rows = without_poles(grid, share >= WATER)
        depth, share, height = depth[rows], share[rows], height[rows]
        sea, ring = share >= WATER, grid.periodic_x
        joined, isthmus = (sea, sea & False) if places is None else connected(sea, share, places[rows], ring)
        wet, closed = close(joined, ring, [cell_of(grid, place, joined) for place in wish.keep])
        low, tops = wet & False, np.full(wet.shape, np.nan)
        if wish.land_up_to is not None:
            low = low_land(wet, np.where(sea, 0.0, height), wish.land_up_to, ring)
            tops = tops if places is None else crests(opened, grid, np.where(sea, 0.0, height), wet, low)
    source = ", ".join(filter(None, [os.path.basename(opened.path), opened.about]))
    top = np.isfinite(tops)
    changes = [*parts(isthmus & ~top, ring, "isthmus"), *parts(wet & ~sea, ring, "strait"), *closed]
    changes += parts(top, ring, "crest")
    if not wet.any():
        west, east, south, north = wish.region
        raise ReliefError(f"the region {west:g},{east:g},{south:g},{north:g} is all land{remedy}")
    least = wish.min_depth if wish.min_depth is not None else DEEP if wish.land_up_to is None else 0.0
    raised = wet & (depth < least)
    ground = np.where(low, np.where(sea, 0.0, -height), np.maximum(depth, least))
    depth = np.where(top, -tops, smooth(ground, wet | low, ring, wish.smooth))
    made = GeneratedGrid(grid, depth, wet, low, share, sea & ~wet, changes, least, int(raised.sum()))
    write(target, made, source, command_line)
    return made


def grid_of(wish: GridRequest) -> Grid:
    """The section [grid]; an edge may still lie on a pole (`without_poles`). UsageError: an impossible grid."""
    west, east, south, north = wish.region
    check_region(*wish.region, wish.resolution)
    numbers = {"--min-depth": wish.min_depth, "--land-up-to": wish.land_up_to, "--smooth": wish.smooth}
    for option, number in numbers.items():
        if number is not None and not abs(number) <= LARGEST[option]:
            raise UsageError(f"{option}: must be at most {LARGEST[option]:g} in size, but is {number:g}")
    for option, places in (("--pole", [wish.pole] if wish.pole else []), ("--keep", wish.keep)):
        for place in places:
            if not all(abs(degrees) <= CIRCLE for degrees in place):
                raise UsageError(f"{option}: must be a longitude and a latitude, but is {place[0]:g},{place[1]:g}")
    nx, ny = (max(1, round((high - low) / wish.resolution)) for low, high in ((west, east), (south, north)))
    grid = Grid(
        kind="latlon",
        nx=nx,
        ny=ny,
        west=west,
        south=south,
        dlon=(east - west) / nx,
        dlat=(north - south) / ny,
        pole=wish.pole,
        periodic_x=abs(east - west - CIRCLE) < CIRCLE * ROUND_OFF,
    )
    for key, words in grid.contradictions().items():
        if key not in ("south", "north", "dlat"):
            raise UsageError(f"--{'pole' if key == 'pole' else 'region'}: {words}")
    return grid.sized()


def check_region(west: float, east: float, south: float, north: float, resolution: float) -> None:
    """Raise UsageError if the region, degrees, is invalid, or cells of this size do not fit into it or the memory."""
    if not 0 < resolution < math.inf:
        raise UsageError(f"--resolution: cells of {resolution:g} degrees: it must be above 0")
    wide, high = east - west, north - south
    if not (0 < wide < math.inf and 0 < high < math.inf and max(-south, north) <= POLE):
        raise UsageError(
            "--region: must be W,E,S,N with W below E, where longitudes may exceed 180, and S below N, from -90 "
            f"to 90; it is {west:g},{east:g},{south:g},{north:g}"
        )
    cells = f"--resolution: cells of {resolution:g} degrees in a region of {wide:g} by {high:g} degrees"
    if resolution > min(wide, high) * (1 + ROUND_OFF):
        raise UsageError(f"{cells}: must not be wider than the region")
    need, present = wide * high / resolution**2 * CELL_BYTES, total_memory()
    if max(wide, high) / resolution > MOST_CELLS:
        raise UsageError(f"{cells}: must be at most {MOST_CELLS:g} along an axis")
    if need > present:
        raise UsageError(f"{cells}: need {need / 1e9:.3g} GB; this machine has {present / 1e9:.3g} GB")


def without_poles(grid: Grid, wet: np.ndarray) -> tuple[Grid, slice]:
    """The grid without rows of land at a pole, except one beside the water; and the remaining rows."""
    rows, first, last = np.flatnonzero(wet.any(axis=1)), 0, grid.ny
    for name, latitude in (("south", grid.south), ("north", grid.south + grid.ny * grid.dlat)):
        if abs(latitude) <= POLE - NEAREST:
            continue
        if wet[0 if name == "south" else -1].any():
            raise UsageError(
                f"--region: the {name} pole of the grid lies in water; end the region before it, or choose a pole on "
                "land with an antipode on land, such as --pole -42,76"
            )
        if rows.size:
            least, most = max(rows[0] - 1, 1), min(rows[-1] + 2, grid.ny - 1)
            first, last = (least, last) if name == "south" else (first, most)
    cut = {"south": grid.south + int(first) * grid.dlat, "ny": int(last - first)}
    return grid.model_copy(update=cut), slice(int(first), int(last))


def cell_of(grid: Grid, place: tuple[float, float], wet: np.ndarray) -> tuple[int, int]:
    """Row and column of the cell of water around a longitude and latitude. UsageError: no water there."""
    along, (x, y) = axes(grid), along_axes(grid, *place)
    row, column = (int(np.rint(axis.index(axis.within(at)))) for axis, at in ((along.y, y), (along.x, x)))
    if not (0 <= row < grid.ny and 0 <= column < grid.nx and wet[row, column]):
        raise UsageError(f"--keep: there is no water at {place[0]:g},{place[1]:g} in the region")
    return row, column


def doubt_sign(relief: Relief, grid, sea: np.ndarray) -> None:
    """Log a line if sea and land [ny, nx] agree better with the package's relief when exchanged."""
    if relief.share is not None:
        return
    rows, columns = (np.arange(0, cells, -(-cells // MOST)) for cells in (grid.ny, grid.nx))
    lon, lat = np.broadcast_arrays(*points(grid, "centre", rows, columns).degrees)
    with ExitStack() as stack:
        _, share, _ = at_places(open_relief(None, stack), lon, lat)
    other = np.mean((share >= 0.5) != sea[np.ix_(rows, columns)])
    if other > 0.5:
        remark(
            f"{relief.path} and the relief of the package differ between sea and land in {100 * other:.0f} % of the "
            f"region{relief.remedy()}"
        )
