"""Sources of configuration values: a TOML file, environment variables, overrides from the command line or Python.

Each source becomes a ConfigLayer. A file that cannot be read as TOML raises ConfigError; other errors in the form of a
source are added to a list of problems, one line each.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from ...errors import ConfigError, shorten, suggest

ENVIRONMENT_PREFIX = "SWMODEL_"
#: The header of a table, and the beginning of a line with a key, in TOML.
HEADER_PATTERN = re.compile(r"""\s*\[{1,2}\s*["']?([^\]"'.]+?)["']?\s*\]""")
KEY_PATTERN = re.compile(r"""\s*["']?([\w-]+)["']?(?:\s*\.\s*["']?([\w-]+)["']?)?\s*=""")

#: Lists of tables and the keys that they stand for: [[station]] in place of output.stations.
LISTS_OF_TABLES = {
    "station": ("output", "stations"),
    "section": ("output", "sections"),
    "tracer": ("physics", "tracers"),
    "barrier": ("barriers", "lines"),
    "river": ("forcing", "rivers"),
    "drifters": ("output", "drifters"),
}

#: Largest size of a configuration file, bytes. All keys with comments take 27 kB, 20 000 gauges 1.4 MB.
MAX_CONFIG_FILE_BYTES = 2_000_000
#: Largest number of dots in a key or a value.
MAX_DOTS = 100


class ConfigValue(NamedTuple):
    """A value, its context in messages, such as "run.toml:5: grid.nx", and the folder for relative file names in it."""

    value: Any
    context: str
    folder: Path = Path()
    is_text: bool = False  # a string that is still to be read as TOML or as a bare word
    table_contexts: tuple[str, ...] = ()  # the context of each table in a list of tables
    is_in_metres: bool = False  # whether the tables are from a file whose positions are in m


#: The values of one source, by section and key.
ConfigLayer: TypeAlias = dict[tuple[str, str], ConfigValue]


def layer_from_file(path: Path, problems: list[str]) -> ConfigLayer:
    """The layer of a TOML file; each problem begins with `file:line`.

    ConfigError: the file cannot be read, is not TOML, or is empty.
    """
    text = read_text_file(path, MAX_CONFIG_FILE_BYTES, "configuration")
    try:
        tables = parse_toml(text)
    except (ValueError, RecursionError) as error:
        position = re.search(r" \(at line (\d+), column \d+\)", str(error))
        context = f"{path}:{position[1] if position else len(text.splitlines())}"
        raise ConfigError(
            [f"{context}: not valid TOML: {str(error).replace(position[0] if position else '', '')}"]
        ) from None
    if not tables:
        raise ConfigError([f"{path}: is empty; `swmodel init CASE > {path}` writes a configuration to start from"])
    return layer_from_tables(tables, line_numbers_of_keys(text), path, problems)


def read_text_file(path: Path, max_bytes: int, kind_of_file: str) -> str:
    """The text of a file. ConfigError: it cannot be read, or has more than `max_bytes`.

    `kind_of_file` says in messages what the file is.
    """
    if not os.path.exists(path):
        raise ConfigError([f"{path}: there is no such file"])
    if not os.path.isfile(path):
        raise ConfigError([f"{path}: is a folder, a device or a pipe, not a file"])
    try:
        if path.stat().st_size > max_bytes:
            raise ConfigError([f"{path}: is too large for a {kind_of_file}: it has more than {max_bytes} bytes"])
        return path.read_bytes().decode("utf-8-sig")  # without the byte order mark of some editors
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text in UTF-8"
        raise ConfigError([f"{path}: cannot be read: {reason}"]) from None


def parse_toml(text: str) -> dict[str, Any]:
    """The tables of a TOML text.

    ValueError: it is not TOML, or a key or a value has more than MAX_DOTS dots, because tomllib may need minutes for
    such texts.
    """
    for number, line in enumerate(text.splitlines(), 1):
        is_comment = line.lstrip().startswith("#")
        if not is_comment and any(part.count(".") > MAX_DOTS for part in re.split(r"[],=[{}]", line)):
            raise ValueError(f"more than {MAX_DOTS} dots in a key or a value (at line {number}, column 1)")
    return tomllib.loads(text)


def layer_from_tables(tables: Mapping, line_numbers: Mapping, path: Path, problems: list[str]) -> ConfigLayer:
    """The layer of tables read from `path`; unknown lists, values outside a table and keys given twice are problems."""
    layer: ConfigLayer = {}
    for section, table in tables.items():
        line = line_numbers.get((section, None)) or line_numbers.get((None, section), 1)
        context = f"{path}:{line}"
        if isinstance(table, list) and section in LISTS_OF_TABLES:
            numbers = range(1, len(table) + 1)
            table_contexts = tuple(
                f"{path}:{line_numbers.get((section, n), line)}: [[{section}]], number {n}" for n in numbers
            )
            new_values = {
                LISTS_OF_TABLES[section]: ConfigValue(
                    table, f"{context}: [[{section}]]", path.parent, table_contexts=table_contexts
                )
            }
        elif isinstance(table, list) and table and all(isinstance(each, dict) for each in table):
            problems.append(f'{context}: "{section}" is not a list of tables; {suggest(section, LISTS_OF_TABLES)}')
            continue
        elif not isinstance(table, dict):
            problems.append(f'{context}: "{section}" is outside a section: write [grid] or another one above it')
            continue
        else:
            contexts = {key: f"{path}:{line_numbers.get((section, key), line)}: {section}.{key}" for key in table}
            new_values = {
                (section, key): ConfigValue(value, contexts[key], path.parent) for key, value in table.items()
            }
        problems += [
            f"{new_values[key].context}: give {'.'.join(key)} or its tables, not both"
            for key in new_values
            if key in layer
        ]
        layer |= new_values
    return layer


def line_numbers_of_keys(text: str) -> dict[tuple[str | None, str | int | None], int]:
    """{(section, key): line}, {(section, None): line of its header} and {(None, key): line} outside sections.

    {(section, n): line of its header} is included for the n-th table in a list of tables, n = 1, 2, ...
    """
    line_number_of: dict[tuple[str | None, str | int | None], int] = {}
    section, header_counts = None, Counter[str]()
    for number, line in enumerate(text.splitlines(), 1):
        if header := HEADER_PATTERN.match(line):
            section = header[1]
            header_counts[section] += 1
            line_number_of.setdefault((section, None), number)
            line_number_of[section, header_counts[section]] = number
        elif key := KEY_PATTERN.match(line):
            line_number_of.setdefault((section, key[1]) if section or not key[2] else (key[1], key[2]), number)
    return line_number_of


def layer_from_mapping(tables: Mapping, context: str) -> ConfigLayer:
    """The layer of {section: {key: value}}, such as the defaults of a case."""
    return {
        (section, key): ConfigValue(value, f"{context}: {section}.{key}")
        for section, table in tables.items()
        for key, value in table.items()
    }


def layer_from_environment(environ: Mapping[str, str], sections: Iterable[str]) -> ConfigLayer:
    """The layer of the variables SWMODEL_<SECTION>_<KEY>, also of unknown sections.

    A variable with one word after the prefix, such as SWMODEL_CACHE, is not a key.
    """
    layer: ConfigLayer = {}
    prefixes = {f"{ENVIRONMENT_PREFIX}{section.upper()}_": section for section in sections}
    for name, value in sorted(environ.items()):
        if not name.startswith(ENVIRONMENT_PREFIX):
            continue
        prefix = next((each for each in prefixes if name.startswith(each)), None)
        section, _, key = name.removeprefix(ENVIRONMENT_PREFIX).lower().partition("_")
        if prefix is not None:
            section, key = prefixes[prefix], name.removeprefix(prefix).lower()
        if section and key:
            layer[section, key] = ConfigValue(value, name, is_text=True)
    return layer


def layer_from_overrides(
    overrides: Mapping[str, Any] | Iterable[str], known_keys: Iterable[tuple[str, str]], problems
) -> ConfigLayer:
    """The layer of {"grid.nx": 90}, or of ["grid.nx=90"], as on the command line after -s."""
    if isinstance(overrides, Mapping):
        items = [(str(name), value, str(name)) for name, value in overrides.items()]
    else:
        texts = [overrides] if isinstance(overrides, str) else list(map(str, overrides))
        problems += [f"-s {shorten(text)}: write it as section.key=value" for text in texts if "=" not in text]
        pairs = [(text, *text.split("=", 1)) for text in texts if "=" in text]
        items = [(name.strip(), value.strip(), f"-s {shorten(text)}") for text, name, value in pairs]
    layer: ConfigLayer = {}
    for name, value, context in items:
        section, dot, key = name.partition(".")
        if dot:
            layer[section, key] = ConfigValue(value, context, is_text=isinstance(value, str))
            continue
        full_names = [f"{section}.{key}" for section, key in known_keys if key == name]
        hint = f'; did you mean "{full_names[0]}"?' if full_names else ", such as grid.nx"
        problems.append(f"{context}: write the key as section.key{hint}")
    return layer


def parse_value(text: str) -> Any:
    """The value of a text in TOML; a text that is not TOML stays as it is."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        return parse_toml(f"value = {text}\n")["value"] if "\n" not in text else text
    except (ValueError, RecursionError):
        return text
