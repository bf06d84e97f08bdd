"""Where configuration values come from: a TOML file, environment variables, overrides of the command line or of Python.

Each source becomes a `Layer`: the values given, by section and key, each with the place that a message names.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import ConfigError, shortened, unknown

PREFIX = "SWMODEL_"
HEADER = re.compile(r"""\s*\[{1,2}\s*["']?([^\]"'.]+?)["']?\s*\]""")
KEY = re.compile(r"""\s*["']?([\w-]+)["']?(?:\s*\.\s*["']?([\w-]+)["']?)?\s*=""")

#: Lists of tables, [[station]] in place of output.stations.
LISTS = {"station": ("output", "stations"), "section": ("output", "sections"), "tracer": ("physics", "tracers")}
#: Sections of earlier versions that have another name.
RENAMED = {"own": "python"}

#: Largest size of a file, bytes; a complete one with all its comments has 10 kB, one with 20 000 gauges 1.4 MB.
LONGEST_FILE = 2_000_000
#: Most dots in a line: those of file names, numbers and keys.
MOST_DOTS = 100


class Given(NamedTuple):
    """A value, the place that gave it, and the folder that relative file names in it start from."""

    value: Any
    place: str
    folder: Path
    is_text: bool = False  # written on a command line or in a variable: still to be read as TOML or as a bare word
    tables: tuple[str, ...] = ()  # the places of the tables of a list of them


class Layer(NamedTuple):
    """What one source gives: {(section, key): Given}, and what is wrong with its form."""

    values: dict[tuple[str, str], Given]
    problems: list[str]


def read_file(path: Path, sections: Collection[str]) -> Layer:
    """The layer of a TOML file, of which `sections` are the tables; problems say `file:line`."""
    try:
        text = text_in(path, LONGEST_FILE, "configuration", "; many gauges go into another file: docs/stations.md")
    except ConfigError as error:
        return Layer({}, list(error.problems))
    try:
        tables = parse(text)
    except (ValueError, RecursionError) as error:
        at = re.search(r" \(at line (\d+), column \d+\)", str(error))
        place = f"{path}:{at[1] if at else max(1, len(text.splitlines()))}"
        return Layer({}, [f"{place}: not valid TOML: {str(error).replace(at[0] if at else '', '')}"])
    return flatten(tables, lines_of_keys(text), path, sections)


def text_in(path: Path, longest: int, what: str, more: str = "") -> str:
    """The text of a file that is to hold `what`, in at most `longest` bytes; `more` says what to do if it is longer."""
    if os.path.isdir(path):
        raise ConfigError([f"{path}: is a folder, not a file"])
    if not os.path.exists(path):
        raise ConfigError([f"{path}: there is no such file"])
    if not os.path.isfile(path):
        raise ConfigError([f"{path}: is a device or a pipe; write the {what} into a file"])
    try:
        if path.stat().st_size > longest:
            raise ConfigError([f"{path}: is no {what}: it has more than {longest} bytes{more}"])
        return path.read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text in UTF-8"
        raise ConfigError([f"{path}: cannot be read: {reason}"]) from None


def parse(text: str) -> dict[str, Any]:
    """The tables of a TOML text."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.count(".") > MOST_DOTS and not line.lstrip().startswith("#"):
            raise ValueError(f"more than {MOST_DOTS} dots (at line {number}, column 1)")
    return tomllib.loads(text)


def flatten(tables: Mapping, lines: Mapping, path: Path, sections: Collection[str]) -> Layer:
    """The layer of nested tables read from `path`; unknown tables and values outside any are problems."""
    layer = Layer({}, [])
    for section, table in tables.items():
        line = lines.get((section, None)) or lines.get((None, section))
        place = f"{path}:{line}" if line else f"{path}"
        if isinstance(table, list) and section in LISTS:
            if LISTS[section] in layer.values:
                layer.problems.append(f"{place}: give [[{section}]] or {'.'.join(LISTS[section])}, not both")
            named = [f"{section}, number {number}" for number in range(1, len(table) + 1)]
            each = tuple(
                f"{path}:{lines.get((name, None), line)}: [[{section}]]{name[len(section) :]}" for name in named
            )
            layer.values[LISTS[section]] = Given(table, f"{place}: [[{section}]]", path.parent, tables=each)
            continue
        if not isinstance(table, dict):
            wrong = "is a section: write its keys below" if section in sections else "stands outside a section such as"
            layer.problems.append(f'{place}: "{section}" {wrong} [{section if section in sections else "grid"}]')
            continue
        if section not in sections:
            known = [name for name in sections if name not in LISTS and name not in RENAMED]
            unknown(layer.problems, f"{place}: [{section}]", "section", section, known)
            continue
        for key, value in table.items():
            at = lines.get((section, key)) or line
            if (section, key) in layer.values:
                layer.problems.append(f"{path}:{at}: {section}.{key}: give it or its tables, not both")
            layer.values[section, key] = Given(value, f"{path}:{at}: {section}.{key}", path.parent)
    return layer


def lines_of_keys(text: str) -> dict[tuple[str | None, str | None], int]:
    """{(section, key): line}, {(section, None): line of its header} and {(None, key): line} outside sections.

    The headers of a list of tables are also there one by one, as those of "station, number 2".
    """
    found: dict[tuple[str | None, str | None], int] = {}
    section, headers = None, Counter[str]()
    for number, line in enumerate(text.splitlines(), 1):
        if header := HEADER.match(line):
            section = header[1]
            headers[section] += 1
            found.setdefault((section, None), number)
            found[f"{section}, number {headers[section]}", None] = number
        elif key := KEY.match(line):
            name = (section, key[1]) if section or not key[2] else (key[1], key[2])
            found.setdefault(name, number)
    return found


def from_mapping(tables: Mapping, place: str) -> Layer:
    """The layer of {section: {key: value}}, such as the defaults of a case."""
    return Layer(
        {
            (section, key): Given(value, f"{place}: {section}.{key}", Path())
            for section, table in tables.items()
            for key, value in table.items()
        },
        [],
    )


def from_environment(environ: Mapping[str, str], sections: Iterable[str]) -> Layer:
    """The layer of the variables SWMODEL_<SECTION>_<KEY>; variables of no section have other uses."""
    layer = Layer({}, [])
    for section in sections:
        start = f"{PREFIX}{section.upper()}_"
        for name, value in sorted(environ.items()):
            if name.startswith(start) and len(name) > len(start):
                layer.values[section, name[len(start) :].lower()] = Given(value, name, Path(), is_text=True)
    return layer


def from_overrides(overrides: Mapping[str, Any] | Iterable[str], known: Iterable[tuple[str, str]]) -> Layer:
    """The layer of {"grid.nx": 90} or of ["grid.nx=90"]; the latter as written after -s on the command line."""
    layer = Layer({}, [])
    if isinstance(overrides, Mapping):
        items = [(str(name), value, str(name)) for name, value in overrides.items()]
    else:
        items = []
        for text in [overrides] if isinstance(overrides, str) else overrides:
            name, equals, value = str(text).partition("=")
            if equals:
                items.append((name.strip(), value.strip(), f"-s {shortened(str(text))}"))
            else:
                layer.problems.append(f"-s {shortened(str(text))}: write it as section.key=value")
    for name, value, place in items:
        section, dot, key = name.partition(".")
        if dot:
            layer.values[section, key] = Given(value, place, Path(), is_text=isinstance(value, str))
            continue
        homes = [f"{section}.{key}" for section, key in known if key == name]
        hint = f'; did you mean "{homes[0]}"?' if homes else ", such as grid.nx"
        layer.problems.append(f"{place}: a key is written section.key{hint}")
    return layer


def read_text(text: str) -> Any:
    """A value written as TOML; what is not TOML stays a text."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        return parse(f"value = {text}\n")["value"] if "\n" not in text else text
    except (ValueError, RecursionError):
        return text
