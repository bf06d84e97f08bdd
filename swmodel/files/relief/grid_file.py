"""The file of a grid: depth and mask with coordinates, and the keys of [grid]."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...config.loading.toml import value
from ...config.options.grid import Grid
from ...errors import FilesError, UsageError
from ...ocean.coordinates import axes, metrics, points, turned
from ...ocean.table import VARIABLES
from ...ocean.variable import Variable
from ...setup.fields.netcdf_input.made_files import ATTRIBUTE
from ..draft import replacing
from ..output.metadata import DIMENSIONS, FILL, PACKED, attributes, define_grid, define_variable, history_line
from ..output.static import TURNED, place
from .coast import Changed

#: Keys of [grid] in a file.
KEYS = ("kind", "nx", "ny", "west", "south", "dlon", "dlat", "pole", "periodic_x", "periodic_y")

#: Variables of a file besides depth and mask.
SHARE = Variable("sea_area_fraction", "centre", "1", "sea_area_fraction", "share of the cell that is sea")
CLOSED = Variable("closed", "centre", "1", "", "water of the relief that became land")

#: Most changes of each kind in the terminal output.
NAMED = 8


@dataclass(frozen=True)
class GeneratedGrid:
    """A grid with its depth and coast.

    Attributes:
        grid: section of the configuration.
        depth: m [ny, nx].
        wet: whether cells are water, [ny, nx].
        low: whether they are land that may flood, with a depth that is not positive, [ny, nx].
        share: of sea by the relief, [ny, nx].
        lost: water by the relief that became land, [ny, nx].
        changes: parts of it, straits that were opened, and crests that were kept.
        min_depth, deepened: the least depth, m, and how many cells of water were shallower.
    """

    grid: Grid
    depth: np.ndarray
    wet: np.ndarray
    low: np.ndarray
    share: np.ndarray
    lost: np.ndarray
    changes: list[Changed]
    min_depth: float
    deepened: int

    def words(self) -> Iterable[str]:
        """Lines about the grid and its changes, for the terminal."""
        x, y = axes(self.grid)
        area = np.broadcast_to(metrics(self.grid, range(y.cells))["area"].centre, self.wet.shape)
        depth, sea = self.depth[self.wet], area[self.wet]
        yield (
            f"{x.cells} x {y.cells} cells of {x.spacing:.6g} by {y.spacing:.6g} degrees, {x.span(6)}, {y.span(6)}; "
            f"{100 * sea.sum() / area.sum():.0f} % is sea, {depth.min():.4g} to {depth.max():.4g} m deep, "
            f"{(depth * sea).sum() / sea.sum():.4g} m on average"
        )
        if self.min_depth:
            yield f"{self.deepened} cells shallower than {self.min_depth:g} m are now {self.min_depth:g} m deep"
        if self.low.any():
            yield f"{self.low.sum()} cells are land that may flood, up to {-self.depth[self.low].min():.4g} m high"
        for what in dict.fromkeys(one.what for one in self.changes):
            some = [one for one in self.changes if one.what == what]
            more = f" and {len(some) - NAMED} more" if len(some) > NAMED else ""
            named = ", ".join(map(self.place, some[:NAMED]))
            many = "" if len(some) == 1 else "es" if what.endswith("s") else "s"
            done = {"strait": "opened", "crest": "kept"}.get(what, "closed")
            yield f"{done} {len(some)} {what}{many}, at longitude and latitude {named}{more}"

    def place(self, one: Changed) -> str:
        """Place and size of a part, in words."""
        at = points(self.grid, "centre", [one.row], [one.column])
        height = f", {-self.depth[one.row, one.column]:.3g} m high" if one.what == "crest" else ""
        return f"{at.lon.item():.5g} {at.lat.item():.5g} ({one.cells} cell{'s' * (one.cells > 1)}{height})"


def check_vacant(target, force: bool) -> None:
    """Raise an error unless the file of a grid and its picture can be written, or with `force` replaced."""
    import netCDF4

    target = Path(target)
    picture = target.with_suffix(".png")
    if picture == target:
        raise UsageError(f"{target} is the name of a picture; give the grid another, as {target.with_suffix('.nc')}")
    if not target.parent.is_dir():
        raise FilesError(f"{target} cannot be written: no such folder: {target.parent}")
    if target.is_dir():
        raise UsageError(f"{target} is a folder; give the name of a file in it, as {target / 'grid.nc'}")
    if target.exists():
        try:
            with netCDF4.Dataset(target) as data:
                foreign = not hasattr(data, ATTRIBUTE)
        except OSError as error:
            raise FilesError(f"{target} cannot be read: {error.strerror or error}") from None
        if foreign:
            raise FilesError(f"{target} is no file of `swmodel grid`; give another name, or remove it")
    there = [str(file) for file in (target, picture) if file.exists()]
    if there and not force:
        raise UsageError(f"{there[0]} already exists; give --force to replace it, or another name")


def write(target, made: GeneratedGrid, source: str, command_line: str) -> None:
    """Write the file of a grid; `source`: that of the relief. FilesError: it cannot be written."""
    import netCDF4

    grid = made.grid
    fields = [
        (VARIABLES["depth"], "f8", np.ma.masked_array(made.depth, ~(made.wet | made.low)), ""),
        (VARIABLES["mask"], "i1", made.wet | made.low, VARIABLES["mask"].flags),
        (SHARE, "f4", made.share, ""),
        (CLOSED, "i1", made.lost, "as_in_the_relief closed"),
    ]
    if turned(grid):
        places = np.arange(grid.ny), np.arange(grid.nx)
        fields += [(TURNED[name], "f8", place(grid, name, *places), "") for name in ("lon", "lat")]
    keys = {key: getattr(grid, key) for key in KEYS if getattr(grid, key) is not None}
    with replacing(target) as path, netCDF4.Dataset(path, "w") as data:
        data.setncatts(
            {
                "Conventions": "CF-1.12 SGRID-0.3",
                "title": "Depth and mask of a grid of swmodel",
                "source": source,
                "history": history_line(command_line),
                ATTRIBUTE: "".join(f"{key} = {value(each)}\n" for key, each in keys.items()),
            }
        )
        define_grid(data, grid)
        for row, kind, values, flags in fields:
            bare = dict.fromkeys(("coordinates", "grid_mapping"), "") if row.name in TURNED else {}
            about: dict = attributes(row, grid, row.name, cell_measures="", **bare)
            about |= {"flag_values": np.array([0, 1], "i1"), "flag_meanings": flags} if flags else {}
            fill = FILL if np.ma.isMaskedArray(values) else False
            define_variable(data, row.name, DIMENSIONS["centre"], about, values, kind, fill, **PACKED)
