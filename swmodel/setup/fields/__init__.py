"""The fields of a run, from the case's formulas or from NetCDF files, for any rows and columns of the grid.

Everything is evaluated where it is asked for, so that a rank builds its own block and nothing larger.
"""

from __future__ import annotations

import numpy as np

from ...ocean.coordinates import on_sphere, points, turn_from, turned
from ...ocean.table import PAIRS, VARIABLES, entry_of, location_of
from ...ocean.terms.open_sides import FLOWS, NAMES, parts_of
from .formula import values_of_case
from .netcdf_input import InputError, distances, pole_in, read_field
from .own import source_in
from .series import varies

#: Components of vectors: eastward and northward, or along the axes of a grid that is turned against these.
VECTORS = {
    name: pair
    for pair in (
        *PAIRS.values(),
        ("u10", "v10"),
        ("outside_transport_x", "outside_transport_y"),
        ("outside_current_x", "outside_current_y"),
        *(pair for name in NAMES for pair in zip(*(parts_of(name, of) for of in FLOWS), strict=True)),
    )
    for name in pair
}

#: Air pressures on the Earth, hPa.
HECTOPASCALS = 870.0, 1085.0

#: Step (rows, columns) to the cell across the face, of fields on faces.
ACROSS = {"u": (0, 1), "v": (1, 0)}


def given(config, name: str) -> bool:
    """Whether a field is more than a constant: handed over, or defined by a file or by the case.

    On a grid that is turned, both components of a vector are given where one is.
    """
    names = VECTORS[name] if name in VECTORS and turned(config.grid) else (name,)
    return any(has_source(config, each) for each in names)


def has_source(config, name: str) -> bool:
    """Whether a field of this name was handed over, or a file or the case defines it."""
    return is_handed(config, name) or hasattr(config.case, name)


def is_handed(config, name: str) -> bool:
    """Whether a field was handed over, or lies in a file: before one of the case it counts."""
    return name in config.own.names or bool(getattr(config.input, name, None))


def evaluate(config, name: str, rows, columns) -> np.ndarray:
    """Values of a field in the given row and column numbers, wrapped round the rings; float64, SI units.

    A value missing from a file on land becomes `physics.depth` for the depth and zero for all others, and so does the
    height of land in a file of depths; on water both stay, which the check of the configuration reports. Without a
    mask, cells where the file of depths has no value are land. One that varies in time is zero here, as
    its values come from records (`varying`).

    Args:
        name: one of `ocean.table.GIVEN`.
        rows, columns: integer sequences; numbers beyond the grid continue on its other side.

    Returns:
        Array that broadcasts to [rows, columns].

    Raises:
        InputError: a file lacks the variable, or has another shape, other coordinates or units; a mask is not 0 or 1.
    """
    rows, columns = np.asarray(rows), np.asarray(columns)
    if varies(config, name):
        return np.zeros((1, 1))
    values = from_source(config, name, rows, columns)
    if name == "mask":
        check_mask(config, values, rows, columns)
    if name == "air_pressure":
        check_pressure(values, f"air_pressure: {getattr(config.input, name) or 'of the case, or handed over'}")
    return values


def from_source(config, name: str, rows, columns) -> np.ndarray:
    """Values of a field as it was handed over, of its file, the case's formula or a constant; see `evaluate`."""
    values = unfilled(config, name, rows, columns)
    if values is not None:
        if name.startswith("outside_") and (lacking := beside_land_of_file(config, name, values, rows, columns)).any():
            values = unfilled(config, name, rows, columns, lacking)
        whole = name == "mask" and not is_handed(config, name)
        return values if whole else fill_land(config, name, values, rows, columns)
    if name == "mask" and tabulated(config, "depth"):
        return np.isfinite(as_given(config, "depth", rows, columns)).astype(np.float64)
    return np.full((1, 1), constant(config, name))


def unfilled(config, name: str, rows, columns, fill=None) -> np.ndarray | None:
    """Values as they were handed over, of the file or the case's formula, NaN for none; None: nothing gives them.

    Args:
        fill: [rows, columns], where a value that a file lacks is the nearest one in it.
    """
    if name in VECTORS and on_sphere(config.grid) and given(config, name):
        return along_axes(config, name, rows, columns, fill)
    if is_handed(config, name):
        return as_given(config, name, rows, columns, fill)
    if not hasattr(config.case, name):
        return None
    at = points(config.grid, location_of(name), rows % config.grid.ny, columns % config.grid.nx)
    return values_of_case(config, name, at)


def along_axes(config, name: str, rows, columns, fill=None) -> np.ndarray:
    """A component, along the axes of the grid, of a vector whose components are both given.

    Functions and files on true longitudes and latitudes have eastward and northward components; tables those along the
    axes of the grid; files about a pole those along the axes about that.

    Raises:
        InputError: the components lie about two poles, or one of two that have to be turned is missing.
    """
    pair, location = VECTORS[name], location_of(name)
    there = [each for each in pair if has_source(config, each)]
    poles = {pole_of(config, each) for each in there}
    if poles == {config.grid.pole}:
        return component(config, name, location, rows, columns, fill) if name in there else np.zeros((1, 1))
    if len(poles) > 1 or (None not in poles and len(there) == 1):
        raise InputError(
            f"{pair[0]} and {pair[1]}: are turned to the axes of the grid, whose pole is another one; give both in one "
            "way: eastward and northward, or along the axes of one grid"
        )
    cosine, sine = turn_from(config.grid, *poles, location, rows % config.grid.ny, columns % config.grid.nx)
    first, second = (
        component(config, each, location, rows, columns, fill) if each in there else np.zeros((1, 1)) for each in pair
    )
    return cosine * first + sine * second if name == pair[0] else cosine * second - sine * first


def pole_of(config, name: str) -> tuple[float, float] | None:
    """The pole about which the axes lie along which a component is given; None: that of the Earth."""
    if source := source_in(config, name):
        return config.grid.pole if source.stored else None
    text = getattr(config.input, name, None)
    return pole_in(text, entry_of(name, config.physics), config.grid) if text else None


def component(config, name: str, location: str, rows, columns, fill=None) -> np.ndarray:
    """A component of a vector as it was given, at points of any location; NaN for none."""
    rows, columns = rows % config.grid.ny, columns % config.grid.nx
    if source := source_in(config, name):
        return source.read(config, name, rows, columns, location)
    if text := getattr(config.input, name, None):
        entry = entry_of(name, config.physics)._replace(location=location)
        return read_field(text, entry, config.grid, rows, columns, fill)
    return values_of_case(config, name, points(config.grid, location, rows, columns))


def constant(config, name: str) -> float:
    """What a field is where neither a file nor the case gives it: the number of its key, water, or zero."""
    if name == "mask":
        return 1.0
    if name in (tracers := {each.name: each.initial for each in config.physics.tracers}):
        return tracers[name]
    section, _, key = VARIABLES[name].key.partition(".")
    return getattr(getattr(config, section), key) if key else 0.0


def check_mask(config, values: np.ndarray, rows, columns) -> None:
    """Raise InputError unless each value of the mask is 0 or 1; in a file, missing ones are 0 by now."""
    wrong = (values != 0) & (values != 1)
    if not wrong.any():
        return
    row, column = np.argwhere(np.broadcast_to(wrong, (len(rows), len(columns))))[0]
    value = np.broadcast_to(values, (len(rows), len(columns)))[row, column]
    half = 50 if 1 < np.nanmax(values) <= 100 else 0.5
    of = f"input.mask: {config.input.mask}" if config.input.mask else f"the mask of the case {config.case.name}"
    of = "fields: mask" if "mask" in config.own.names else of
    raise InputError(
        f"{of}: must be 0 (land) or 1 (water), but is {value:g} at row {rows[row] % config.grid.ny}, "
        f"column {columns[column] % config.grid.nx}; if it is a share of water, write 1 where it is above {half:g}"
    )


def check_pressure(values: np.ndarray, what: str) -> None:
    """Raise InputError where a pressure in Pa is, all over, what that of the atmosphere is in hPa."""
    if values.size and values.min() >= HECTOPASCALS[0] and values.max() <= HECTOPASCALS[1]:
        raise InputError(
            f"{what}: is {values.min():g} to {values.max():g} Pa, as pressures in hPa are: give it those units, or "
            "multiply it by 100"
        )


def tabulated(config, name: str) -> bool:
    """Whether a field is a table of values, from a file or handed over: where it has none is land."""
    if source := source_in(config, name):
        return source.stored
    return bool(getattr(config.input, name))


def as_given(config, name: str, rows, columns, fill=None) -> np.ndarray:
    """Values of a field that was handed over or lies in a file, which broadcast to [rows, columns]; NaN for none."""
    grid = config.grid
    rows, columns = rows % grid.ny, columns % grid.nx
    if source := source_in(config, name):
        return source.read(config, name, rows, columns)
    return read_field(getattr(config.input, name), entry_of(name, config.physics), grid, rows, columns, fill)


def fill_land(config, name: str, values: np.ndarray, rows, columns) -> np.ndarray:
    """The values with NaN replaced on land and on faces closed by it, and so depths there that are not positive."""
    missing = ~(values > 0) if name == "depth" else np.isnan(values)
    if not missing.any():
        return values
    if name == "mask":
        return np.where(missing, 0.0, values)
    if name.startswith("outside_"):
        needed = around_open_faces(config, location_of(name), rows, columns)
    elif name in ACROSS:
        north, east = ACROSS[name]
        needed = wet(config, rows, columns) * wet(config, rows + north, columns + east)
    else:
        needed = evaluate(config, "mask", rows, columns)
    return np.where(missing & (needed == 0), config.physics.depth if name == "depth" else 0.0, values)


def beside_land_of_file(config, name: str, values, rows, columns) -> np.ndarray:
    """Where outside water has to be known and a file on a sphere has no value, [rows, columns]."""
    if not (on_sphere(config.grid) and getattr(config.input, name, None)) or np.isfinite(values).all():
        return np.zeros((1, 1), bool)
    return np.isnan(values) & (around_open_faces(config, location_of(name), rows, columns) > 0)


def how_far(config, name: str, rows, columns) -> tuple[np.ndarray, float]:
    """How far the values are that stand for those which a file of the outside lacks, and may be, degrees of arc."""
    rows, columns = (np.asarray(each) for each in (rows, columns))
    values = unfilled(config, name, rows, columns)
    lacking = beside_land_of_file(config, name, values, rows, columns)
    if not lacking.any():
        return np.zeros(0), 0.0
    entry = entry_of(name, config.physics)
    return distances(getattr(config.input, name), entry, config.grid, rows, columns, lacking)


def around_open_faces(config, location: str, rows, columns) -> np.ndarray:
    """1 where outside water has to be known: on the faces through which it comes in, or at centres beside them.

    These are between an outermost cell and the next one that are both water, but for corners of two open sides; float64
    [rows, columns].
    """
    grid, found = config.grid, np.zeros((len(rows), len(columns)))
    for side in config.open_sides.sides:
        in_rows = side in ("south", "north")
        if location not in ("centre", "v" if in_rows else "u"):
            continue
        numbers, cells = (rows, grid.ny) if in_rows else (columns, grid.nx)
        pair = [0, 1] if side in ("west", "south") else [cells - 2, cells - 1]
        near = np.isin(numbers, pair if location == "centre" else pair[:1])
        inner = np.array(pair[1:] if side in ("west", "south") else pair[:1])
        both = evaluate(config, "mask", pair, columns) if in_rows else evaluate(config, "mask", rows, pair)
        both = both.min(axis=0 if in_rows else 1, keepdims=True)
        both = both * (within(config, inner, columns, 1) if in_rows else within(config, rows, inner, 1))
        found = np.maximum(found, both * (near[:, None] if in_rows else near[None, :]))
    return found * within(config, rows, columns, 0)


def wet(config, rows, columns) -> np.ndarray:
    """1 on water, 0 on land, outside water and beyond walls, [rows, columns] or broadcast to it; float64."""
    return water(config, rows, columns, 1)


def water(config, rows, columns, margin: int = 0) -> np.ndarray:
    """See `wet`: 1 on outside water, too, but for `margin` rows along open sides."""
    rows, columns = np.asarray(rows), np.asarray(columns)
    return within(config, rows, columns, margin) * (evaluate(config, "mask", rows, columns) != 0)


def within(config, rows, columns, margin: int) -> np.ndarray:
    """1 within the domain, without the `margin` outermost rows or columns along open sides; [rows, columns] or less."""
    grid, found = config.grid, []
    for numbers, cells, ring, (low, high) in (
        (rows, grid.ny, grid.periodic_y, ("south", "north")),
        (columns, grid.nx, grid.periodic_x, ("west", "east")),
    ):
        first, last = (margin * (side in config.open_sides.sides) for side in (low, high))
        inside = (numbers >= first) & (numbers < cells - last)
        found.append(np.ones(1) if ring else inside.astype(float))
    return found[0][:, None] * found[1][None, :]


def outside(config, rows, columns) -> tuple[np.ndarray, np.ndarray]:
    """1 on the outside water of open sides in the west and the east; of those in the south and the north.

    Returns:
        Two arrays [rows, columns], or [1, 1] where no side of these is open; float64.
    """
    grid, sides = config.grid, config.open_sides.sides
    rows, columns = np.asarray(rows), np.asarray(columns)
    found = []
    for numbers, cells, (low, high), across in (
        (columns, grid.nx, ("west", "east"), np.index_exp[None, :]),
        (rows, grid.ny, ("south", "north"), np.index_exp[:, None]),
    ):
        outermost = (numbers == 0) & (low in sides) | (numbers == cells - 1) & (high in sides)
        if not {low, high} & set(sides):
            found.append(np.zeros((1, 1)))
            continue
        found.append(np.broadcast_to(outermost[across] * water(config, rows, columns), (rows.size, columns.size)))
    return tuple(found)
