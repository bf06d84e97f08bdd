"""Sources of configuration values: a TOML file, environment variables, overrides of the command line or of Python.

Each source becomes a Layer. Errors of its form are added to a list of problems, one line each.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from ...errors import ConfigError, shortened

PREFIX = "SWMODEL_"
HEADER = re.compile(r"""\s*\[{1,2}\s*["']?([^\]"'.]+?)["']?\s*\]""")
KEY = re.compile(r"""\s*["']?([\w-]+)["']?(?:\s*\.\s*["']?([\w-]+)["']?)?\s*=""")

#: Lists of tables, [[station]] in place of output.stations.
LISTS = {"station": ("output", "stations"), "section": ("output", "sections"), "tracer": ("physics", "tracers")}
LISTS |= {"drifters": ("output", "drifters")}

#: Largest size of a file, bytes; a complete one with all its comments has 10 kB, one with 20 000 gauges 1.4 MB.
LONGEST_FILE = 2_000_000
#: Most dots in a line: those of file names, numbers and keys.
MOST_DOTS = 100


class Given(NamedTuple):
    """A value, its place in the source, and the folder for relative file names in it."""

    value: Any
    place: str
    folder: Path = Path()
    is_text: bool = False  # from a command line or a variable: still to be read as TOML or as a bare word
    tables: tuple[str, ...] = ()  # the place of each table in a list of tables


#: The values of one source, by section and key.
Layer: TypeAlias = dict[tuple[str, str], Given]


def read_file(path: Path, problems: list[str]) -> Layer:
    """The layer of a TOML file; problems say `file:line`."""
    text = text_in(path, LONGEST_FILE, "configuration")
    try:
        tables = parse(text)
    except (ValueError, RecursionError) as error:
        at = re.search(r" \(at line (\d+), column \d+\)", str(error))
        place = f"{path}:{at[1] if at else len(text.splitlines())}"
        raise ConfigError([f"{place}: not valid TOML: {str(error).replace(at[0] if at else '', '')}"]) from None
    if not tables:
        raise ConfigError([f"{path}: is empty; `swmodel init CASE > {path}` writes a configuration to start from"])
    return flatten(tables, lines_of_keys(text), path, problems)


def text_in(path: Path, longest: int, what: str) -> str:
    """The text of a file. ConfigError: it cannot be read, or is no `what` as it exceeds `longest` bytes."""
    if not os.path.exists(path):
        raise ConfigError([f"{path}: there is no such file"])
    if not os.path.isfile(path):
        raise ConfigError([f"{path}: is a folder, a device or a pipe, not a file"])
    try:
        if path.stat().st_size > longest:
            raise ConfigError([f"{path}: is no {what}: it has more than {longest} bytes"])
        return path.read_bytes().decode("utf-8-sig")  # without the mark of some editors
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text in UTF-8"
        raise ConfigError([f"{path}: cannot be read: {reason}"]) from None


def parse(text: str) -> dict[str, Any]:
    """The tables of a TOML text. ValueError: it is none; a name of thousands of parts would take tomllib minutes."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.count(".") > MOST_DOTS and not line.lstrip().startswith("#"):
            raise ValueError(f"more than {MOST_DOTS} dots (at line {number}, column 1)")
    return tomllib.loads(text)


def flatten(tables: Mapping, lines: Mapping, path: Path, problems: list[str]) -> Layer:
    """The layer of nested tables read from `path`; values outside a table are problems."""
    layer: Layer = {}
    for section, table in tables.items():
        line = lines.get((section, None)) or lines.get((None, section), 1)
        place = f"{path}:{line}"
        if isinstance(table, list) and section in LISTS:
            numbers = range(1, len(table) + 1)
            each = tuple(f"{path}:{lines.get((section, n), line)}: [[{section}]], number {n}" for n in numbers)
            found = {LISTS[section]: Given(table, f"{place}: [[{section}]]", path.parent, tables=each)}
        elif not isinstance(table, dict):
            problems.append(f'{place}: "{section}" stands outside a section: write [grid] or another above its keys')
            continue
        else:
            places = {key: f"{path}:{lines.get((section, key), line)}: {section}.{key}" for key in table}
            found = {(section, key): Given(value, places[key], path.parent) for key, value in table.items()}
        problems += [f"{found[at].place}: give {'.'.join(at)} or its tables, not both" for at in found if at in layer]
        layer |= found
    return layer


def lines_of_keys(text: str) -> dict[tuple[str | None, str | int | None], int]:
    """{(section, key): line}, {(section, None): line of its header} and {(None, key): line} outside sections.

    The headers of a list of tables are also there by their numbers, from 1.
    """
    found: dict[tuple[str | None, str | int | None], int] = {}
    section, headers = None, Counter[str]()
    for number, line in enumerate(text.splitlines(), 1):
        if header := HEADER.match(line):
            section = header[1]
            headers[section] += 1
            found.setdefault((section, None), number)
            found[section, headers[section]] = number
        elif key := KEY.match(line):
            found.setdefault((section, key[1]) if section or not key[2] else (key[1], key[2]), number)
    return found


def from_mapping(tables: Mapping, place: str) -> Layer:
    """The layer of {section: {key: value}}, such as the defaults of a case."""
    return {
        (section, key): Given(value, f"{place}: {section}.{key}")
        for section, table in tables.items()
        for key, value in table.items()
    }


def from_environment(environ: Mapping[str, str], sections: Iterable[str]) -> Layer:
    """The layer of the variables SWMODEL_<SECTION>_<KEY>, also of unknown sections.

    A variable with one word after the prefix, such as SWMODEL_CACHE, is no key.
    """
    layer: Layer = {}
    starts = {f"{PREFIX}{section.upper()}_": section for section in sections}
    for name, value in sorted(environ.items()):
        if not name.startswith(PREFIX):
            continue
        start = next((each for each in starts if name.startswith(each)), None)
        section, _, key = name.removeprefix(PREFIX).lower().partition("_")
        if start is not None:
            section, key = starts[start], name.removeprefix(start).lower()
        if section and key:
            layer[section, key] = Given(value, name, is_text=True)
    return layer


def from_overrides(overrides: Mapping[str, Any] | Iterable[str], known: Iterable[tuple[str, str]], problems) -> Layer:
    """The layer of {"grid.nx": 90} or of ["grid.nx=90"]; the latter as written after -s on the command line."""
    if isinstance(overrides, Mapping):
        items = [(str(name), value, str(name)) for name, value in overrides.items()]
    else:
        texts = [overrides] if isinstance(overrides, str) else list(map(str, overrides))
        problems += [f"-s {shortened(text)}: write it as section.key=value" for text in texts if "=" not in text]
        pairs = [(text, *text.split("=", 1)) for text in texts if "=" in text]
        items = [(name.strip(), value.strip(), f"-s {shortened(text)}") for text, name, value in pairs]
    layer: Layer = {}
    for name, value, place in items:
        section, dot, key = name.partition(".")
        if dot:
            layer[section, key] = Given(value, place, is_text=isinstance(value, str))
            continue
        homes = [f"{section}.{key}" for section, key in known if key == name]
        hint = f'; did you mean "{homes[0]}"?' if homes else ", such as grid.nx"
        problems.append(f"{place}: a key is written section.key{hint}")
    return layer


def read_text(text: str) -> Any:
    """The value of a text in TOML; any other text stays a text."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        return parse(f"value = {text}\n")["value"] if "\n" not in text else text
    except (ValueError, RecursionError):
        return text
