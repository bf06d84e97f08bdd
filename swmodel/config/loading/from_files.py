"""Keys that name files: grid.file, input.state, tide and atlas of open_boundaries, and lists of tables."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from ... import text_table
from ...errors import ConfigError, UsageError
from ...ocean.terms.boundary_data import CONSTITUENTS
from ...ocean.terms.tide import expand_names
from ...setup.fields.netcdf_input import InputError
from ...setup.fields.netcdf_input.atlas import read_atlas
from ...setup.fields.netcdf_input.model_files import read_grid_keys, read_harmonic_constants
from ...setup.fields.start_state import keys_from_state, newest_restart_file
from ..messages import format_value
from .barrier_lines import MAX_TEXT_FILE_BYTES, POSITION_COLUMNS, TEXT_ENDINGS, read_barriers
from .sources import ConfigLayer, ConfigValue, read_text_file

GRID_FILE_KEY, STATE_KEY = ("grid", "file"), ("input", "state")
TIDE_FILE_KEY, SIDES_KEY = ("open_boundaries", "tide"), ("open_boundaries", "sides")
ATLAS_KEY, ATLAS_FOLDER_KEY = ("open_boundaries", "atlas"), ("open_boundaries", "atlas_folder")
CONSTITUENTS_KEY = ("open_boundaries", "constituents")
#: Keys of [grid] that need not agree with the contents of `grid.file`, and the fields in that file.
KEYS_BESIDE_GRID_FILE, FIELDS_OF_GRID_FILE = ("file", "radius", "rotation", "origin"), ("depth", "mask")

BARRIERS_KEY = ("barriers", "lines")
#: The lists of tables that may come from a file, and the columns of stations and drifters besides the positions.
TABLE_FILE_COLUMNS = {("output", "stations"): ["name"], ("output", "drifters"): [], BARRIERS_KEY: []}
#: Largest number of stations or drifters in a file.
MAX_TABLES = 20_000


def expand_files(layers: Sequence[ConfigLayer], convert: Callable, problems: list[str]) -> list[ConfigLayer]:
    """The layers, in which the contents of files replace the last value of each key in LAYER_FUNCTIONS.

    Other keys of the same layer or of later layers take precedence over the contents; keys of [grid] must agree with
    the contents. `convert((section, key), ConfigValue)` returns the value in the type of its option. Messages about
    files that cannot be used are added to `problems`.
    """
    sides, tide_file = last_value(layers, SIDES_KEY), last_value(layers, TIDE_FILE_KEY)
    for file_key, layer_function in LAYER_FUNCTIONS.items():
        entry = last_value(layers, file_key)
        layer_index = max((number for number, layer in enumerate(layers) if file_key in layer), default=0)
        layers = [{key: each for key, each in layer.items() if key != file_key} for layer in layers]
        if entry is None or not entry.value:
            continue
        if file_key in (TIDE_FILE_KEY, ATLAS_KEY) and not (sides and sides.value):
            problems.append(f"{entry.context}: has no effect without open_boundaries.sides")
            continue
        if file_key == ATLAS_KEY and tide_file and tide_file.value:
            problems.append(f"{entry.context}: give open_boundaries.atlas or open_boundaries.tide, not both")
            continue
        if file_key == ATLAS_KEY:
            folder, names = last_value(layers, ATLAS_FOLDER_KEY), last_value(layers[layer_index:], CONSTITUENTS_KEY)
            layers = [{key: each for key, each in layer.items() if key != ATLAS_FOLDER_KEY} for layer in layers]
            layer_function = partial(layer_from_atlas, folder, names and convert(CONSTITUENTS_KEY, names))
        try:
            layer_of_file = layer_function(entry)
        except InputError as error:
            problems.append(f"{entry.context}: {error}")
            continue
        if file_key == GRID_FILE_KEY:
            problems += grid_contradictions(layer_of_file, layers[layer_index:], convert)
        layers[layer_index] = layer_of_file | layers[layer_index]
    return list(layers)


def last_value(layers: Sequence[ConfigLayer], key: tuple[str, str]) -> ConfigValue | None:
    return next((layer[key] for layer in reversed(layers) if key in layer), None)


def absolute_path(entry: ConfigValue) -> str:
    return os.path.abspath(entry.folder / str(entry.value))


def layer_from_grid_file(entry: ConfigValue) -> ConfigLayer:
    """The section [grid] of a file of `swmodel grid`, and its depth and mask."""
    path = absolute_path(entry)
    layer = {("grid", key): ConfigValue(value, f"{path}: grid.{key}") for key, value in read_grid_keys(path).items()}
    return layer | {("input", name): ConfigValue(f"{path}:{name}", entry.context) for name in FIELDS_OF_GRID_FILE}


def grid_contradictions(file_layer: ConfigLayer, layers: Sequence[ConfigLayer], convert: Callable) -> list[str]:
    problems = []
    for section_and_key, entry in (item for layer in layers for item in layer.items() if item[0][0] == "grid"):
        value = convert(section_and_key, entry)
        value = list(value) if isinstance(value, tuple) else value
        is_in_file = section_and_key in file_layer
        file_value = file_layer[section_and_key].value if is_in_file else None
        if section_and_key[1] not in KEYS_BESIDE_GRID_FILE and value != file_value:
            file_text = format_value(file_value) if is_in_file else "the cells"
            problems.append(f"{entry.context}: grid.file gives {file_text}; leave out one of the two")
    return problems


def layer_from_tide_file(entry: ConfigValue) -> ConfigLayer:
    """The constituents and the entries of [input] from the harmonics.nc of another run."""
    return layer_from_tide_keys(read_harmonic_constants(absolute_path(entry)), entry)


def layer_from_atlas(folder: ConfigValue | None, constituents, entry: ConfigValue) -> ConfigLayer:
    """The constituents of a tidal atlas, all or those in `constituents`, and the entries of [input] for its files."""
    if not (folder and folder.value):
        raise InputError("needs open_boundaries.atlas_folder, the folder with the files of the atlas")
    names = expand_names(constituents)  # the checks of the key refuse other values
    wanted = [name for name in names if name in CONSTITUENTS] if isinstance(names, tuple) else ()
    return layer_from_tide_keys(read_atlas(str(entry.value), absolute_path(folder), wanted), entry)


def layer_from_tide_keys(values: dict[str, tuple[str, ...]], entry: ConfigValue) -> ConfigLayer:
    return {
        ("open_boundaries" if key == "constituents" else "input", key): ConfigValue(value, entry.context)
        for key, value in values.items()
    }


def layer_from_restart_file(entry: ConfigValue) -> ConfigLayer:
    """The restart file, as `input.state`, and the keys of a run that starts at its date (`keys_from_state`)."""
    path = newest_restart_file(absolute_path(entry))
    if not os.path.exists(path):
        raise InputError(f"there is no file or folder {path}")
    values = {STATE_KEY: path} | keys_from_state(path)
    return {key: ConfigValue(value, entry.context) for key, value in values.items()}


#: Functions that return the layer of a file, by the key that names it.
LAYER_FUNCTIONS: dict[tuple[str, str], Callable[..., ConfigLayer]] = {
    GRID_FILE_KEY: layer_from_grid_file,
    TIDE_FILE_KEY: layer_from_tide_file,
    ATLAS_KEY: layer_from_atlas,
    STATE_KEY: layer_from_restart_file,
}


def read_tables(entry: ConfigValue, list_key: tuple[str, str]) -> ConfigValue:
    """The tables [[station]], [[drifters]] or [[barrier]] of a file, with the context of each table in messages.

    A text table of stations or drifters has the columns lon and lat (or x and y); stations also have a name.
    ConfigError: the file cannot be used.
    """
    names, kind_of_list = TABLE_FILE_COLUMNS[list_key], list_key[1]
    path = Path(absolute_path(entry))
    if list_key == BARRIERS_KEY:
        barriers = read_barriers(path)
        contexts = tuple(f'{path}: the barrier "{each["name"]}"' for each in barriers)
        in_metres = path.suffix.lower() in TEXT_ENDINGS and not barriers[0]["crs"]
        return entry._replace(value=barriers, is_text=False, table_contexts=contexts, is_in_metres=in_metres)
    try:
        table = text_table.parse_table(read_text_file(path, MAX_TEXT_FILE_BYTES, f"list of {kind_of_list}"), str(path))
    except UsageError as error:
        raise ConfigError([str(error)]) from None
    pair = next((pair for pair in POSITION_COLUMNS if {*names, *pair} <= set(table.columns)), None)
    if pair is None:
        column_lists = (", ".join([*names, *pair]) for pair in POSITION_COLUMNS)
        raise ConfigError([f"{path}: its first line must name the columns {' (or '.join(column_lists)})"])
    if not 0 < len(table.rows) <= MAX_TABLES:
        raise ConfigError([f"{path}: has {len(table.rows)} {kind_of_list}; it must have 1 to {MAX_TABLES}"])
    tables: list[dict[str, float | str]] = []
    problems: list[str] = []
    for context in table.rows:
        try:
            cells = table.row(context)
            tables.append({key: to_number(cells[key]) if key in pair else cells[key] for key in (*names, *pair)})
        except UsageError as error:
            problems.append(str(error))
    if problems:
        raise ConfigError(problems)
    return entry._replace(value=tuple(tables), is_text=False, table_contexts=tuple(table.rows))


def to_number(text: str) -> float | str:
    """The text as a number if it is one; the checks of tables refuse other texts."""
    try:
        return float(text)
    except ValueError:
        return text
