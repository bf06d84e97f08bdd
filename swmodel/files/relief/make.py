"""Make a grid with depth and coast from a relief."""

from __future__ import annotations

import math
import os
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...config.options.grid import (
    FULL_CIRCLE_DEGREES,
    MAX_CELLS_PER_AXIS,
    MIN_POLE_DISTANCE_DEGREES,
    POLE_LATITUDE,
    ROUND_OFF,
    GridOptions,
)
from ...errors import UsageError
from ...ocean.coordinates import axes, points, to_grid_axes
from ...parallel.environment import total_memory
from ...setup.fields.netcdf_input.errors import log_once
from .average import average_over_cells, interpolate, is_coarse, part_of_grid, sample_sea
from .coast import close_seas_and_bays, floodable_land, list_changes, smooth_depth
from .crests import crest_heights
from .grid_file import GeneratedGrid, check_overwritable, write_grid_file
from .mosaic import AnyRelief, ReliefMosaic
from .source import ReliefError, open_relief
from .straits import connect_seas

#: Minimum sea fraction of a water cell.
MIN_SEA_FRACTION = 0.5

DEFAULT_MIN_DEPTH_METRES = 10.0

#: Maximum number of points along each axis for the comparison with the package's relief.
MAX_SAMPLES_PER_AXIS = 100

#: Memory for making a grid and its picture, bytes per cell, measured with 3000 x 3000 cells.
BYTES_PER_CELL = 200

#: Largest magnitudes of options: m for depth and height, passes for --smooth.
MAX_OPTION_VALUES = {"--min-depth": 12e3, "--land-up-to": 9e3, "--smooth": 1000}


@dataclass(frozen=True)
class GridRequest:
    """The specification of a grid.

    Attributes:
        region: west, east, south and north edge, in degrees relative to the pole of the grid, or in m in `crs`.
        resolution: size of the cells, degrees or m; it is adjusted so that a whole number of cells fits the region.
        pole: longitude and latitude of the grid's north pole, degrees; None: that of the Earth.
        crs: projected coordinate reference system of the grid; None: the grid is in longitudes and latitudes.
        min_depth: minimum depth of water, m; shallower water is deepened. None: DEFAULT_MIN_DEPTH_METRES, or 0 with
            `land_up_to`.
        land_up_to: maximum height of land that may flood, m; None: no land floods.
        smooth: number of smoothing passes of the depth (`coast.smooth_depth`).
        keep: points (longitude, latitude), or (x, y) in `crs`, in seas that are kept although they are cut off from the
            largest.
    """

    region: tuple[float, float, float, float]
    resolution: float
    pole: tuple[float, float] | None = None
    crs: str | None = None
    min_depth: float | None = None
    land_up_to: float | None = None
    smooth: int = 0
    keep: tuple[tuple[float, float], ...] = ()


def make_grid(target, request: GridRequest, relief=None, command_line: str = "", force: bool = False) -> GeneratedGrid:
    """Make a grid from a relief, and write it to the file `target`.

    Args:
        relief: "FILE", "FILE:NAME" or a list of these; None: the relief of the package. Of several reliefs the first
            that has a value at a point counts, so list the finest first.
        force: whether to replace an existing grid.

    Raises:
        InputError, in most cases ReliefError: the relief is invalid, does not cover the region, or has no water there.
        UsageError: the request is impossible, or the file exists.
        FilesError: the file cannot be written.
    """
    check_overwritable(target, force)
    grid = make_grid_section(request)
    with ExitStack() as stack:
        entries = [relief] if isinstance(relief, str | os.PathLike | None) else [*relief] or [None]
        reliefs = [open_relief(entry, stack, request.crs) for entry in entries]
        relief_data: AnyRelief = reliefs[0] if len(reliefs) == 1 else ReliefMosaic(reliefs, grid)
        depth, sea_fraction, height = average_over_cells(relief_data, grid)
        remedy = relief_data.sign_remedy()
        warn_if_sign_flipped(relief_data, grid, sea_fraction >= MIN_SEA_FRACTION)
        sea_samples = None if is_coarse(relief_data, grid) else sample_sea(relief_data, grid)
        if sea_samples is None:
            (x, y), (relief_x, relief_y) = axes(grid), (relief_data.x, relief_data.y)
            log_once(
                f"cells of {x.spacing:.4g} by {y.spacing:.4g} {x.unit} are finer than {relief_data.path}, which has "
                f"points every {relief_x.max_spacing:.4g} by {relief_y.max_spacing:.4g} {relief_x.unit}; give a "
                "finer relief with --relief"
            )
        grid, rows = drop_polar_rows(grid, sea_fraction >= MIN_SEA_FRACTION)
        depth, sea_fraction, height = depth[rows], sea_fraction[rows], height[rows]
        is_sea, is_periodic = sea_fraction >= MIN_SEA_FRACTION, grid.periodic_x
        connected, isthmus = is_sea, is_sea & False
        if sea_samples is not None:
            connected, isthmus = connect_seas(is_sea, sea_fraction, sea_samples[rows], is_periodic)
        wet, closed_parts = close_seas_and_bays(
            connected, is_periodic, [water_cell_at(grid, position, connected) for position in request.keep]
        )
        floodable, crest_height = wet & False, np.full(wet.shape, np.nan)
        if request.land_up_to is not None:
            land_height = np.where(is_sea, 0.0, height)
            floodable = floodable_land(wet, land_height, request.land_up_to, is_periodic)
            if sea_samples is not None:
                crest_height = crest_heights(relief_data, grid, land_height, wet, floodable)
    source = ", ".join(filter(None, [", ".join(os.path.basename(data.path) for data in reliefs), relief_data.origin]))
    has_crest = np.isfinite(crest_height)
    changes = [
        *list_changes(isthmus & ~has_crest, is_periodic, "isthmus"),
        *list_changes(wet & ~is_sea, is_periodic, "strait"),
        *closed_parts,
        *list_changes(has_crest, is_periodic, "crest"),
    ]
    if not wet.any():
        raise ReliefError(f"the region {','.join(f'{edge:.10g}' for edge in request.region)} is all land{remedy}")
    min_depth = request.min_depth
    if min_depth is None:
        min_depth = DEFAULT_MIN_DEPTH_METRES if request.land_up_to is None else 0.0
    is_deepened = wet & (depth < min_depth)
    ground = np.where(floodable, np.where(is_sea, 0.0, -height), np.maximum(depth, min_depth))
    depth = np.where(has_crest, -crest_height, smooth_depth(ground, wet, is_periodic, request.smooth))
    generated_grid = GeneratedGrid(
        grid, depth, wet, floodable, sea_fraction, is_sea & ~wet, changes, min_depth, int(is_deepened.sum())
    )
    write_grid_file(target, generated_grid, source, command_line)
    return generated_grid


def make_grid_section(request: GridRequest) -> GridOptions:
    """The section [grid] of a request, whose edges may still lie on a pole (`drop_polar_rows`).

    UsageError: the request is impossible.
    """
    west, east, south, north = request.region
    if request.crs and request.pole:
        raise UsageError("--pole: a grid in a projection, --crs, has no pole; leave out one of the two")
    check_region(*request.region, request.resolution, "m" if request.crs else "degrees")
    numbers = {"--min-depth": request.min_depth, "--land-up-to": request.land_up_to, "--smooth": request.smooth}
    for option, number in numbers.items():
        if number is not None and not abs(number) <= MAX_OPTION_VALUES[option]:
            raise UsageError(f"{option}: must be at most {MAX_OPTION_VALUES[option]:g} in size, but is {number:g}")
    positions_in_degrees = {
        "--pole": [request.pole] if request.pole else [],
        "--keep": () if request.crs else request.keep,
    }
    for option, positions in positions_in_degrees.items():
        for position in positions:
            if not all(abs(degrees) <= FULL_CIRCLE_DEGREES for degrees in position):
                raise UsageError(
                    f"{option}: must be a longitude and a latitude, but is {position[0]:g},{position[1]:g}"
                )
    nx, ny = (max(1, round((high - low) / request.resolution)) for low, high in ((west, east), (south, north)))
    width, height = (east - west) / nx, (north - south) / ny
    keys: dict[str, Any]
    if request.crs:
        keys = {"kind": "plane", "easting": west, "northing": south, "dx": width, "dy": height}
        keys |= {"crs": request.crs, "periodic_x": False, "periodic_y": False}
    else:
        is_full_circle = abs(east - west - FULL_CIRCLE_DEGREES) < FULL_CIRCLE_DEGREES * ROUND_OFF
        keys = {"kind": "latlon", "west": west, "south": south, "dlon": width, "dlat": height}
        keys |= {"pole": request.pole, "periodic_x": is_full_circle}
    grid = GridOptions(nx=nx, ny=ny, **keys)
    for key, message in grid.contradictions().items():
        if key not in ("south", "north", "dlat"):
            raise UsageError(f"--{key if key in ('pole', 'crs') else 'region'}: {message}")
    return grid.with_cell_sizes()


def check_region(west: float, east: float, south: float, north: float, resolution: float, unit: str) -> None:
    """Raise UsageError if the region is invalid, or if cells of this size do not fit into the region or the memory."""
    if not 0 < resolution < math.inf:
        raise UsageError(f"--resolution: must be above 0 {unit}, but is {resolution:g}")
    width, height = east - west, north - south
    is_on_earth = unit == "m" or max(-south, north) <= POLE_LATITUDE
    if not (0 < width < math.inf and 0 < height < math.inf and is_on_earth):
        limits = "" if unit == "m" else ", from -90 to 90"
        longitudes = "" if unit == "m" else ", where longitudes may exceed 180,"
        raise UsageError(
            f"--region: must be W,E,S,N, in {unit}, with W below E{longitudes} and S below N{limits}; it is "
            f"{west:.10g},{east:.10g},{south:.10g},{north:.10g}"
        )
    cells = f"--resolution: cells of {resolution:g} {unit} in a region of {width:g} by {height:g} {unit}"
    if resolution > min(width, height) * (1 + ROUND_OFF):
        raise UsageError(f"{cells}: must not be wider than the region")
    if max(width, height) / resolution > MAX_CELLS_PER_AXIS:
        raise UsageError(f"{cells}: must be at most {MAX_CELLS_PER_AXIS:g} along an axis")
    needed_bytes, memory_bytes = width * height / resolution**2 * BYTES_PER_CELL, total_memory()
    if needed_bytes > memory_bytes:
        raise UsageError(f"{cells}: need {needed_bytes / 1e9:.3g} GB; this machine has {memory_bytes / 1e9:.3g} GB")


def drop_polar_rows(grid: GridOptions, wet: np.ndarray) -> tuple[GridOptions, slice]:
    """The grid without rows of land at a pole, except one row beside the water, and the slice of the remaining rows.

    UsageError: a pole lies in water.
    """
    rows, first, last = np.flatnonzero(wet.any(axis=1)), 0, grid.ny
    if grid.crs:
        return grid, slice(first, last)
    for name, latitude in (("south", grid.south), ("north", grid.south + grid.ny * grid.dlat)):
        if abs(latitude) <= POLE_LATITUDE - MIN_POLE_DISTANCE_DEGREES:
            continue
        if wet[0 if name == "south" else -1].any():
            raise UsageError(
                f"--region: the {name} pole of the grid lies in water; end the region before it, or choose a pole on "
                "land with an antipode on land, such as --pole -42,76"
            )
        if rows.size:
            start, stop = max(rows[0] - 1, 1), min(rows[-1] + 2, grid.ny - 1)
            first, last = (start, last) if name == "south" else (first, stop)
    return part_of_grid(grid, first, last), slice(int(first), int(last))


def water_cell_at(grid: GridOptions, position: tuple[float, float], wet: np.ndarray) -> tuple[int, int]:
    """Row and column of the water cell that contains a position. UsageError: the position is not in water."""
    along = zip(axes(grid), to_grid_axes(grid, *position), strict=True)
    column, row = (int(np.rint(axis.fractional_index(axis.wrap(coordinate)))) for axis, coordinate in along)
    if not (0 <= row < grid.ny and 0 <= column < grid.nx and wet[row, column]):
        raise UsageError(f"--keep: there is no water at {position[0]:.10g},{position[1]:.10g} in the region")
    return row, column


def warn_if_sign_flipped(relief: AnyRelief, grid, is_sea: np.ndarray) -> None:
    """Log a warning if sea and land [ny, nx] agree better with the package's relief when they are swapped."""
    if relief.fraction_variable is not None:
        return
    rows, columns = (np.arange(0, cells, -(-cells // MAX_SAMPLES_PER_AXIS)) for cells in (grid.ny, grid.nx))
    centres = points(grid, "centre", rows, columns)
    lon, lat = np.broadcast_arrays(centres.lon, centres.lat)
    with ExitStack() as stack:
        _, sea_fraction, _ = interpolate(open_relief(None, stack), lon, lat)
    fraction_different = np.mean((sea_fraction >= 0.5) != is_sea[np.ix_(rows, columns)])
    if fraction_different > 0.5:
        log_once(
            f"{relief.path} and the relief of the package disagree about sea and land in "
            f"{100 * fraction_different:.0f} % of the region{relief.sign_remedy()}"
        )
