"""The axes of a variable on the grid, from its coordinates: y, x and their directions."""

from __future__ import annotations

import logging
from typing import NamedTuple

import numpy as np

from ....ocean.coordinates import OFFSETS, Axis, axes, on_sphere
from ....ocean.elements import index_of
from .dataset import NAMES, CFDataset, in_degrees, values_of
from .degrees import Places, places
from .errors import InputError, remark
from .units import NUMBERS, conversion

#: Largest distance of a coordinate from its point of the grid, relative to the first ones, cells.
NEAR = 0.1

#: Largest difference of equal longitudes or latitudes, degrees.
SAME = 1e-5

#: Endings of the names of coordinates at each location of a C-grid.
ENDINGS = {"centre": ("_z", "_t", "_c", "_r", "_rho"), "u": ("_u",), "v": ("_v",), "corner": ("_q", "_f", "_psi")}

#: Words for a turned axis, its lines of cells, and the sides at its ends.
WORDS = {"y": ("downward", "rows", "south", "north"), "x": ("leftward", "columns", "west", "east")}


class Axes(NamedTuple):
    """The axes of a variable on the grid.

    Attributes:
        y, x: names of its dimensions.
        exchanged: whether that of x comes first.
        turned: whether y runs from north to south, and x from east to west.
        along: on a sphere, the positions of the grid's points among those of the file; else None.
    """

    y: str
    x: str
    exchanged: bool
    turned: tuple[bool, bool] = (False, False)
    along: Places | None = None


def arrange(dataset: CFDataset, found, row, grid, place: str) -> Axes:
    """The Axes of the variable `found` of a file for the field `row`, found once; logs assumptions."""
    if (key := (found.name, row, grid)) not in dataset.axes:
        dataset.axes[key] = lie(dataset, found, row, grid, place)
    return dataset.axes[key]


def lie(dataset: CFDataset, found, row, grid, place: str) -> Axes:
    """See `arrange`."""
    if found.ndim < 2:
        raise InputError(f"{place} has shape {found.shape}, the grid needs {grid.ny, grid.nx} (ny, nx)")
    y, x = dimensions(dataset, found, place)
    exchanged = found.dims.index(y) > found.dims.index(x)
    several = [name for name, size in found.sizes.items() if name not in (y, x) and size > 1]
    if len(several) > 1:
        raise InputError(
            f"{place} has several records along {' and '.join(several)}, but an entry chooses along one axis only; "
            "cut the file to one record along the others"
        )
    coordinates = {
        name: of_location(dataset.along(name) or dataset.across(found, (y, x), axis), found, row, place)
        for axis, name in (("y", y), ("x", x))
    }
    if on_sphere(grid) and all(coordinates.values()):
        along = places(dataset, *(coordinates[name][-1] for name in (y, x)), found, grid, row, place)
        if words := along.words():
            tide = f"the tide in {dataset.place} is interpolated"
            remark(tide if index_of(row.name) else f"{place}: {'; '.join(words)}", logging.INFO)
        return Axes(y, x, exchanged, along=along)
    shape, wanted = (found.sizes[y], found.sizes[x]), (grid.ny, grid.nx)
    if shape != wanted:
        swapped = "; its axes are swapped" if shape == wanted[::-1] else ""
        raise InputError(f"{place} has shape {found.shape}, the grid needs {wanted} (ny, nx){swapped}")
    turned, words, unknown = [], [], []
    for axis, name, along, offset in zip("yx", (y, x), reversed(axes(grid)), OFFSETS[row.location], strict=True):
        if not coordinates[name]:
            unknown.append(name)
            turned.append(False)
        elif on_sphere(grid):
            raise InputError(
                f"{place}: {coordinates[name][0].name} alone does not say where the field lies on a sphere"
            )
        else:
            turns, notes = compare(dataset, coordinates[name], name, axis, along, offset, place)
            turned.append(turns)
            words += notes
    if exchanged:
        words.append(f"its axes ({', '.join(found.dims)}) are exchanged")
    if words:
        remark(f"{place}: {'; '.join(words)}")
    if unknown:
        names = ", ".join(unknown)
        taken = "its first row and column are taken for the southern and the western one"
        remark(f"{dataset.place} has no coordinates along {names}: {taken}")
    return Axes(y, x, exchanged, tuple(turned))


def of_location(coordinates: list, found, row, place: str) -> list:
    """The coordinates of a variable among those along a dimension, of which atlases of tides have one per location.

    Of those in degrees the ones that its attribute `coordinates` names, else those whose names end as the field's
    location says, else the variable of the dimension's name. InputError: several are left, and differ.
    """
    named = str(found.attrs.get("coordinates", found.encoding.get("coordinates", ""))).split()
    every = [one for one in coordinates if in_degrees(one)]
    ours = [one for one in every if one.name in named]
    ours = ours or [one for one in every if str(one.name).lower().endswith(ENDINGS.get(row.location, ()))]
    ours = ours or [one for one in every if (one.name,) == one.dims] or every
    values = [values_of(one) for one in ours]
    for one, other in zip(ours, values, strict=True):
        if one.dims == ours[0].dims and not np.allclose(other, values[0], rtol=0, atol=SAME, equal_nan=True):
            raise InputError(
                f"{place}: {ours[0].name} and {one.name} differ, and either may be its place; give {found.name} "
                f'the attribute coordinates, as "{ours[0].name} ...", or leave one in the file'
            )
    return [one for one in coordinates if not in_degrees(one) or any(one is each for each in ours)]


def dimensions(dataset: CFDataset, found, place: str) -> tuple[str, str]:
    """The dimensions of y and x of a variable, from coordinates or names, else the last two."""
    kinds = {name: next(map(dataset.kind, dataset.along(name)), NAMES.get(name.lower(), "")) for name in found.dims}
    known = [name for axis in "yx" for name, kind in kinds.items() if kind == axis]
    if [kinds[name] for name in known] == ["y", "x"]:
        return tuple(known)
    y, x = found.dims[-2:]
    if kinds[y] not in ("", "y") or kinds[x] not in ("", "x"):
        raise InputError(f"{place} has the axes ({', '.join(found.dims)}), the last two of which are not y and x")
    return y, x


def compare(dataset: CFDataset, coordinates, dimension: str, axis: str, along: Axis, offset: float, place: str):
    """Whether a field runs downward or leftward by its coordinates of y or x, and words for remarks.

    `coordinates`: along a dimension, best first. `offset`: offset of the field's points from cell centres, cells.
    InputError: the steps differ from those of the grid, or change direction.
    """
    first, values = coordinates[0], agreed(dataset, coordinates, dimension, place)
    wanted, size = along.first + (np.arange(along.cells) + offset) * along.spacing, along.spacing
    name, units, degrees = first.name, first.attrs.get("units", ""), in_degrees(first)

    def refuse(what: str):
        known = there(values)
        ends = f", between {known.min():g} and {known.max():g} {units}".rstrip() if known.size else ""
        raise InputError(f"{place}: {name} {what}{ends}; the grid has {axis} {span(wanted)} in steps of {size:g} m")

    turned = len(values) > 1 and bool(values[-1] < values[0])
    values = values[::-1] if turned else values
    if not values.size or not np.isfinite(values).all():
        refuse("has missing values")
    steps = np.diff(values)
    if not (steps > 0).all():
        refuse("does not run in one direction")
    if not np.array_equal(shift := first.attrs.get("c_grid_axis_shift", offset), offset):
        refuse(f"lies {shift} cells off the centres, but this field {offset:g}")
    words = [f"{name} runs {WORDS[axis][0]}, so its {WORDS[axis][1]} are turned"] if turned else []
    if degrees:
        return turned, [*words, f"{name} is in degrees, so its steps are not compared with {size:g} m"]
    plain, size_of_unit = units in NUMBERS, conversion(units, "m")
    if size_of_unit is None and not plain:
        refuse('needs "m", "km" or degrees')
    counts = plain and np.allclose(steps, 1.0)  # numbers of cells
    metres = values * (size if counts else size_of_unit or 1.0)
    rounding = 4 * np.finfo(np.float32).eps * np.abs(metres).max() if first.dtype.itemsize < 8 else 0.0
    if np.abs(metres - metres[0] - (wanted - wanted[0])).max() > NEAR * size + rounding:
        refuse("has other steps")
    away = (metres[0] - wanted[0]) / size
    if not counts and abs(away) > NEAR:
        half = abs(abs(away) - 0.5) < NEAR
        what = f"half a cell to the {WORDS[axis][2 + (away > 0)]}" if half else "origins are not compared"
        words.append(f"{name} runs {span(metres)}, the grid's points {span(wanted)}: {what}")
    return turned, words


def agreed(dataset: CFDataset, coordinates, dimension: str, place: str) -> np.ndarray:
    """Values along a dimension of the first of its coordinates, all of which have to run in one direction."""
    first = coordinates[0]
    if first.ndim > 1:
        of_dims = {name: there(dataset.values_along(first, name)) for name in first.dims}
        extents = {name: np.ptp(values) if values.size else 0.0 for name, values in of_dims.items()}
        if extents[dimension] < max(extents.values()):
            changes = " and ".join(f"by {extent:g} along {name}" for name, extent in extents.items())
            raise InputError(f"{place}: {first.name} changes {changes}: these are not the axes of y and x")
        # Degrees may be missing on land.
        return of_dims[dimension] if in_degrees(first) else dataset.values_along(first, dimension)
    values = [dataset.values_along(one, dimension) for one in coordinates]
    ends = np.array([(each[0], each[-1]) for each in values])
    if {1.0, -1.0} <= {*np.sign(ends[:, 1] - ends[:, 0])}:
        names = " and ".join(one.name for one in coordinates)
        raise InputError(f"{place}: {names} run in opposite directions along {dimension}; leave one in the file")
    return values[0]


def there(values: np.ndarray) -> np.ndarray:
    """The values that are not missing."""
    return values[np.isfinite(values)]


def span(values: np.ndarray) -> str:
    """The range of values in m, in words."""
    return f"from {values[0]:g} to {values[-1]:g} m"
