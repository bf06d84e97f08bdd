"""The fields of a file as pictures show them: read from it, or computed from its state by the model's own formulas.

Halos, walls and coasts are those of the run: the file holds the mask, and its configuration defines rings and the slip
along walls. Apart from rounding, computed values are those that the model would have written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import netCDF4
import numpy as np

from ..config.options.grid import Grid as GridOptions
from ..config.options.physics import Physics
from ..ocean.derived import DERIVED, POTENTIALS
from ..ocean.state import State
from ..ocean.table import VARIABLES, entry_of
from ..setup.setup import in_precision
from .dataset import PlotError, configuration, field_names, find_field, number_of, seconds, stored, values_of
from .ground import LEVELS, film_of, ground_of
from .known import ERROR, answer, answers
from .record import Map, eastward, map_of, open_sides, read_map, surround

#: Fields of the default picture: the first two of these that exist and are not zero everywhere.
PREFERRED = ("zeta", "eta", "speed", "u", "v", "q", "h")
#: The fields that a file has of the grid itself, without which none can be computed.
GRID = ("mask", "depth", "f")
#: SGRID's names of the locations, and the dimensions of fields there.
LOCATIONS = {"centre": ("face", ("y_c", "x_c")), "u": ("edge1", ("y_c", "x_f"))}
LOCATIONS |= {"v": ("edge2", ("y_f", "x_c")), "corner": ("node", ("y_f", "x_f"))}


def is_run(data: netCDF4.Dataset) -> bool:
    """Whether a file has the grid and the configuration with which fields can be computed."""
    return set(GRID) <= set(field_names(data)) and {"grid", "physics"} <= set(configuration(data))


def held_in(data: netCDF4.Dataset) -> set[str]:
    """The fields that a file of a run has, and the thickness if it follows from sea level and depth."""
    names = set(field_names(data))
    return names | ({"h"} if "eta" in names else set())


def derivable(data: netCDF4.Dataset) -> list[str]:
    """Names of the fields that the file lacks and that can be computed from those it holds."""
    if not is_run(data):
        return []
    excluded = set(field_names(data))
    excluded |= set() if "reduced_gravity" in configuration(data)["physics"] else {"sea_level"}
    excluded |= set() if film_of(data) else {"wet"}
    excluded |= set(POTENTIALS) if open_sides(data) or not np.all(values_of(data, "mask")) else set()
    held = held_in(data)
    return [name for name, row in DERIVED.items() if name not in excluded and held.issuperset(row.sources)]


def require(data: netCDF4.Dataset, name: str) -> None:
    """Make sure that there is a field."""
    if name.endswith(ERROR):
        return require(data, name.removesuffix(ERROR))
    computed = derivable(data)
    if name in field_names(data) or name in computed:
        return
    if name not in DERIVED:
        find_field(data, name, computed)
    where = " in a sea without land or open sides" if name in POTENTIALS else ""
    sources = ", ".join(DERIVED[name].sources)
    raise PlotError(f'no field "{name}" in {data.filepath()}; it is computed from {sources} of a run{where}')


def changes(data: netCDF4.Dataset, name: str) -> bool:
    """Whether a field has records."""
    require(data, name)
    return name not in field_names(data) or data[name].ndim > 2


def members_of(data: netCDF4.Dataset, name: str) -> list[int | None]:
    """The members that have a field of their own; [None] if there is only one field."""
    inside = name not in field_names(data) or "member" in data[name].dimensions
    return data["member"][:].tolist() if inside and "member" in data.variables else [None]


def chosen(data: netCDF4.Dataset, fields: str | Sequence[str] | None) -> list[str]:
    """The fields asked for, or the default ones."""
    if fields is not None:
        return [fields] if isinstance(fields, str) else list(fields)
    names = field_names(data)
    if not names:
        raise PlotError(f"{data.filepath()} holds no field on a grid with dimensions y and x")
    names = [*names, *derivable(data)]
    found = [name for name in PREFERRED if name in names] or names[:1]
    if seconds(data).size == 0:
        return found[:2]
    return [name for name in found if np.ma.any(read(data, name).values)][:2] or found[:2]


def shown(data: netCDF4.Dataset, name: str, record: int, member: int | None = None) -> Map:
    """One record of a field with the dry ground; relative vorticity over f, unless that is near zero."""
    require(data, name)
    ground, dry = ground_of(data, name, place_of(data, name)[0], record, member)
    field = replace(read(data, name, record, member, dry), ground=ground)
    if field.slim and is_run(data) and name in answers(data, place_of(data, name)[0], record):
        level = known(data, name, record).values
        if ground and name in LEVELS:  # there is no water where the level is that of the ground
            level = np.ma.masked_where(level <= np.ma.getdata(ground.values) + film_of(data), level)
        field = replace(field, known=level)
    if name.removesuffix("_mean") != "zeta" or "f" not in field_names(data):
        return field
    f = read_map(data, "f", record).values
    smallest, largest = np.sort(np.abs([f.min(), f.max()]))
    if f.min() * f.max() <= 0 or smallest < 0.05 * largest:
        return field
    return replace(field, values=field.values / f, long_name=rf"{field.long_name} $\zeta/f$", units="1")


def read(data: netCDF4.Dataset, name: str, record: int = -1, member: int | None = None, dry=None) -> Map:
    """One record of a field, computed if the file lacks it, without values at `dry` points; see `record.read_map`."""
    require(data, name)
    if name in field_names(data):
        return read_map(data, name, record, member, dry=dry)
    if name.endswith(ERROR):
        field = read(data, base := name.removesuffix(ERROR), record, member, dry)
        error = field.values - known(data, base, record).values
        return replace(field, name=name, long_name=f"error of {field.long_name}", values=error)
    from ..ocean.elliptic import inverse
    from ..ocean.evaluation import derive
    from ..ocean.patch import Patch
    from ..parallel.transport import connect

    config = configuration(data)
    physics, grid = known_options(Physics, config["physics"]), grid_of(config)
    blocks = [(*padded(data, record, member), (grid.ny, grid.nx))]
    invert = inverse(grid, blocks, connect("serial", (1, 1), grid.ny, grid.nx))
    thickness = config.get("scheme", {}).get("face_thickness", "centred")
    with np.errstate(divide="ignore", invalid="ignore"):  # where there is no water
        (made,) = derive([name], blocks, physics, thickness, invert, film_of(data))
    return mapped(data, Patch(made[name], (0, 0)), entry_of(name, physics), member, dry)


def place_of(data: netCDF4.Dataset, name: str) -> tuple[str, tuple]:
    """The location of a field, a key of LOCATIONS, and what that is in SGRID with its dimensions."""
    if name in field_names(data):
        here = getattr(data[name], "location", "face")
        return next((key, place) for key, place in LOCATIONS.items() if place[0] == here)
    here = entry_of(name, known_options(Physics, configuration(data)["physics"])).location
    return here, LOCATIONS[here]


def known(data: netCDF4.Dataset, name: str, record: int) -> Map:
    """The known answer of a field: see `known.answer`."""
    location, place = place_of(data, name)
    return map_of(data, name, name, "1", answer(data, name, location, record), *place)


def grid_of(config: dict) -> GridOptions:
    """The grid of a configuration {section: {key: value}}."""
    return known_options(GridOptions, config["grid"]).sized()


def known_options(options: type, given: dict):
    """A section of the configuration, without keys of a later version and without tracers."""
    values = {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}
    return options(**{name: values[name] for name in options.model_fields if name in values and name != "tracers"})


def current(data: netCDF4.Dataset, record: int = -1, member: int | None = None) -> tuple[Map, Map]:
    """The current in x and y of pictures at centres, m s-1: the means of u and v on both sides of each cell."""
    from ..ocean.operators import mx_c, my_c

    require(data, "speed")
    state, grid = padded(data, record, member)
    means = mx_c(grid.open_u * state.u), my_c(grid.open_v * state.v)
    return eastward(data, *(mapped(data, mean, VARIABLES["speed"], member) for mean in means))


def mapped(data: netCDF4.Dataset, patch, entry, member: int | None, dry=None) -> Map:
    """The Map of a Patch over the grid with name and units of a `variable.Variable`; masked on land and where `dry`."""
    from ..ocean.masks import water_around

    shape = data["mask"].shape
    land = water_around(water_of(data)[0])[entry.location].on(shape) == 0
    land = land if dry is None else land | dry
    values = np.ma.masked_where(land, np.ma.masked_invalid(np.broadcast_to(patch.on(shape), shape)))
    place = LOCATIONS[entry.location]
    return map_of(data, entry.name, entry.long_name + number_of(data, member), entry.units, values, *place)


def padded(data: netCDF4.Dataset, record: int, member: int | None) -> tuple[State, object]:
    """The state with a row of neighbours around it, and the Grid, in Patches; fields that the file lacks are zero."""
    from ..ocean.coordinates import metrics
    from ..ocean.grid import Grid, as_patches
    from ..ocean.masks import masks
    from ..ocean.patch import Patch

    names, config = field_names(data), configuration(data)
    kind = next(data[name].dtype for name in ("u", "h", "eta", "v") if name in names)

    def field(name):
        return np.ma.filled(stored(data, name, record, member), 0).astype(kind) if name in names else 0 * depth

    depth = np.ma.filled(values_of(data, "depth"), 0).astype(kind)
    h = field("eta") + depth if "h" not in names and "eta" in names else field("h")
    wet, *outside = water_of(data)
    static = {name: mask.astype(kind) for name, mask in masks(wet, config["physics"]["slip"], outside).items()}
    static |= {f"open_{face}": static[f"open_{face}"] + static[f"side_{face}"] for face in "uv"}
    static = {name: Patch(values, (-1, -1)) for name, values in static.items()}
    static |= {"f": Patch(field("f"), (0, 0)), "depth": Patch(depth, (0, 0))}
    lengths = in_precision(metrics(grid_of(config), range(-1, len(depth) + 1)), kind)
    grid = Grid(**static, **{name: as_patches(places, 1) for name, places in lengths.items()})
    return State(*(Patch(surround(data, values, 1), (-1, -1)) for values in (h, field("u"), field("v")))), grid


def water_of(data: netCDF4.Dataset) -> list:
    """Three masks: water inside, open water in the west and east, and open water in the south and north.

    Each is 1 on its water and 0 elsewhere, also beyond walls. The masks are Patches that have one more cell than the
    state in the north and east.
    """
    from ..ocean.patch import Patch

    mask, sides = (np.ma.filled(values_of(data, "mask"), 0) != 0).astype(float), open_sides(data)
    rows, columns = np.zeros_like(mask), np.zeros_like(mask)
    columns[:, [number for side, number in (("west", 0), ("east", -1)) if side in sides]] = 1
    rows[[number for side, number in (("south", 0), ("north", -1)) if side in sides]] = 1
    parts = mask * (1 - np.maximum(rows, columns)), mask * columns, mask * rows
    return [Patch(surround(data, part, 2), (-1, -1)) for part in parts]
