"""The files that hold the subfaults of an earthquake. FORMATS has an entry for each format besides the table.

    table    longitude,latitude,depth_km,strike,dip,rake,slip_m,length_km,width_km,rupture_time,rise_time
    param    basic_inversion.param of the USGS: #Fault_segment = 1 nx(Along-strike)= 25 Dx= 15.00km ...
    fsp      finite-source parameters of SRCMOD and the USGS: % LAT LON X==EW Y==NS Z SLIP RAKE TRUP RISE ...

A table has these columns in any order, and may have others; the last two are optional. rise_time is the duration of the
slip or, if there is a column fall_time, of the part in which the slip becomes faster. A unit may follow a name, as
depth_km, depth (km) or depth [km]; without one, lengths are in m, angles in degrees and times in s. With the columns
top_lon, top_lat and top_depth in place of the first three, positions are those of the middle of the upper edge, not of
the centre of a subfault. A param file has centres, slip in cm and other lengths in km. An fsp file says in its header
whether its positions are those of centres or of upper edges. Times count from the origin time of the earthquake.

Sources: Mai and Thingbaijam (2014), Seismol. Res. Lett. 85, 1348-1357, and the description of fsp files of SRCMOD;
Goldberg, Koch, Melgar, Riquelme and Yeck (2022), Seismol. Res. Lett. 93, 3308-3323, and their program, for both files
of the USGS.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .. import text_table
from ..errors import UsageError
from .finite_fault import Subfaults

#: `Subfaults.width_above` for positions of centres, and of upper edges.
CENTRE, TOP = 0.5, 0.0
#: Factors that convert units to m, degrees and s.
KILOMETRE, CENTIMETRE, DEGREE, SECOND = 1e3, 1e-2, 1.0, 1.0
#: The same factors by the names of units in the header of a table.
UNITS = {"m": 1.0, "km": KILOMETRE, "cm": CENTIMETRE, "deg": DEGREE, "degrees": DEGREE, "s": SECOND, "seconds": SECOND}
#: {another name of a column of a table: the name that is used here}.
COLUMN_NAMES = {"lon": "longitude", "lat": "latitude", "top_longitude": "top_lon", "top_latitude": "top_lat"}
#: {value of a subfault: (smallest, largest, unit)}. A length or a width below the smallest is probably in km.
LIMITS = {
    "longitude": (-360.0, 360.0, "degrees"),
    "latitude": (-90.0, 90.0, "degrees"),
    "depth": (0.0, 700e3, "m"),
    "strike": (-720.0, 720.0, "degrees"),
    "dip": (0.0, 90.0, "degrees"),
    "rake": (-720.0, 720.0, "degrees"),
    "slip": (-100.0, 100.0, "m"),
    "length": (1e3, 2000e3, "m"),
    "width": (1e3, 1000e3, "m"),
    "rupture_time": (0.0, 86400.0, "s"),
    "rise_time": (0.0, 86400.0, "s"),
    "fall_time": (0.0, 86400.0, "s"),
}
#: The values that every subfault must have.
REQUIRED = tuple(LIMITS)[:9]
#: A file whose deepest subfault is less deep than this, m, is refused, because its depths are probably in km.
MIN_LARGEST_DEPTH = 100.0
#: Largest height of an upper edge above the surface that counts as a rounding error, as a fraction of the width.
MAX_ROUNDING_HEIGHT = 0.02
#: Largest relative difference between the size of a segment and that of its subfaults.
MAX_SIZE_DIFFERENCE = 0.02


class Row(NamedTuple):
    """One subfault in a file."""

    context: str  # file and line, "file:12"
    values: dict[str, float]  # by the names in LIMITS, in SI units and degrees
    width_above: float = CENTRE  # see `Subfaults`


class FaultFormat(NamedTuple):
    """A format: a pattern that its texts contain, and a function of ({context: line}, file name) that yields rows."""

    pattern: re.Pattern
    parse: Callable[[dict[str, str], str], Iterator[Row]]


def read_faults(path) -> Subfaults:
    """The Subfaults in a file. UsageError: it cannot be read, with the line and what was expected."""
    try:
        text = Path(path).read_text(encoding="utf-8", errors="replace")  # headers have names of authors in any encoding
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from None
    return parse_faults(text, str(path))


def parse_faults(text: str, path: str) -> Subfaults:
    """The Subfaults in a text, which messages call `path`; see `read_faults`."""
    lines = {f"{path}:{n}": line for n, line in enumerate(text.removeprefix("\ufeff").splitlines(), 1) if line.strip()}
    for fault_format in FORMATS:
        if fault_format.pattern.search(text):
            return subfaults_of_rows([*fault_format.parse(lines, path)], path)
    return subfaults_of_rows([*table_rows(text, path)], path)


def subfaults_of_rows(rows: list[Row], path: str) -> Subfaults:
    """The Subfaults of rows. UsageError: there are none, or values are missing, out of range or in other units."""
    if not rows:
        raise UsageError(f"{path}: has no subfaults")
    for row in rows:
        check_values(row)
    columns = {name: np.array([row.values.get(name, 0.0) for row in rows]) for name in LIMITS}
    if 0 < (deepest := columns["depth"].max()) < MIN_LARGEST_DEPTH:
        raise UsageError(f"{path}: the deepest subfault is {deepest:g} m deep; if that is in km, write depth_km")
    width_above = np.array([row.width_above for row in rows])
    height = width_above * columns["width"] * np.sin(np.radians(columns["dip"]))
    top_depth = columns["depth"] - height
    if (above := top_depth < -MAX_ROUNDING_HEIGHT * columns["width"]).any():
        number = int(np.argmax(above))
        raise UsageError(
            f"{rows[number].context}: the upper edge would be {-top_depth[number]:.0f} m above the surface; a centre "
            f"with this width and dip is at least {height[number]:.0f} m deep"
        )
    return Subfaults(
        lon=columns["longitude"],
        lat=columns["latitude"],
        width_above=width_above,
        top_depth=np.maximum(top_depth, 0.0),
        **{name: columns[name] for name in ("strike", "dip", "rake", "slip", "length", "width")},
        start=columns["rupture_time"],
        rise=columns["rise_time"],
        fall=columns["fall_time"],
    )


def check_values(row: Row) -> None:
    """Raise UsageError if a value of a row is missing or out of range."""
    for name, (minimum, maximum, unit) in LIMITS.items():
        value = row.values.get(name, math.nan if name in REQUIRED else 0.0)
        if math.isnan(value):
            raise UsageError(f"{row.context}: has no {name}")
        if not minimum <= value <= maximum:
            raise UsageError(f"{row.context}: {name} is {value:g} {unit}; must be from {minimum:g} to {maximum:g}")


def number_in(text: str, name: str, context: str) -> float:
    """The number in a text. UsageError: there is none."""
    if not text:
        raise UsageError(f"{context}: the {name} is missing")
    try:
        return float(text)
    except ValueError:
        raise UsageError(f'{context}: the {name} is "{text}"; must be a number') from None


def table_rows(text: str, path: str) -> Iterator[Row]:
    """The rows of a table.

    UsageError: a column is missing, occurs twice or has an unknown unit, or a cell is not a number.
    """
    table = text_table.parse_table(text, path)
    columns: dict[str, tuple[str, float]] = {}
    for cell in filter(None, table.columns):
        name, factor = name_and_factor(cell, path)
        if name in columns:
            raise UsageError(f"{path}: the columns {columns[name][0]} and {cell} are both the {name}; delete one")
        columns[name] = cell, factor
    is_top = {"top_lon", "top_lat", "top_depth"} <= columns.keys()
    column_of = {name: name for name in LIMITS}
    if is_top:
        column_of |= {"longitude": "top_lon", "latitude": "top_lat", "depth": "top_depth"}
    if missing := [column_of[name] for name in REQUIRED if column_of[name] not in columns]:
        raise UsageError(
            f"{path}: is no param file of the USGS, no fsp file, and no table of subfaults, which needs the columns "
            f"{', '.join(missing)}"
        )
    for context in table.rows:
        cells = table.row(context)
        values = {
            name: columns[column][1] * number_in(cells[columns[column][0]], column, context)
            for name, column in column_of.items()
            if column in columns
        }
        if "fall_time" not in values:  # the whole time of the slip, half of it until it is fastest
            values["rise_time"] = values["fall_time"] = 0.5 * values.get("rise_time", 0.0)
        yield Row(context, values, TOP if is_top else CENTRE)


def name_and_factor(cell: str, path: str) -> tuple[str, float]:
    """The name of a column without its unit, and the factor of its unit: depth and 1000 for depth_km."""
    name = re.sub(r"\s+", "_", re.sub(r"[\[(].*", "", cell).strip())
    unit = (re.search(r"[\[(]\s*(.*?)\s*[\])]", cell) or ["", ""])[1]
    if not unit and (match := re.fullmatch(r"(.+)_(m|km|cm|deg|s)", name)):
        name, unit = match[1], match[2]
    name = COLUMN_NAMES.get(name, name)
    if unit and unit not in UNITS and name in (*LIMITS, "top_lon", "top_lat", "top_depth"):
        raise UsageError(f"{path}: the column {cell} has an unknown unit; known are {', '.join(UNITS)}")
    return name, UNITS.get(unit, 1.0)


#: Columns of a param file and of an fsp file, in capitals: the value and the factor to SI units.
PARAM_COLUMNS = {
    "LAT": ("latitude", DEGREE), "LON": ("longitude", DEGREE), "DEPTH": ("depth", KILOMETRE),
    "SLIP": ("slip", CENTIMETRE), "RAKE": ("rake", DEGREE), "STRIKE": ("strike", DEGREE), "DIP": ("dip", DEGREE),
    "T_RUP": ("rupture_time", SECOND), "T_RIS": ("rise_time", SECOND), "T_RISE": ("rise_time", SECOND),
    "T_FAL": ("fall_time", SECOND), "T_FALL": ("fall_time", SECOND),
}  # fmt: skip
FSP_COLUMNS = {
    "LAT": ("latitude", DEGREE), "LON": ("longitude", DEGREE), "Z": ("depth", KILOMETRE), "SLIP": ("slip", 1.0),
    "RAKE": ("rake", DEGREE), "STRIKE": ("strike", DEGREE), "STRK": ("strike", DEGREE), "DIP": ("dip", DEGREE),
    "TRUP": ("rupture_time", SECOND), "RISE": ("rise_time", SECOND),
}  # fmt: skip
#: An equals sign and a number.
NUMBER_PATTERN = r"\s*=\s*([-+.\deE]+)"
#: The line of a param file that begins a segment.
SEGMENT_PATTERN = re.compile(
    rf"nx.*?{NUMBER_PATTERN}.*Dx{NUMBER_PATTERN}\s*km.*ny.*?{NUMBER_PATTERN}.*Dy{NUMBER_PATTERN}\s*km"
)


def values_of_line(line: str, columns: list[str], meanings: dict, context: str) -> dict[str, float]:
    """The values of a line of numbers, in SI units and degrees, by the names in LIMITS.

    `meanings` maps each of the `columns` that is used to such a name and the factor of its unit.
    """
    cells = line.split()
    if len(cells) != len(columns):
        raise UsageError(f"{context}: has {len(cells)} values for {len(columns)} columns")
    known = [(meanings[name], name, cell) for name, cell in zip(columns, cells, strict=True) if name in meanings]
    return {name: factor * number_in(cell, label.lower(), context) for (name, factor), label, cell in known}


def param_rows(lines: dict[str, str], path: str) -> Iterator[Row]:
    """The rows of a param file, which has the size, the corners and a line for each subfault of each segment."""
    size: dict[str, float] = {}
    columns: list[str] = []
    n_expected = n_rows = 0
    for context, line in lines.items():
        if not line.lstrip().startswith("#"):
            if columns:
                values = size | values_of_line(line, columns, PARAM_COLUMNS, context)
                n_rows += 1
                yield Row(context, values)
            continue
        if match := SEGMENT_PATTERN.search(line):
            check_count(path, n_rows, n_expected)
            nx, dx, ny, dy = (number_in(text, "size of the segment", context) for text in match.groups())
            size, columns = {"length": dx * KILOMETRE, "width": dy * KILOMETRE}, []
            n_rows, n_expected = 0, round(nx * ny)
        names = [name.strip(".,").upper() for name in line.lstrip("# ").split()]
        if "LAT" in names or "LON" in names:
            columns = names if {"LAT", "LON", "SLIP"} <= {*names} else []  # the corners have no slip
    check_count(path, n_rows, n_expected)


def fsp_rows(lines: dict[str, str], path: str) -> Iterator[Row]:
    """The rows of an fsp file of one or several segments."""
    width_above = fsp_width_above("\n".join(lines.values()), path)
    header: dict[str, float] = {}
    columns: list[str] = []
    n_expected = n_rows = 0
    for context, line in lines.items():
        if line.lstrip().startswith("%"):
            if re.search(r"SEGMENT\s*#", line):
                check_count(path, n_rows, n_expected)
                n_rows, n_expected, columns = 0, 0, []
                header = {name: value for name, value in header.items() if name not in ("LEN", "WID", "Nx", "Nz")}
            header |= fsp_header(line, context)
            n_expected = round(header.pop("Nsbfs", n_expected))
            names = line.lstrip("% ").split()
            columns = [name.upper() for name in names] if {"LAT", "LON", "SLIP"} <= {*names} else columns
            continue
        if not columns:
            raise UsageError(f"{context}: no line above names the columns, as in % LAT LON X==EW Y==NS Z SLIP")
        values = fsp_values(values_of_line(line, columns, FSP_COLUMNS, context), header, context)
        if not n_rows:
            n_expected = n_expected or round(header.get("Nx", 0) * header.get("Nz", 0))
            check_size(header, n_expected, context)
        n_rows += 1
        yield Row(context, values, width_above)
    check_count(path, n_rows, n_expected)


def fsp_width_above(text: str, path: str) -> float:
    """`Subfaults.width_above` of an fsp file, from the statement in its header about its coordinates."""
    statement = re.search(r"coordinates are given for\s+([\w -]+?)\s+of", text, re.IGNORECASE)
    words = statement[1].lower().replace("-", " ") if statement else ""
    known = {"top center": TOP, "top centre": TOP, "center": CENTRE, "centre": CENTRE}
    if words not in known:
        problem = f'says "{statement[0]}"' if statement else "does not say what its coordinates are given for"
        raise UsageError(f'{path}: {problem}; must be "Coordinates are given for center of" or "for top-center of"')
    return known[words]


def fsp_header(line: str, context: str) -> dict[str, float]:
    """The numbers in a line of the header of an fsp file, as in STRK = 18.0."""
    keys = {"STRIKE": "STRI?KE?", "Dx": "(?:in)?Dx", "Dz": "(?:in)?Dz"}
    keys |= {name: name for name in ("DIP", "RAKE", "Nx", "Nz", "Nsbfs")}
    matches = {name: re.search(rf"\b{pattern}{NUMBER_PATTERN}", line) for name, pattern in keys.items()}
    matches |= {name: re.search(rf"\b{name}{NUMBER_PATTERN}\s*km", line) for name in ("LEN", "WID")}
    return {name: number_in(match[1], name, context) for name, match in matches.items() if match}


def fsp_values(values: dict[str, float], header: dict[str, float], context: str) -> dict[str, float]:
    """The values of a subfault, completed from the header; its slip is fastest in the middle of its duration."""
    for name in ("strike", "dip", "rake"):
        values.setdefault(name, header.get(name.upper(), math.nan))
    for name, key in (("length", "Dx"), ("width", "Dz")):
        if key not in header:
            raise UsageError(f"{context}: the header has no {key}, the {name} of the subfaults in km")
        values[name] = header[key] * KILOMETRE
    values["rise_time"] = values["fall_time"] = 0.5 * values.get("rise_time", 0.0)
    return values


def check_size(header: dict[str, float], n_subfaults: int, context: str) -> None:
    """Raise UsageError if the subfaults of a segment do not cover it."""
    if n_subfaults and {"LEN", "WID"} <= header.keys():
        segment_area = header["LEN"] * header["WID"]
        subfault_area = n_subfaults * header["Dx"] * header["Dz"]
        if abs(subfault_area - segment_area) > MAX_SIZE_DIFFERENCE * segment_area:
            raise UsageError(
                f"{context}: {n_subfaults} subfaults of {header['Dx']:g} km x {header['Dz']:g} km do not cover the "
                f"segment of {header['LEN']:g} km x {header['WID']:g} km; write a table with the size of each subfault"
            )


def check_count(path: str, n_rows: int, n_expected: int) -> None:
    """Raise UsageError if a segment has more or fewer subfaults than its header says."""
    if n_expected and n_rows != n_expected:
        raise UsageError(f"{path}: a segment has {n_rows} subfaults, but its header says {n_expected}")


#: The formats other than tables.
FORMATS = (
    FaultFormat(re.compile(r"^#\s*Fault_segment\s*=", re.MULTILINE | re.IGNORECASE), param_rows),
    FaultFormat(re.compile(r"^%.*FINITE-SOURCE", re.MULTILINE | re.IGNORECASE), fsp_rows),
)
