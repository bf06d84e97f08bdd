"""The file of a grid: depth, mask, coordinates, and the keys of the section [grid]."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...config.loading.toml import toml_value
from ...config.options.grid import GridOptions
from ...errors import FilesError, UsageError
from ...ocean.coordinates import axes, has_rotated_axes, is_spherical, metrics, points
from ...ocean.table import VARIABLES
from ...ocean.variable import Variable
from ...setup.fields.netcdf_input.model_files import GRID_ATTRIBUTE
from ..draft import atomic_write
from ..output.metadata import (
    COMPRESSION,
    DIMENSIONS,
    FILL_VALUE,
    define_grid,
    define_variable,
    field_attributes,
    flag_attributes,
    history_line,
)
from ..output.static import GEOGRAPHIC_VARIABLES, geographic_coordinate
from .coast import MaskChange

#: Keys of [grid] whose values a grid file records, if they have one.
GRID_KEYS = (
    *("kind", "nx", "ny", "west", "south", "dlon", "dlat", "pole", "periodic_x", "periodic_y"),
    *("crs", "easting", "northing", "dx", "dy"),
)

#: The variables of a grid file besides depth and mask.
SEA_FRACTION = Variable("sea_area_fraction", "centre", "1", "sea_area_fraction", "fraction of the cell that is sea")
CLOSED_FLAGS = "as_in_the_relief closed"
CLOSED = Variable("closed", "centre", "1", "", "water of the relief that became land", flag_meanings=CLOSED_FLAGS)

#: Largest number of changes of each kind that are described.
MAX_NAMED_CHANGES = 8


@dataclass(frozen=True)
class GeneratedGrid:
    """A grid with its depth and coast.

    Attributes:
        grid: the section [grid] of the configuration.
        depth: depth, m [ny, nx]; 0 or negative on land that may flood.
        wet: whether each cell is water, [ny, nx].
        floodable: whether each cell is land that may flood, [ny, nx].
        sea_fraction: fraction of each cell that is sea in the relief, [ny, nx].
        became_land: whether each cell is water in the relief and became land, [ny, nx].
        changes: connected parts of `became_land`, straits that were opened, and crests that were kept.
        min_depth, n_deepened: the minimum depth of water, m, and how many water cells were deepened to it.
    """

    grid: GridOptions
    depth: np.ndarray
    wet: np.ndarray
    floodable: np.ndarray
    sea_fraction: np.ndarray
    became_land: np.ndarray
    changes: list[MaskChange]
    min_depth: float
    n_deepened: int

    def describe(self) -> Iterable[str]:
        """Lines of text about the size, depth, coast and changes of the grid."""
        x, y = axes(self.grid)
        digits = 6 if is_spherical(self.grid) else 10
        area = np.broadcast_to(metrics(self.grid, range(y.n_cells))["area"].centre, self.wet.shape)
        depth, sea_area = self.depth[self.wet], area[self.wet]
        yield (
            f"{x.n_cells} x {y.n_cells} cells of {x.spacing:.6g} by {y.spacing:.6g} {x.unit}, "
            f"{x.describe_extent(digits)}, {y.describe_extent(digits)}; "
            f"{100 * sea_area.sum() / area.sum():.0f} % is sea, {depth.min():.4g} to {depth.max():.4g} m deep, "
            f"{(depth * sea_area).sum() / sea_area.sum():.4g} m on average"
        )
        if self.min_depth and self.n_deepened:
            cells, are = ("cell", "is") if self.n_deepened == 1 else ("cells", "are")
            yield f"{self.n_deepened} {cells} shallower than {self.min_depth:g} m {are} now {self.min_depth:g} m deep"
        if self.floodable.any():
            n_floodable = self.floodable.sum()
            yield (
                f"{n_floodable} {'cell is' if n_floodable == 1 else 'cells are'} land that may flood, up to "
                f"{0.0 - self.depth[self.floodable].min():.4g} m high"
            )
        for kind in dict.fromkeys(change.kind for change in self.changes):
            changes_of_kind = [change for change in self.changes if change.kind == kind]
            n_more = len(changes_of_kind) - MAX_NAMED_CHANGES
            more = f" and {n_more} more" if n_more > 0 else ""
            positions = ", ".join(map(self.describe_change, changes_of_kind[:MAX_NAMED_CHANGES]))
            plural = "" if len(changes_of_kind) == 1 else "es" if kind.endswith("s") else "s"
            verb = {"strait": "opened", "crest": "kept"}.get(kind, "closed")
            coordinate_names = "longitude and latitude" if is_spherical(self.grid) else "x and y"
            yield f"{verb} {len(changes_of_kind)} {kind}{plural}, at {coordinate_names} {positions}{more}"

    def describe_change(self, change: MaskChange) -> str:
        point = points(self.grid, "centre", [change.row], [change.column])
        height = f", {-self.depth[change.row, change.column]:.3g} m high" if change.kind == "crest" else ""
        position = (
            f"{point.lon.item():.5g} {point.lat.item():.5g}"
            if is_spherical(self.grid)
            else f"{point.x.item():.10g} {point.y.item():.10g}"
        )
        return f"{position} ({change.n_cells} cell{'s' * (change.n_cells > 1)}{height})"


def check_overwritable(target, force: bool) -> None:
    """Raise UsageError or FilesError unless a grid file and its picture can be written or, with `force`, replaced."""
    import netCDF4

    target = Path(target)
    if target.is_dir():
        raise UsageError(f"{target} is a folder; give the name of a file in it, such as {target / 'grid.nc'}")
    picture = target.with_suffix(".png")
    if picture == target:
        raise UsageError(
            f"{target} is the name of a picture; give the grid another name, such as {target.with_suffix('.nc')}"
        )
    if not target.parent.is_dir():
        raise FilesError(f"{target} cannot be written: no such folder: {target.parent}")
    if target.exists():
        try:
            with netCDF4.Dataset(target) as data:
                is_foreign = not hasattr(data, GRID_ATTRIBUTE)
        except OSError as error:
            raise FilesError(f"{target} cannot be read: {error.strerror or error}") from None
        if is_foreign:
            raise FilesError(f"{target} was not written by `swmodel grid`; give another name, or remove it")
    existing = [str(file) for file in (target, picture) if file.exists()]
    if existing and not force:
        raise UsageError(f"{existing[0]} already exists; give --force to replace it, or another name")


def write_grid_file(target, generated_grid: GeneratedGrid, source: str, command_line: str) -> None:
    """Write the file of a grid; `source`: name and origin of the relief. FilesError: the file cannot be written."""
    import netCDF4

    grid, may_be_wet = generated_grid.grid, generated_grid.wet | generated_grid.floodable
    fields = [
        (VARIABLES["depth"], "f8", np.ma.masked_array(generated_grid.depth, ~may_be_wet)),
        (VARIABLES["mask"], "i1", may_be_wet),
        (SEA_FRACTION, "f4", generated_grid.sea_fraction),
        (CLOSED, "i1", generated_grid.became_land),
    ]
    if has_rotated_axes(grid):
        rows_and_columns = np.arange(grid.ny), np.arange(grid.nx)
        fields += [
            (GEOGRAPHIC_VARIABLES[name], "f8", geographic_coordinate(grid, name, *rows_and_columns))
            for name in ("lon", "lat")
        ]
    keys = {key: getattr(grid, key) for key in GRID_KEYS if getattr(grid, key) is not None}
    with atomic_write(target) as draft, netCDF4.Dataset(draft, "w") as data:
        data.setncatts(
            {
                "Conventions": "CF-1.12 SGRID-0.3",
                "title": "Depth and mask of a grid of swmodel",
                "source": source,
                "history": history_line(command_line),
                GRID_ATTRIBUTE: "".join(f"{key} = {toml_value(value)}\n" for key, value in keys.items()),
            }
        )
        define_grid(data, grid)
        for model_variable, datatype, values in fields:
            is_coordinate = model_variable.name in GEOGRAPHIC_VARIABLES
            empty_attributes = ("cell_measures", *(("coordinates", "grid_mapping") if is_coordinate else ()))
            attrs = field_attributes(model_variable, grid, **dict.fromkeys(empty_attributes, ""))
            attrs |= flag_attributes(model_variable, datatype)
            fill_value = FILL_VALUE if np.ma.isMaskedArray(values) else False
            define_variable(
                data, model_variable.name, DIMENSIONS["centre"], attrs, values, datatype, fill_value, **COMPRESSION
            )
