"""The tables [[barrier]] of a file: polylines with the heights of their crests."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from ... import text_table
from ...errors import ConfigError, UsageError
from ...extras import missing_package_reason
from ...ocean.projection import GEOGRAPHIC_CRS
from ...setup.fields.netcdf_input.errors import log_once
from ...setup.fields.netcdf_input.missing_values import are_marks
from .sources import read_text_file

#: Endings of text files, and their largest size, bytes; columns of the positions of points.
TEXT_ENDINGS, MAX_TEXT_FILE_BYTES = (".csv", ".txt", ".tsv"), 10_000_000
POSITION_COLUMNS = ("lon", "lat"), ("x", "y")
#: The coordinate reference system that GDAL gives to GeoJSON with heights: longitude, latitude and height.
GEOGRAPHIC_CRS_WITH_HEIGHT = "EPSG:4979"


def read_barriers(path: Path) -> tuple[dict[str, Any], ...]:
    """The tables of a text file with the columns name, x, y (or lon, lat) and crest, or of any vector file of GDAL.

    In a text file, successive rows with the same name are the points of a barrier. In a vector file each line is a
    barrier, whose crest is the attribute `crest`, or the third coordinate of its points. ConfigError: the file cannot
    be used.
    """
    if path.suffix.lower() in TEXT_ENDINGS:
        return barriers_in_table(path)
    return barriers_in_vector_file(path)


def barriers_in_table(path: Path) -> tuple[dict[str, Any], ...]:
    try:
        table = text_table.parse_table(read_text_file(path, MAX_TEXT_FILE_BYTES, "list of barriers"), str(path))
        pair = next((pair for pair in POSITION_COLUMNS if {"name", "crest", *pair} <= set(table.columns)), None)
        if pair is None:
            raise UsageError(f"{path}: its first line must name the columns name, x, y (or lon, lat) and crest")
        rows = [(context, table.row(context)) for context in table.rows]
        columns = (*pair, "crest")
        points = [(cells["name"], [number_in(cells, name, context) for name in columns]) for context, cells in rows]
        check_crests(np.array([point[-1] for _, point in points]), [*table.rows])
    except UsageError as error:
        raise ConfigError([str(error)]) from None
    if not points:
        raise ConfigError([f"{path}: has no rows after its first line, so no barrier"])
    barriers = [(name, [point for _, point in group]) for name, group in groupby(points, key=lambda each: each[0])]
    if one_point := [name for name, line in barriers if len(line) < 2]:
        raise ConfigError([f'{path}: the barrier "{one_point[0]}" has one point; barriers need 2 in successive rows'])
    crs = GEOGRAPHIC_CRS if pair == ("lon", "lat") else ""
    return tuple({"name": name, "line": line, "crs": crs} for name, line in barriers)


def number_in(cells: dict[str, str], column: str, context: str) -> float:
    try:
        number = float(cells[column])
    except ValueError:
        number = np.nan
    if not np.isfinite(number):
        raise UsageError(f'{context}: {column} must be a number, not "{cells[column]}"')
    return number


def check_crests(crests: np.ndarray, labels: list[str]) -> None:
    """Raise UsageError if a crest, m, marks a missing value; `labels`: the position of each crest in the file."""
    for number in np.flatnonzero(are_marks(crests))[:1]:
        raise UsageError(f"{labels[number]}: the crest is {crests[number]:g}, which marks missing values")


def barriers_in_vector_file(path: Path) -> tuple[dict[str, Any], ...]:
    if reason := missing_package_reason(f"{path}: a file of lines", "pyogrio"):
        raise ConfigError([reason])
    import pyogrio.raw
    import shapely

    if not path.exists():
        raise ConfigError([f"{path}: there is no such file"])
    try:
        layers = [str(name) for name, _ in pyogrio.list_layers(path)]
        metadata, _, geometry, columns = pyogrio.raw.read(path, layer=layers[0])
    except Exception as error:  # errors of GDAL have several classes
        raise ConfigError([f"{path}: cannot be read as lines: {error}"]) from None
    if len(layers) > 1:
        raise ConfigError([f"{path}: has the layers {', '.join(layers)}; give a file with one layer"])
    if not metadata["crs"]:
        log_once(f"{path}: names no coordinate reference system; its positions are taken as those of the grid")
    attributes = {str(name).lower(): column for name, column in zip(metadata["fields"], columns, strict=True)}
    tables, third_coordinates = [], []
    crests: list[float] = []
    labels: list[str] = []
    for number, shape in enumerate(shapely.from_wkb(geometry), 1):
        label = f"{path}: feature {number}"
        if shape is None or shape.geom_type not in ("LineString", "MultiLineString"):
            kind = "no geometry" if shape is None else f"a {shape.geom_type}"
            raise ConfigError([f"{label} is {kind}; barriers are lines"])
        crest = crest_of(attributes["crest"][number - 1], label) if "crest" in attributes else np.nan
        name = str((attributes["name"][number - 1] if "name" in attributes else None) or f"feature {number}")
        for part in getattr(shape, "geoms", [shape]):
            points = shapely.get_coordinates(part, include_z=part.has_z and np.isnan(crest))
            if not len(points):
                raise ConfigError([f"{label} has no points; barriers are lines of at least two points"])
            if not (np.isfinite(points).all() and (points.shape[1] == 3 or np.isfinite(crest))):
                raise ConfigError([f"{label} has no height; give an attribute crest, or points with three coordinates"])
            third_coordinates += points[:, 2:].ravel().tolist()
            crests += points[:, 2].tolist() if points.shape[1] == 3 else [crest]
            labels += [label] * (len(crests) - len(labels))
            table = {"name": name, "line": points.tolist(), "crs": crs_of_lines(metadata["crs"], points)}
            tables.append(table | ({} if points.shape[1] == 3 else {"crest": crest}))
    if not tables:
        raise ConfigError([f"{path}: has no lines"])
    try:
        check_crests(np.array(crests), labels)
    except UsageError as error:
        raise ConfigError([str(error)]) from None
    if third_coordinates and not any(third_coordinates):  # some programs write lines without heights in this way
        names = ", ".join(attributes) or "none"
        raise ConfigError([f"{path}: all third coordinates are 0; give an attribute crest, in m (attributes: {names})"])
    return tuple(tables)


def crest_of(value: Any, label: str) -> float:
    """The attribute `crest` of a feature, m; NaN if it has none. ConfigError: it is not a number."""
    try:
        return np.nan if value is None else float(value)
    except ValueError:
        raise ConfigError([f'{label}: crest must be a number, in m, not "{value}"']) from None


def crs_of_lines(crs: str | None, points: np.ndarray) -> str:
    """The coordinate reference system of lines; "" if their file names none.

    GDAL assumes degrees for GeoJSON that names no system; points beyond 360 degrees show that this is wrong.
    """
    if crs not in (GEOGRAPHIC_CRS, GEOGRAPHIC_CRS_WITH_HEIGHT):
        return crs or ""
    return "" if np.abs(points[:, :2]).max() > 360 else GEOGRAPHIC_CRS
