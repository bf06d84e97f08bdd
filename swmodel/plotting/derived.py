"""The fields of a file as pictures show them: read from it, or computed from its state by the model's own formulas.

The file holds the mask, and its configuration defines periodic axes and the slip along walls. Therefore computed values
are those that the model would have written, apart from rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import netCDF4
import numpy as np

from ..config.options.grid import GridOptions
from ..config.options.physics import PhysicsOptions
from ..ocean.derived import DERIVED, POTENTIALS
from ..ocean.state import State
from ..ocean.table import VARIABLES, variable_in_run
from ..setup.setup import cast_floats
from .analytic_solutions import ERROR_SUFFIX, analytic_field, analytic_fields
from .dataset import (
    PlotError,
    field_names,
    find_field,
    member_label,
    read_configuration,
    read_field,
    read_verified,
    record_times,
)
from .field_map import LOCATIONS, FieldMap, add_halo, make_map, open_boundary_sides, read_map, to_picture_components
from .ground import SEA_LEVEL_FIELDS, ground_and_dry_mask, read_wet_thickness

if TYPE_CHECKING:
    from ..ocean.grid import Grid
    from ..ocean.option import Section
    from ..ocean.patch import Patch

Options = TypeVar("Options", bound="Section")

#: The default picture shows the first two of these fields that exist and are not zero everywhere.
PREFERRED_FIELDS = ("zeta", "eta", "speed", "u", "v", "q", "h")
#: The fields of the grid, without which no field can be computed.
GRID_FIELDS = ("mask", "depth", "f")


def can_derive(data: netCDF4.Dataset) -> bool:
    """Whether a file has the grid and the configuration with which fields can be computed."""
    return set(GRID_FIELDS) <= set(field_names(data)) and {"grid", "physics"} <= set(read_configuration(data))


def available_fields(data: netCDF4.Dataset) -> set[str]:
    """The names of the fields in the file of a run, and of the thickness if it follows from sea level and depth."""
    names = set(field_names(data))
    return names | ({"h"} if "eta" in names else set())


def derivable_fields(data: netCDF4.Dataset) -> list[str]:
    """Names of the fields that the file lacks and that can be computed from those it holds."""
    if not can_derive(data):
        return []
    excluded = set(field_names(data))
    excluded |= set() if "reduced_gravity" in read_configuration(data)["physics"] else {"sea_level"}
    excluded |= set() if read_wet_thickness(data) else {"wet"}
    excluded |= set(POTENTIALS) if open_boundary_sides(data) or not np.all(read_verified(data, "mask")) else set()
    available = available_fields(data)
    return [
        name for name, variable in DERIVED.items() if name not in excluded and available.issuperset(variable.sources)
    ]


def check_field(data: netCDF4.Dataset, name: str) -> None:
    """Raise a PlotError if a field is not in the file and cannot be computed."""
    if name.endswith(ERROR_SUFFIX):
        return check_field(data, name.removesuffix(ERROR_SUFFIX))
    derived_names = derivable_fields(data)
    if name in field_names(data) or name in derived_names:
        return
    if name not in DERIVED:
        find_field(data, name, derived_names)
    restriction = " in a sea without land or open boundaries" if name in POTENTIALS else ""
    sources = ", ".join(DERIVED[name].sources)
    raise PlotError(f'no field "{name}" in {data.filepath()}; it can be computed from {sources} of a run{restriction}')


def has_records(data: netCDF4.Dataset, name: str) -> bool:
    """Whether a field, read or computed, depends on time; raises a PlotError if there is no such field."""
    check_field(data, name)
    return name not in field_names(data) or "time" in data[name].dimensions


def field_members(data: netCDF4.Dataset, name: str) -> list[int | None]:
    """The numbers of the members that have a field; [None] if the field does not differ between members."""
    has_members = name not in field_names(data) or "member" in data[name].dimensions
    return data["member"][:].tolist() if has_members and "member" in data.variables else [None]


def choose_fields(data: netCDF4.Dataset, fields: str | Sequence[str] | None) -> list[str]:
    """The names in `fields`; for None, the first two of PREFERRED_FIELDS that are not zero in the last record.

    If all are zero, or there is no record, they are the first two that exist; if none exists, the first field of the
    file. PlotError: the file holds no field.
    """
    if fields is not None:
        return [fields] if isinstance(fields, str) else list(fields)
    names = field_names(data)
    if not names:
        raise PlotError(f"{data.filepath()} holds no field on a grid with dimensions y and x")
    names = [*names, *derivable_fields(data)]
    preferred = [name for name in PREFERRED_FIELDS if name in names] or names[:1]
    if record_times(data).size == 0:
        return preferred[:2]
    return [name for name in preferred if np.ma.any(read_or_derive(data, name).values)][:2] or preferred[:2]


def read_displayed_field(data: netCDF4.Dataset, name: str, record: int, member: int | None = None) -> FieldMap:
    """One record of a field, with the dry ground and, if it is drawn as a line, with the analytic solution.

    Relative vorticity is divided by f, unless f is near zero somewhere.
    """
    check_field(data, name)
    location, _ = find_location(data, name)
    ground, dry_mask = ground_and_dry_mask(data, name, location, record, member)
    field = replace(read_or_derive(data, name, record, member, dry_mask), ground=ground)
    if field.is_drawn_as_line and can_derive(data) and name in analytic_fields(data, location, record):
        analytic_values = analytic_map(data, name, record).values
        if ground and name in SEA_LEVEL_FIELDS:  # mask places where the analytic sea level is at the ground
            analytic_values = np.ma.masked_where(
                analytic_values <= np.ma.getdata(ground.values) + read_wet_thickness(data), analytic_values
            )
        field = replace(field, analytic=analytic_values)
    if name.removesuffix("_mean") != "zeta" or "f" not in field_names(data):
        return field
    f = read_map(data, "f", record).values
    smallest, largest = np.sort(np.abs([f.min(), f.max()]))
    if f.min() * f.max() <= 0 or smallest < 0.05 * largest:
        return field
    return replace(field, values=field.values / f, long_name=rf"{field.long_name} $\zeta/f$", units="1")


def read_or_derive(
    data: netCDF4.Dataset, name: str, record: int = -1, member: int | None = None, dry_mask=None
) -> FieldMap:
    """One record of a field, computed if the file lacks it, masked at `dry_mask`: see `field_map.read_map`."""
    check_field(data, name)
    if name in field_names(data):
        return read_map(data, name, record, member, dry_mask=dry_mask)
    if name.endswith(ERROR_SUFFIX):
        field = read_or_derive(data, base_name := name.removesuffix(ERROR_SUFFIX), record, member, dry_mask)
        error = field.values - analytic_map(data, base_name, record).values
        return replace(field, name=name, long_name=f"error of {field.long_name}", values=error)
    from ..ocean.elliptic import make_poisson_solver
    from ..ocean.evaluation import evaluate_fields
    from ..ocean.patch import Patch
    from ..parallel.transport import connect

    config = read_configuration(data)
    physics, grid = make_options(PhysicsOptions, config["physics"]), read_grid_options(config)
    blocks = [(*read_state_and_grid(data, record, member), (grid.ny, grid.nx))]
    invert_elliptic = make_poisson_solver(grid, blocks, connect("serial", (1, 1), grid.ny, grid.nx))
    with np.errstate(divide="ignore", invalid="ignore"):  # divisions by zero occur where there is no water
        (derived_fields,) = evaluate_fields([name], blocks, physics, invert_elliptic, read_wet_thickness(data))
    patch = Patch(derived_fields[name], (0, 0))
    return make_map_of_patch(data, patch, variable_in_run(name, physics), member, dry_mask)


def find_location(data: netCDF4.Dataset, name: str) -> tuple[str, tuple]:
    """The location of a field (a key of LOCATIONS), and its SGRID name and dimensions."""
    if name in field_names(data):
        sgrid_name = getattr(data[name], "location", "face")
        location = next(key for key, sgrid_location in LOCATIONS.items() if sgrid_location[0] == sgrid_name)
    else:
        physics = make_options(PhysicsOptions, read_configuration(data)["physics"])
        location = variable_in_run(name.removesuffix(ERROR_SUFFIX), physics).location
    return location, LOCATIONS[location]


def analytic_map(data: netCDF4.Dataset, name: str, record: int) -> FieldMap:
    """The analytic solution of a field (`analytic_solutions.analytic_field`); long name and units are placeholders."""
    location, sgrid_location = find_location(data, name)
    return make_map(data, name, name, "1", analytic_field(data, name, location, record), *sgrid_location)


def read_grid_options(config: dict) -> GridOptions:
    """The grid of a configuration {section: {key: value}}."""
    return make_options(GridOptions, config["grid"]).with_cell_sizes()


def make_options(options_class: type[Options], section: dict) -> Options:
    """The options of a section of the configuration, leaving out tracers and keys that this version does not know."""
    values = {name: tuple(value) if isinstance(value, list) else value for name, value in section.items()}
    return options_class(
        **{name: values[name] for name in options_class.model_fields if name in values and name != "tracers"}
    )


def read_current(data: netCDF4.Dataset, record: int = -1, member: int | None = None) -> tuple[FieldMap, FieldMap]:
    """The current at cell centres along the axes of pictures, m s-1: means of u and v over opposite faces of a cell."""
    from ..ocean.operators import mx_c, my_c

    check_field(data, "speed")
    state, grid = read_state_and_grid(data, record, member)
    centre_means = mx_c(grid.open_u * state.u), my_c(grid.open_v * state.v)
    u, v = (make_map_of_patch(data, mean, VARIABLES["speed"], member) for mean in centre_means)
    return to_picture_components(data, u, v)


def make_map_of_patch(data: netCDF4.Dataset, patch, variable, member: int | None, dry_mask=None) -> FieldMap:
    """The FieldMap of a Patch, with the name and units of a `Variable`; masked on land and at `dry_mask`."""
    from ..ocean.masks import fractions_around

    shape, long_name = data["mask"].shape, variable.long_name + member_label(data, member)
    is_masked = fractions_around(read_water_masks(data)[0])[variable.location].block_values(shape) == 0
    is_masked = is_masked if dry_mask is None else is_masked | dry_mask
    values = np.ma.masked_where(is_masked, np.ma.masked_invalid(np.broadcast_to(patch.block_values(shape), shape)))
    return make_map(data, variable.name, long_name, variable.units, values, *LOCATIONS[variable.location])


def read_state_and_grid(data: netCDF4.Dataset, record: int, member: int | None) -> tuple[State, Grid]:
    """The State, with a halo of one cell, and the Grid, as Patches; fields that the file lacks are zero."""
    from ..ocean.coordinates import metrics
    from ..ocean.grid import Grid, as_patches
    from ..ocean.masks import grid_masks
    from ..ocean.patch import Patch

    names, config = field_names(data), read_configuration(data)
    dtype = next(data[name].dtype for name in ("u", "h", "eta", "v") if name in names)

    def read_or_zero(name):
        return np.ma.filled(read_field(data, name, record, member), 0).astype(dtype) if name in names else 0 * depth

    depth = np.ma.filled(read_verified(data, "depth"), 0).astype(dtype)
    h = read_or_zero("eta") + depth if "h" not in names and "eta" in names else read_or_zero("h")
    wet_mask, boundary_x, boundary_y = read_water_masks(data)
    masks = grid_masks(wet_mask, config["physics"]["slip"], (boundary_x, boundary_y))
    masks = {name: mask.astype(dtype) for name, mask in masks.items()}
    masks |= {f"open_{face}": masks[f"open_{face}"] + masks[f"open_boundary_{face}"] for face in "uv"}
    grid_fields: dict[str, Any] = {name: Patch(values, (-1, -1)) for name, values in masks.items()}
    grid_fields |= {"f": Patch(read_or_zero("f"), (0, 0)), "depth": Patch(depth, (0, 0))}
    cell_sizes = cast_floats(metrics(read_grid_options(config), range(-1, len(depth) + 1)), dtype)
    grid = Grid(**grid_fields, **{name: as_patches(places, 1) for name, places in cell_sizes.items()})
    fields = (Patch(add_halo(data, values, 1), (-1, -1)) for values in (h, read_or_zero("u"), read_or_zero("v")))
    return State(*fields), grid


def read_water_masks(data: netCDF4.Dataset) -> tuple[Patch, Patch, Patch]:
    """Three masks of water: inside, at western and eastern, and at southern and northern open boundaries.

    They are 1 on that water and 0 elsewhere, also beyond walls. They are Patches with one more cell in the north and
    east than the state.
    """
    from ..ocean.patch import Patch

    mask, boundaries = (np.ma.filled(read_verified(data, "mask"), 0) != 0).astype(float), open_boundary_sides(data)
    in_boundary_rows, in_boundary_columns = np.zeros_like(mask), np.zeros_like(mask)
    in_boundary_columns[:, [number for side, number in (("west", 0), ("east", -1)) if side in boundaries]] = 1
    in_boundary_rows[[number for side, number in (("south", 0), ("north", -1)) if side in boundaries]] = 1
    inside = 1 - np.maximum(in_boundary_rows, in_boundary_columns)

    def water_in(region: np.ndarray) -> Patch:
        return Patch(add_halo(data, mask * region, 2), (-1, -1))

    return water_in(inside), water_in(in_boundary_columns), water_in(in_boundary_rows)
