"""Keys that name a file: `grid.file`, `input.state`, `open_sides.tide`, `output.stations`, `output.drifters`."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from ... import text_table
from ...errors import ConfigError, UsageError
from ...setup.fields.netcdf_input import InputError
from ...setup.fields.netcdf_input.made_files import constants_in, keys_in
from ...setup.fields.stored import keys_of, newest
from ..messages import show
from .sources import Given, Layer, text_in

GRID, TIDE, SIDES = ("grid", "file"), ("open_sides", "tide"), ("open_sides", "sides")
STATE = ("input", "state")
#: Keys of [grid] that stay the user's own beside `grid.file`, and the fields that its file has.
FREE, FIELDS = ("file", "radius", "rotation", "origin"), ("depth", "mask")

#: The lists of tables that a file may have, and the column besides the positions.
LISTED = {("output", "stations"): ["name"], ("output", "drifters"): []}
#: Largest size of such a file, bytes, and most tables in it; columns of the positions.
LONGEST, MOST = 10_000_000, 20_000
PAIRS = ("lon", "lat"), ("x", "y")


def expanded(layers: Sequence[Layer], convert: Callable, problems: list[str]) -> list[Layer]:
    """The layers with what their last `grid.file`, `open_sides.tide` and `input.state` stand for in place of these.

    Keys of the same layer or a later one take precedence; those of [grid] must agree with the file.
    `convert((section, key), Given)` gives the value in Python's type.
    """
    sides = [layer[SIDES].value for layer in layers if SIDES in layer]
    for at in (GRID, TIDE, STATE):
        given = next((layer[at] for layer in reversed(layers) if at in layer), None)
        last = max((number for number, layer in enumerate(layers) if at in layer), default=0)
        layers = [{key: each for key, each in layer.items() if key != at} for layer in layers]
        if given is None or not given.value:
            continue
        if at == TIDE and not (sides and sides[-1]):
            problems.append(f"{given.place}: has no effect without open_sides.sides")
            continue
        path = os.path.abspath(given.folder / str(given.value))
        try:
            found = OF_FILE[at](path, given)
        except InputError as error:
            problems.append(f"{given.place}: {error}")
            continue
        if at == GRID:
            problems += disagreements(found, layers[last:], convert)
        layers[last] = found | layers[last]
    return list(layers)


def grid_of(path: str, given: Given) -> Layer:
    """The section [grid] of a file of `swmodel grid`, and its depth and mask."""
    found = {("grid", key): Given(value, f"{path}: grid.{key}") for key, value in keys_in(path).items()}
    return found | {("input", name): Given(f"{path}:{name}", given.place) for name in FIELDS}


def disagreements(found: Layer, layers: Sequence[Layer], convert: Callable) -> list[str]:
    """Lines about keys of [grid] that contradict the file."""
    problems = []
    for at, given in (item for layer in layers for item in layer.items() if item[0][0] == "grid"):
        value, in_file = convert(at, given), found[at].value if at in found else None
        if at[1] not in FREE and (list(value) if isinstance(value, tuple) else value) != in_file:
            there = show(in_file) if at in found else "the cells"
            problems.append(f"{given.place}: grid.file gives {there}; leave out one of both")
    return problems


def tide_of(path: str, given: Given) -> Layer:
    """The constituents and the entries of [input] from the harmonics.nc of another run."""
    return {
        ("open_sides" if key == "constituents" else "input", key): Given(value, given.place)
        for key, value in constants_in(path).items()
    }


def state_of(path: str, given: Given) -> Layer:
    """The restart file with the state, which stays a key, and the date from which the run goes on."""
    path = newest(path)
    if not os.path.exists(path):
        raise InputError(f"there is no file or folder {path}")
    return {at: Given(value, given.place) for at, value in ({STATE: path} | keys_of(path)).items()}


#: What keys stand for, by the file that they name.
OF_FILE = {GRID: grid_of, TIDE: tide_of, STATE: state_of}


def tables_in(given: Given, at: tuple[str, str]) -> Given:
    """The tables [[station]] or [[drifters]] of a text file (`text_table`), with the line number of each.

    Its columns are lon and lat (or x and y), and the name of a station. Others are ignored.
    """
    names, what = LISTED[at], at[1]
    path = Path(os.path.abspath(given.folder / given.value))
    try:
        table = text_table.parsed(text_in(path, LONGEST, f"list of {what}"), str(path))
    except UsageError as error:
        raise ConfigError([str(error)]) from None
    pair = next((pair for pair in PAIRS if {*names, *pair} <= set(table.columns)), None)
    if pair is None:
        wanted = (", ".join([*names, *pair]) for pair in PAIRS)
        raise ConfigError([f"{path}: its first line must name the columns {' (or '.join(wanted)})"])
    if not 0 < len(table.rows) <= MOST:
        raise ConfigError([f"{path}: has {len(table.rows)} {what}; it must have 1 to {MOST}"])
    tables, problems = [], []
    for line in table.rows:
        try:
            cells = table.row(line)
            tables.append({name: cells[name] for name in names} | {key: number(cells[key]) for key in pair})
        except UsageError as error:
            problems.append(str(error))
    if problems:
        raise ConfigError(problems)
    return given._replace(value=tuple(tables), is_text=False, tables=tuple(table.rows))


def number(text: str) -> float | str:
    """The text as a number where it is one; the checks of tables refuse other texts."""
    try:
        return float(text)
    except ValueError:
        return text
