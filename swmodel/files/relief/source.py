"""Relief in a CF file: the variables with height or depth, and the share of sea, and windows of both."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...ocean.coordinates import CIRCLE
from ...setup.fields.netcdf_input import InputError, conversion
from ...setup.fields.netcdf_input.dataset import CFDataset, in_degrees, numeric, open_file, values_of
from ...setup.fields.netcdf_input.degrees import line_of as sphere_line
from ...setup.fields.netcdf_input.errors import remark
from ...setup.fields.netcdf_input.names import BAND, COMMON, candidates
from ...setup.fields.netcdf_input.source import Source, parse

#: The default relief (tools/relief.py).
SHIPPED = Path(__file__).with_name("relief.nc")

#: Standard names of heights, positive upward, and of depths, positive downward.
HEIGHTS = (
    "surface_altitude", "bedrock_altitude", "altitude", "ground_level_altitude", "height_above_mean_sea_level",
    "height_above_geopotential_datum", "height",
)  # fmt: skip
DEPTHS = (
    "sea_floor_depth_below_geoid", "sea_floor_depth_below_mean_sea_level", "sea_floor_depth_below_sea_surface",
    "sea_floor_depth_below_geopotential_datum", "sea_floor_depth", "model_sea_floor_depth_below_geoid", "depth",
)  # fmt: skip

#: Names of either without a standard name, in lower case.
NAMES = dict.fromkeys(("z", "elevation", "height", "topo", "altitude", "relief", "bedrock", "topobathy"), 1.0)
NAMES |= dict.fromkeys(("depth", *COMMON["depth"]), -1.0)

#: Standard names and names of the share of a cell that is sea, and of the share that is land.
SEA = {"sea_area_fraction", "sea_binary_mask", "sea"}
LAND = {"land_area_fraction", "land_binary_mask", "land"}

#: Name of the points that connect seas (`Relief.strait`).
STRAIT = "strait"

#: The divisors of shares, by units.
SHARES = {"1": 1.0, "": 1.0, "percent": 100.0, "%": 100.0}


#: The range of heights on the Earth, m.
RANGE = (-12000.0, 9000.0)

#: Numbers within it that mark missing values, as they stand in files.
MARKS = (-999.0, -9999.0, 9999.0, -9999.9, float(np.float32(-9999.9)))

#: A number is a mark if more values equal it than this fraction of those that differ by at most `NEAR` times it.
OFTEN, NEAR = 0.1, 0.05

#: So many values -999 may be depths.
FEW = 3

#: Height of land where a relief has none, m.
UNKNOWN = 1e9


class ReliefError(InputError):
    """A relief lacks data that a grid needs."""


class Line(NamedTuple):
    """Positions along one axis of a relief, rising, degrees.

    Attributes:
        points: positions of the values; longitudes round the sphere have each place once.
        order: the numbers of the points in the file.
        closed: whether they go round the sphere.
    """

    points: np.ndarray
    order: np.ndarray
    closed: bool = False

    @property
    def step(self) -> float:
        """The largest distance of two neighbours, degrees."""
        return float(np.diff(self.points).max())

    @property
    def edges(self) -> np.ndarray:
        """The edges of the cells around the points, half a step beyond the outer ones."""
        middles = 0.5 * (self.points[1:] + self.points[:-1])
        ends = 1.5 * self.points[:1] - 0.5 * self.points[1:2], 1.5 * self.points[-1:] - 0.5 * self.points[-2:-1]
        return np.concatenate([ends[0], middles, ends[1]])


class Relief(NamedTuple):
    """An open relief.

    Attributes:
        path: path of its file.
        about: its origin, from the file; may be empty.
        height: the variable, a DataArray.
        factor: metres upward in a unit of the height; below zero for depths.
        share: the variable with the share of sea or land; None: sea is below zero.
        parts: factor and offset that turn the share into that of sea.
        strait: the variable with points that connect seas of a finer relief, though less than half is sea; or None.
        x, y: the positions along both axes.
        exchanged: whether the last axis is y.
    """

    path: str
    about: str
    height: Any
    factor: float
    share: Any
    parts: tuple[float, float]
    strait: Any
    x: Line
    y: Line
    exchanged: bool

    def window(self, rows: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Depth, m, zero on land, share of sea, and height of land, m, of points [rows, columns]."""
        raw = self.read(self.height, rows, columns)
        self.refuse_marks(raw, rows, columns)
        z = self.factor * raw
        missing, sea = np.isnan(z), z < 0
        beyond = (z < RANGE[0]) | (z > RANGE[1])
        if beyond.any():
            self.refuse_values(raw, beyond, "no height or depth on the Earth", rows, columns)
        wrong = missing
        if self.share is not None:
            sea = self.parts[1] + self.parts[0] * self.read(self.share, rows, columns)
            self.refuse(f"{self.share.name} is no share of sea or land", ~((sea >= 0) & (sea <= 1)), rows, columns)
            wrong = missing & (sea > 0)
        if BAND.fullmatch(self.height.name) and wrong.any() and not (z > 0).any():  # of a survey of the sea floor
            remark(f"{self.path}: missing values of {self.height.name} count as land, as it has no heights of land")
        elif self.factor > 0:
            self.refuse(f"{self.height.name} has no height", wrong, rows, columns)
        height = np.where(missing, UNKNOWN, np.maximum(z, 0.0))
        return np.where(missing, 0.0, np.maximum(-z, 0.0)), np.where(missing, 0.0, sea), height

    def refuse_marks(self, raw: np.ndarray, rows, columns):
        """Raise ReliefError if values [rows, columns], as they stand in the file, hold a number that marks missing."""
        for mark in MARKS:
            same = raw == mark
            count = np.count_nonzero(same)
            if not count:
                continue
            near = np.count_nonzero(np.abs(raw - mark) <= NEAR * abs(mark)) - count  # whole metres of a deep sea
            if count > OFTEN * near and (count > FEW or abs(mark) > 999):
                self.refuse_values(raw, same, "a usual mark of missing values", rows, columns)

    def refuse_values(self, raw: np.ndarray, wrong: np.ndarray, what: str, rows, columns):
        """Raise ReliefError about the first of `wrong` values and those that equal it, with a remedy."""
        value = float(raw[wrong][0])
        many = np.count_nonzero(raw == value)
        remedy = f"give it the attribute _FillValue = {value:.7g}, or change the value if it is real"
        if BAND.fullmatch(self.height.name):
            command = f"gdal_translate -a_nodata {value:.7g} {self.path} NEW.tif"
            remedy = f"convert it with `{command}`, or change the value if it is real"
        words = f"{self.height.name} has {many} value{'s' if many > 1 else ''} {value:.7g}, {what},"
        self.refuse(words, wrong, rows, columns, f"; {remedy}")

    def remedy(self) -> str:
        """The remedy for a wrong sign, as the end of a message; "" where a share defines the sea."""
        other, name = "up" if self.factor < 0 else "down", self.height.name
        how = f'give it the attribute positive = "{other}"'
        if BAND.fullmatch(name):
            how = f"name it as {self.path}:{'' if self.factor < 0 else '-'}{name}"
        words = f"; if {name} is positive {other}ward, {how}"
        return words if self.share is None else ""

    def is_sea(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Whether points [rows, columns] are sea, by half or more, or straits."""
        sea = self.window(rows, columns)[1] >= 0.5
        return sea if self.strait is None else sea | (self.read(self.strait, rows, columns) > 0)

    def read(self, variable, rows, columns) -> np.ndarray:
        """Values of a variable, float64, NaN where missing."""
        y, x = self.y.order[rows], self.x.order[columns]
        window = tuple(slice(int(numbers.min()), int(numbers.max()) + 1) for numbers in (y, x))
        values = values_of(variable, (0,) * (variable.ndim - 2) + (window[::-1] if self.exchanged else window))
        values = np.asarray(values.T if self.exchanged else values, np.float64)
        return values[np.ix_(y - window[0].start, x - window[1].start)]

    def refuse(self, what: str, where: np.ndarray, rows, columns, remedy: str = ""):
        """Raise ReliefError at the first place of a mask [rows, columns], if any; `remedy` ends the message."""
        for j, i in np.argwhere(where)[:1]:
            lon, lat = self.x.points[columns[i]], self.y.points[rows[j]]
            raise ReliefError(f"{self.path}: {what} at lon = {lon:.10g}, lat = {lat:.10g} degrees{remedy}")


def open_relief(text: str | os.PathLike | None, stack) -> Relief:
    """The Relief of "FILE", "FILE:NAME" or, with the other sign, "FILE:-NAME"; without one that of the package.

    `stack` closes it.
    """
    wanted = parse(str(text or SHIPPED))
    return relief_in(stack.enter_context(open_file(wanted.path, "--relief: ", ReliefError)), wanted)


def relief_in(dataset: CFDataset, wanted: Source) -> Relief:
    """The Relief of an open file; `wanted` names it."""
    found = find(dataset, wanted)
    place, units = f"{wanted.path}: {found.name}", found.attrs.get("units", "")
    sign = sign_of(found)
    if sign is None:
        raise ReliefError(f'{place} may be height or depth; give it the attribute positive, "up" or "down"')
    if not units and BAND.fullmatch(found.name):
        remark(f'{place} has no units, as rasters have none; "m" is taken')
        units = "m"
    if (size := conversion(units, "m")) is None:
        how = 'give it the attribute units, "m" or "km"'
        if BAND.fullmatch(found.name):
            how = f'convert it, from feet with `gdal_calc.py -A {wanted.path} --outfile NEW.tif --calc "0.3048*A"`'
        raise ReliefError(f'{place} is in "{units}"; a relief is in m or km: {how}')
    strait = dataset.data.get(STRAIT)
    exchanged = [dataset.kind(one) for one in dataset.along(found.dims[-1])][:1] == ["y"]
    return Relief(
        wanted.path,
        str(dataset.data.attrs.get("source", found.attrs.get("source", ""))),
        found,
        -sign * size if wanted.name.startswith("-") else sign * size,
        *share_in(dataset, found),
        None if strait is None or strait.dims != found.dims else strait,
        *(line_of(dataset, found, axis, place) for axis in "xy"),
        exchanged,
    )


def find(dataset: CFDataset, wanted: Source):
    """The variable with the relief. ReliefError: none, or several."""
    fields = {name: one for name, one in dataset.data.variables.items() if one.ndim >= 2 and numeric(one)}
    if wanted.name:
        name = wanted.name if wanted.name in fields else wanted.name.removeprefix("-")
        if name not in fields:
            raise ReliefError(f'{wanted.path} has no field "{wanted.name}"; it has {", ".join(fields) or "none"}')
        return dataset.data[name]
    known = candidates(dataset, HEIGHTS + DEPTHS, NAMES)
    bands = [name for name in fields if name not in ("xc", "yc")]  # positions of a rotated raster
    known = known or [name for name in bands if len(bands) == 1 and BAND.fullmatch(name)]
    if len(known) == 1:
        return dataset.data[known[0]]
    what = "several fields that may be the relief" if known else "no known field of height or depth"
    names = ", ".join(known or fields)
    raise ReliefError(f"{wanted.path} has {what} ({names}); name it as {wanted.path}:NAME")


def sign_of(found) -> float | None:
    """1 for heights, -1 for depths, by the attribute positive, the standard name or the name; None: unknown."""
    standard = dict.fromkeys(HEIGHTS, 1.0) | dict.fromkeys(DEPTHS, -1.0)
    by_attribute = {"up": 1.0, "down": -1.0}.get(found.attrs.get("positive", "").lower())
    by_name = 1.0 if BAND.fullmatch(found.name) else NAMES.get(found.name.lower())
    return by_attribute or standard.get(found.attrs.get("standard_name")) or by_name


def line_of(dataset: CFDataset, found, axis: str, place: str) -> Line:
    """The Line of a field's points along an axis. InputError: no positions, or not in one direction."""
    lines = [one for name in found.dims[-2:] for one in dataset.along(name) if dataset.kind(one) == axis]
    degrees = [one for one in lines if in_degrees(one)]
    if not degrees:
        word = {"x": "longitudes", "y": "latitudes"}[axis]
        how = (
            f"; convert it with `gdalwarp -t_srs EPSG:4326 {dataset.place} NEW.tif`, and -s_srs if it names no system"
            if BAND.fullmatch(found.name)
            else ""
        )
        raise ReliefError(f"{place} has no {word} in degrees along one of its last two axes{how}")
    values, order, *_ = sphere_line(dataset, degrees[0], axis, place)
    if axis == "y":
        return Line(values, order)
    steps = np.diff(values)
    once = values < values[0] + CIRCLE - 0.5 * steps.min()
    values, order = values[once], order[once]
    return Line(values, order, bool(values[0] + CIRCLE - values[-1] <= 1.5 * steps.max()))


def share_in(dataset: CFDataset, found) -> tuple[Any, tuple[float, float]]:
    """The variable with the share of sea or land, and the factor and offset that make it the share of sea."""
    for name, one in dataset.data.variables.items():
        units = one.attrs.get("units", "")
        if one.dims[-2:] != found.dims[-2:] or not numeric(one) or units not in SHARES:
            continue
        names, size = {one.attrs.get("standard_name"), name.lower()}, SHARES[units]
        if names & SEA:
            return dataset.data[name], (1 / size, 0.0)
        if names & LAND:
            return dataset.data[name], (-1 / size, 1.0)
    return None, (1.0, 0.0)
