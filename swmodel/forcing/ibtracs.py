"""Tracks in the files of IBTrACS, version 4: CSV with a row for each fix, NetCDF with a row for each storm."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np

from ..errors import UsageError
from .fixes import HECTOPASCAL, KNOT, NAUTICAL_MILE, Fix, fix_of_line, parse_number, parse_positive, storm_names
from .holland import ONE_TO_TEN_MINUTE_WIND

if TYPE_CHECKING:
    import netCDF4

#: Agencies in IBTrACS, in lower case, whose winds are means over ten minutes.
TEN_MINUTE_AGENCIES = {"tokyo", "reunion", "bom", "nadi", "wellington", "hko"}
#: Names in IBTrACS of storms without a name.
UNNAMED = {"NOT_NAMED", "UNNAMED", "NOT NAMED"}
#: The first line of the CSV file; the second has the units and no SID.
IBTRACS_HEADER = re.compile(r'"?SID"?,"?SEASON"?,')
#: The number of the line with units, and {last part of the name of a column: its unit}.
UNITS_LINE, UNITS = 2, {"wind": "kts", "pres": "mb", "poci": "mb", "rmw": "nmile"}
#: Variables [storm, date_time] with numbers, and those with text.
NUMERIC_VARIABLES = (
    *("lat", "lon", "usa_wind", "wmo_wind", "usa_pres", "wmo_pres", "usa_poci", "bom_poci"),
    *("usa_rmw", "bom_rmw", "reunion_rmw"),
)
TEXT_VARIABLES = ("iso_time", "wmo_agency")


def read_csv_fixes(header: str, lines: Iterator[str], path, storm: str) -> Iterator[Fix]:
    """The fixes of the storms that match `storm` (empty: of the first storm), and the first fix of every other storm.

    Other lines are skipped, so an archive of 700 000 lines takes little memory.
    """
    columns = {name.strip().lower(): n for n, name in enumerate(next(csv.reader([header])))}
    missing = [name for name in ("sid", "season", "name", "iso_time", "lat", "lon") if name not in columns]
    if missing:
        raise UsageError(f"{path}: lacks the columns {', '.join(missing)} of IBTrACS")
    is_chosen: dict[str, bool] = {}
    for number, line in enumerate(lines, 2):
        cells = line.split(",") if '"' not in line else next(csv.reader([line]))
        sid = cells[columns["sid"]].strip()
        if number == UNITS_LINE and not sid:
            check_units(dict(zip(columns, cells, strict=False)), path)
        if not sid or is_chosen.get(sid) is False:
            continue
        row = {name: cells[n].strip() if n < len(cells) else "" for name, n in columns.items()}
        name = "" if row["name"] in UNNAMED else row["name"]
        if "spur" in row.get("track_type", "").lower():
            continue
        if sid not in is_chosen:
            is_chosen[sid] = storm.upper() in storm_names(sid, name, {row["season"]}) if storm else not is_chosen
        if len(cells) == len(columns):
            yield ibtracs_fix(f"{path}:{number}", sid, name, row)
        else:
            problem = f"cannot be read: it has {len(cells)} values for {len(columns)} columns"
            yield Fix(f"{path}:{number}", sid, name, None, [], row["season"], problem)


def check_units(units: dict[str, str], path) -> None:
    """Raise UsageError if a column of the CSV file has another unit than in IBTrACS."""
    for column, unit in units.items():
        if (expected := UNITS.get(column.rpartition("_")[2])) and unit.strip() not in ("", expected):
            raise UsageError(f"{path}:{UNITS_LINE}: {column.upper()} is in {unit.strip()}; must be in {expected}")


def ibtracs_fix(context: str, sid: str, name: str, row: dict[str, str]) -> Fix:
    """The fix in a row of IBTrACS, {column in lower case: text}."""

    def parse():
        try:
            date = datetime.fromisoformat(row["iso_time"])
        except ValueError:
            raise ValueError(f'the time is "{row["iso_time"]}"') from None
        lon, lat = (parse_number(axis, row[axis]) for axis in ("lon", "lat"))
        return date, [lon, lat, *ibtracs_values({key: text for key, text in row.items() if text})]

    return fix_of_line(context, sid, name, parse, row["season"])


def ibtracs_values(row: dict[str, str]) -> tuple[float, float, float, float]:
    """Wind, central and outer pressure and radius of largest wind, SI, from a row {column: text}; NaN where missing.

    Values of the American agencies are preferred, then those of the WMO's agency, the BoM or La Reunion.
    """

    def first_value(columns: Iterable[str], unit: float) -> float:
        return next((parse_positive(column, row[column], unit) for column in columns if column in row), math.nan)

    is_ten_minute_wind = "usa_wind" not in row and row.get("wmo_agency", "").lower() in TEN_MINUTE_AGENCIES
    return (
        first_value(("usa_wind", "wmo_wind"), KNOT / (ONE_TO_TEN_MINUTE_WIND if is_ten_minute_wind else 1.0)),
        first_value(("usa_pres", "wmo_pres"), HECTOPASCAL),
        first_value(("usa_poci", "bom_poci"), HECTOPASCAL),
        first_value(("usa_rmw", "bom_rmw", "reunion_rmw"), NAUTICAL_MILE),
    )


def read_netcdf_fixes(path, storm: str) -> list[Fix]:
    """The fixes of the storms that match `storm` (empty: of the first storm), and one without a date of every other.

    UsageError: the file is not a NetCDF file of IBTrACS.
    """
    import netCDF4  # imported here, because the build of the package imports the cases and has no netCDF4

    with netCDF4.Dataset(path) as data:
        missing = [name for name in ("sid", "name", "season", "iso_time", "lat", "lon") if name not in data.variables]
        if missing:
            raise UsageError(f"{path}: is not a NetCDF file of IBTrACS; it lacks {', '.join(missing)}")
        sids, names = (decode_texts(data[name][:]) for name in ("sid", "name"))
        seasons = [str(int(season)) for season in np.ma.filled(data["season"][:], 0)]
        types = decode_texts(data["track_type"][:]) if "track_type" in data.variables else [""] * len(sids)
        fixes: list[Fix] = []
        for storm_index, (sid, name, season) in enumerate(zip(sids, names, seasons, strict=True)):
            name = "" if name in UNNAMED else name
            if "spur" in types[storm_index].lower():
                continue
            is_chosen = storm.upper() in storm_names(sid, name, {season}) if storm else not fixes
            fixes += (
                fixes_of_storm(data, path, storm_index, (sid, name, season))
                if is_chosen
                else [Fix(f"{path}: storm {storm_index}", sid, name, None, [], season)]
            )
    return fixes


def fixes_of_storm(data: netCDF4.Dataset, path, storm_index: int, identity: tuple[str, str, str]) -> list[Fix]:
    """The fixes of the storm with this index; `identity`: its identifier, name and season."""
    sid, name, season = identity
    columns = {key: decode_texts(data[key][storm_index]) for key in TEXT_VARIABLES if key in data.variables}
    for key in NUMERIC_VARIABLES:
        if key in data.variables:
            numbers = np.ma.filled(data[key][storm_index].astype(np.float64), np.nan)
            columns[key] = ["" if np.isnan(number) else repr(float(number)) for number in numbers]
    return [
        ibtracs_fix(
            f"{path}: {sid} at {date}",
            sid,
            name,
            {key: column[n] for key, column in columns.items()} | {"season": season},
        )
        for n, date in enumerate(columns["iso_time"])
        if date
    ]


def decode_texts(characters) -> list[str]:
    """The texts in an array of characters [n, length]."""
    import netCDF4

    return [str(text).strip() for text in netCDF4.chartostring(np.ma.filled(characters, b" "))]
