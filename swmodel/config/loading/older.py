"""What configurations of earlier versions say in another way.

The section [tracer] is now a table [[tracer]], and the section [own] is [python]. Keys of single constituents, as
`open_sides.m2_amplitude` and `input.outside_m2_cosine`, are now lists with an element for each constituent.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import suggest
from ...ocean.elements import array_of, element, index_of
from ...ocean.terms.outside import ARRAYS, NAMES, PARTS
from ...setup.fields.netcdf_input.errors import remark
from ...setup.fields.netcdf_input.source import parse
from .sources import RENAMED, Given, Layer, from_mapping, read_text

#: Sections of earlier versions, and what their keys may be; "": a number.
SECTIONS = {"tracer": {"transport": ("none", "upwind"), "initial": ""}}
#: All sections that this version does not have.
READ = (*SECTIONS, *RENAMED)
#: The key of the tables of today, and one of earlier versions that is empty unless there is a tracer.
TRACERS, FILE = ("physics", "tracers"), ("input", "tracer")

#: Keys of a constituent in [open_sides]; fields of its tide in [input] and in Python.
NUMBER = re.compile(rf"({'|'.join(NAMES).lower()})_(amplitude|phase)")
FIELD = re.compile(rf"outside_({'|'.join(NAMES).lower()})_(transport_[xy]_)?(cosine|sine)")
#: The errors of the first guess of these fields in [assimilation].
SIGMA = re.compile(f"sigma_{FIELD.pattern}")
PATTERNS = {"open_sides": NUMBER, "input": FIELD, "assimilation": SIGMA}
#: The keys of the lists of today.
CONSTITUENTS, FIELDS, CONTROLS = ("open_sides", "constituents"), ("python", "fields"), ("assimilation", "controls")
LISTS = {"amplitude": ("open_sides", "amplitude"), "phase": ("open_sides", "phase")} | {
    array: ("input", array) for array in ARRAYS
}


class Older(NamedTuple):
    """What stands in layers for what earlier versions said: keys of today, and the number of the layer they are in."""

    values: dict[tuple[str, str], Given]
    number: int


def renewed(tables: dict) -> dict:
    """The tables {section: {key: value}} of a whole configuration as this version writes them."""
    (layer,), _ = expanded([from_mapping(tables, "")], lambda key, given: given.value, quiet=True)
    found: dict[str, dict[str, Any]] = {renamed((name, ""))[0]: {} for name in tables if name not in SECTIONS}
    for (section, key), given in layer.values.items():
        found.setdefault(section, {})[key] = given.value
    return found


def expanded(
    layers: Sequence[Layer], convert: Callable[[tuple[str, str], Given], Any], quiet: bool = False
) -> tuple[list[Layer], list[str]]:
    """The layers with today's keys in place of the earlier ones, of which a line is logged; and what is wrong.

    Args:
        convert: function of a key of today and what is given, to its value.
        quiet: nothing is logged.
    """
    problems: list[str] = []
    for at, each in (item for layer in layers for item in layer.values.items()):
        if renamed(at) != at and each.value and not quiet:
            remark(f"{each.place} is an earlier form; write {'.'.join(renamed(at))}")
    layers = [Layer({renamed(at): each for at, each in layer.values.items()}, layer.problems) for layer in layers]
    found = [*of_tracer(layers, problems), *of_tides(layers, convert, problems), *of_sigmas(layers, problems)]
    bare = [
        Layer({at: each for at, each in layer.values.items() if not is_old(at, each)}, layer.problems)
        for layer in layers
    ]
    for values, number in found:
        for at, given in values.items():
            bare[number].values[at] = given
        written = ", ".join(f"{'.'.join(at)} = {each.value}" for at, each in values.items() if each.value != [])
        if written and not quiet:
            remark(f"{next(iter(values.values())).place} is an earlier form; write {written}")
    for layer in bare:
        if texts := own_fields(layer):
            layer.values[FIELDS] = layer.values[FIELDS]._replace(value=[today(text) for text in texts])
        names = layer.values[CONTROLS].value if CONTROLS in layer.values else ()
        if isinstance(names, list | tuple) and any(isinstance(name, str) and FIELD.fullmatch(name) for name in names):
            layer.values[CONTROLS] = layer.values[CONTROLS]._replace(value=[today(str(name)) for name in names])
    return bare, problems


def renamed(at: tuple[str, str]) -> tuple[str, str]:
    """Section and key as this version calls them."""
    return RENAMED.get(at[0], at[0]), at[1]


def is_old(at: tuple[str, str], given: Given) -> bool:
    """Whether a key is one of earlier versions."""
    return at[0] in SECTIONS or (at == FILE and not given.value) or bool(match_of(at))


def match_of(at: tuple[str, str]) -> re.Match | None:
    """The match of a key of one constituent."""
    section, key = at
    return PATTERNS[section].fullmatch(key) if section in PATTERNS else None


def own_fields(layer: Layer) -> list[str]:
    """The texts that record fields of Python."""
    given = layer.values[FIELDS].value if FIELDS in layer.values else ()
    return [text for text in given if isinstance(text, str)] if isinstance(given, list | tuple) else []


def today(text: str) -> str:
    """The text that records a field of Python, or its name, as this version writes it."""
    name, *rest = text.split() or [""]
    match = FIELD.fullmatch(name)
    return " ".join([element_of(match), *rest]) if match else text


def element_of(match: re.Match) -> str:
    """The element of today for a field of one constituent."""
    constituent, of, part = match.groups()
    return element(f"outside_tide_{(of or 'level').removesuffix('_')}", constituent.upper(), part)


def earlier(name: str) -> str:
    """What earlier versions called an element; any other field has the same name."""
    if not index_of(name):
        return name
    array, (constituent, part) = array_of(name).removeprefix("outside_tide_"), index_of(name)
    return f"outside_{constituent.lower()}_{'' if array == 'level' else array + '_'}{part}"


def of_tides(layers: Sequence[Layer], convert, problems: list[str]) -> list[Older]:
    """The lists that stand for the keys of single constituents, on top of the lists of the layers up to them."""
    table: dict[str, dict[str, Any]] = {}  # {constituent: {key of LISTS, or (array, part): value}}
    last, asked = None, False
    for number, layer in enumerate(layers):
        if CONSTITUENTS in layer.values:
            names = convert(CONSTITUENTS, layer.values[CONSTITUENTS])
            table = {str(name).upper(): {} for name in (names if isinstance(names, tuple | list) else ())}
        for key, at in LISTS.items():
            values = convert(at, layer.values[at]) if at in layer.values else ()
            for name, value in zip(table, values if isinstance(values, tuple | list) else (), strict=False):
                table[name] |= {(key, part): value for part in PARTS} if key in ARRAYS else {key: value}
        for at, given in layer.values.items():
            if at[0] != "assimilation" and (match := match_of(at)):
                value = value_of(given, at, problems)
                name, asked = match[1].upper(), asked or bool(value)
                key = match[2] if at[0] == "open_sides" else (element_of(match).partition("[")[0], match[3])
                table.setdefault(name, {})[key] = value
                last = number, given.place if value or last is None else last[1]
    in_python = {FIELD.fullmatch(text.split()[0]) for layer in layers for text in own_fields(layer) if text.split()}
    for match in in_python - {None}:
        table.setdefault(match[1].upper(), {})["in Python"] = True
    if last is None or problems or not asked and not any(table.values()):
        return []
    names = [name for name in NAMES if any(value for key, value in table.get(name, {}).items() if key != "phase")]
    values: dict[tuple[str, str], Any] = {CONSTITUENTS: names}
    for key, at in LISTS.items():
        if key in ARRAYS:
            found = [both(table[name], key, f"{last[1]}: {at[0]}.{key}", problems) for name in names]
        else:
            found = [table[name].get(key, 0.0) for name in names]
        values[at] = found if any(found) else []
    return [Older({at: Given(value, last[1], Path()) for at, value in values.items()}, last[0])]


def of_sigmas(layers: Sequence[Layer], problems: list[str]) -> list[Older]:
    """The error of each array of the tide that stands for those of its fields, which have to be the same or zero."""
    found = []
    for number, layer in enumerate(layers):
        for at, given in layer.values.items():
            if at[0] == "assimilation" and (match := match_of(at)) and (value := value_of(given, at, problems)):
                key = ("assimilation", f"sigma_{array_of(element_of(match))}")
                found.append(Older({key: Given(value, given.place, Path())}, number))
    sizes = {(each.number, *each.values): next(iter(each.values.values())) for each in found}
    for each in found:
        ((key, given),) = each.values.items()
        if sizes[each.number, key].value != given.value:
            problems.append(f"{given.place}: has one value for all constituents; write {'.'.join(key)}")
    return list({(each.number, *each.values): each for each in found}.values())


def value_of(given: Given, at: tuple[str, str], problems: list[str]) -> Any:
    """The number of a key of an earlier version, or the entry with the file where it lies."""
    value = read_text(given.value) if given.is_text else given.value
    if at[0] == "input":
        return os.path.abspath(given.folder / str(value)) if value else ""
    if isinstance(value, bool) or not isinstance(value, int | float):
        problems.append(f"{given.place}: must be a number, not {value!r:.60}")
        return 0.0
    return float(value)


def both(given: dict, array: str, place: str, problems: list[str]) -> str:
    """The entry of an array for the two entries of a constituent's parts; "" where there are none."""
    cosine, sine = (given.get((array, part), "") for part in PARTS)
    if cosine == sine:
        return cosine
    first, second = parse(cosine), parse(sine)
    if not cosine or not sine or first._replace(name="") != second._replace(name="") or "," in first.name + second.name:
        problems.append(f"{place}: has an entry for each constituent, of two variables of one file: FILE:AMPLITUDE,LAG")
        return ""
    imaginary = second.name.removeprefix("-") if second.name.startswith("-") else f"-{second.name}"
    record = "" if first.record is None else f"@{first.record}"
    return f"{first.path}:{first.name},{imaginary}{record}"


def of_tracer(layers: Sequence[Layer], problems: list[str]) -> list[Older]:
    """The tables [[tracer]] that stand for a section [tracer]."""
    old: dict[str, Any] = {}
    last: tuple[int, str] | None = None
    for number, layer in enumerate(layers):
        for (section, key), given in layer.values.items():
            if section in SECTIONS:
                problems += problems_of(section, key, given)
                old[key] = read_text(given.value) if given.is_text else given.value
                last = number, given.place
    if last is None or problems:
        return []
    number, place = last
    if old.get("transport", "none") == "none":
        problems += [f"{place}: has no effect without a tracer; write a table [[tracer]]"] if old.get("initial") else []
        return []
    if any(TRACERS in layer.values and layer.values[TRACERS].value not in ((), []) for layer in layers):
        problems.append(f"{place}: write tables [[tracer]] alone, and no section [tracer]")
        return []
    table = {"name": "tracer", "initial": old.get("initial", 0.0), "diffusivity": 0.0}
    return [Older({TRACERS: Given([table], place, Path())}, number)]


def problems_of(section: str, key: str, given: Given) -> list[str]:
    """What is wrong with a key of an earlier version."""
    keys, value = SECTIONS[section], read_text(given.value) if given.is_text else given.value
    if key not in keys:
        return [f"{given.place}: no such key; {suggest(key, keys)}"]
    if keys[key] and value not in keys[key]:
        return [f'{given.place}: no choice "{value}"; {suggest(str(value), keys[key])}']
    if not keys[key] and (isinstance(value, bool) or not isinstance(value, int | float)):
        return [f"{given.place}: must be a number, not {value!r:.60}"]
    return []
