"""`output.stations = "gauges.csv"`: the stations of a run from a file with a line for each."""

from __future__ import annotations

import csv
import os
from pathlib import Path

from ...errors import ConfigError
from .sources import Given, text_in

#: Largest size of a file, bytes, and most stations in it.
LONGEST, MOST = 10_000_000, 20_000

#: Columns of the positions; each is a number.
PAIRS = ("lon", "lat"), ("x", "y")


def stations_in(given: Given) -> Given:
    """The tables [[station]] of a file of comma-separated values, with the lines that they come from.

    Its first line names the columns, among them name, and lon and lat (or x and y); others are passed over, as are
    empty lines and those that begin with #.
    """
    path = Path(os.path.abspath(given.folder / given.value))
    lines = text_in(path, LONGEST, "list of stations").removeprefix("\ufeff").splitlines()
    numbered = [(number, line) for number, line in enumerate(lines, 1) if line.strip() and not line.startswith("#")]
    rows = [[cell.strip() for cell in next(csv.reader([line]))] for _, line in numbered]
    columns = rows[0] if rows else []
    pair = next((pair for pair in PAIRS if {"name", *pair} <= set(columns)), None)
    if pair is None:
        found = ", ".join(columns) or "nothing"
        raise ConfigError(
            [f"{path}: its first line must name the columns name, lon, lat (or name, x, y); it has {found}"]
        )
    if len(rows) == 1:
        raise ConfigError([f"{path}: has no station below the line that names its columns"])
    if len(rows) - 1 > MOST:
        raise ConfigError([f"{path}: has {len(rows) - 1} stations; a run takes {MOST} at most"])
    problems, tables, places, seen = [], [], [], {}
    for (number, _), row in zip(numbered[1:], rows[1:], strict=True):
        place, cells = f"{path}:{number}", dict(zip(columns, row, strict=False))
        table = {"name": cells.get("name", "")}
        if len(row) != len(columns):
            problems.append(f"{place}: has {len(row)} values for {len(columns)} columns")
        elif table["name"] in seen:
            problems.append(f'{place}: "{table["name"]}" is there already, in line {seen[table["name"]]}')
        for key in pair if len(row) == len(columns) else ():
            try:
                table[key] = float(cells[key])
            except ValueError:
                problems.append(f'{place}: {key} must be a number, not "{cells[key]}"')
        seen.setdefault(table["name"], number)
        tables.append(table)
        places.append(place)
    if problems:
        raise ConfigError(problems)
    return given._replace(value=tuple(tables), is_text=False, tables=tuple(places))
