"""What configurations of earlier versions say in another way: it is read, and a line says what to write now.

The section [own] is [python]. A section [tracer] is a table [[tracer]]. Keys of single constituents, as
`open_sides.m2_amplitude` and `input.outside_m2_cosine`, are lists with an element for each constituent.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from typing import Any

from ...ocean.elements import array_of, element, index_of
from ...ocean.terms.outside import ARRAYS, NAMES
from ...setup.fields.netcdf_input.errors import remark
from ...setup.fields.netcdf_input.source import parse
from .sources import Given, Layer, from_mapping, read_text

#: Sections that this version does not have.
READ = ("tracer", "own")
#: The keys of today that stand for those of earlier versions.
TRACERS, FIELDS, CONTROLS = ("physics", "tracers"), ("python", "fields"), ("assimilation", "controls")
CONSTITUENTS = ("open_sides", "constituents")
#: Those with an element for each constituent, and that of one without a value.
LISTS = {("open_sides", "amplitude"): 0.0, ("open_sides", "phase"): 0.0, **{("input", array): "" for array in ARRAYS}}

#: Keys of a constituent in [open_sides]; fields of its tide in [input], in Python and in [assimilation].
NUMBER = re.compile(rf"({'|'.join(NAMES).lower()})_(amplitude|phase)")
FIELD = re.compile(rf"outside_({'|'.join(NAMES).lower()})_(transport_[xy]_)?(cosine|sine)")
PATTERNS = {"open_sides": NUMBER, "input": FIELD, "assimilation": re.compile(f"sigma_{FIELD.pattern}")}


def renewed(tables: dict) -> dict:
    """The tables {section: {key: value}} of a whole configuration as this version writes them."""
    (layer,) = expanded([from_mapping(tables, "")], lambda at, given: given.value, [], quiet=True)
    found: dict[str, dict[str, Any]] = {renamed((name, ""))[0]: {} for name in tables if name != "tracer"}
    for (section, key), given in layer.items():
        found.setdefault(section, {})[key] = given.value
    return found


def expanded(layers: Sequence[Layer], convert: Callable, problems: list[str], quiet: bool = False) -> list[Layer]:
    """The layers with today's keys in place of the earlier ones, of which a line is logged.

    Args:
        convert: function of (section, key) of today and Given to the value as Python wants it.
        problems: what is wrong is added to it.
        quiet: nothing is logged.
    """
    found: list[Layer] = []
    tide: dict[str, dict] = {}
    for layer in layers:
        old = {at: each for at, each in layer.items() if is_old(at, each)}
        new = {at: each for at, each in layer.items() if at not in old}
        made = {renamed(at): each for at, each in old.items() if renamed(at) != at and value_of(each)}
        for at in (FIELDS, CONTROLS):
            given = (new | made).get(at)
            if given and not given.is_text and isinstance(given.value, list | tuple):
                (made if at in made else new)[at] = given._replace(value=[today(text) for text in given.value])
        made |= of_tracer(old, TRACERS in new, problems)
        made |= of_tide(tide, layer, old, convert, problems)
        found.append(new | made)
        written = [f"{'.'.join(at)} = {each.value}" for at, each in made.items() if each.value not in ([], ())]
        if written and not quiet:
            remark(f"{next(iter(old.values())).place} is an earlier form; write {', '.join(written)}")
    return found


def is_old(at: tuple[str, str], given: Given) -> bool:
    """Whether a key is one of earlier versions; they had `input.tracer` without any tracer, too."""
    return at[0] in READ or bool(match_of(at)) or (at == ("input", "tracer") and not given.value)


def renamed(at: tuple[str, str]) -> tuple[str, str]:
    """Section and key as this version calls them: an array of the tide has one error of the first guess."""
    if at[0] == "assimilation" and (match := match_of(at)):
        return at[0], f"sigma_{array_of(element_of(match))}"
    return ("python", at[1]) if at[0] == "own" else at


def match_of(at: tuple[str, str]) -> re.Match | None:
    """The match of a key of one constituent."""
    section, key = at
    return PATTERNS[section].fullmatch(key) if section in PATTERNS else None


def today(text: Any) -> Any:
    """The text that records a field of Python, or its name, as this version writes it."""
    name, *rest = str(text).split() or [""]
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


def of_tracer(old: Layer, tables: bool, problems: list[str]) -> Layer:
    """The tables [[tracer]] that stand for a section [tracer]; `tables`: there are some beside it."""
    section = {at[1]: each for at, each in old.items() if at[0] == "tracer"}
    values = {"transport": "none", "initial": 0.0} | {key: value_of(each) for key, each in section.items()}
    upwind, initial = values["transport"] == "upwind", values["initial"]
    wrong = len(values) > 2 or values["transport"] not in ("none", "upwind") or not isinstance(initial, int | float)
    if wrong or (upwind and tables) or (initial and not upwind):
        key, given = next(iter(section.items()))
        problems.append(f"{given.place}: an earlier version had a section [tracer]; write tables [[tracer]] alone")
    elif upwind:
        table = {"name": "tracer", "initial": initial, "diffusivity": 0.0}
        return {TRACERS: Given([table], section["transport"].place)}
    return {}


def of_tide(tide: dict[str, dict], layer: Layer, old: Layer, convert: Callable, problems: list[str]) -> Layer:
    """The lists that stand for keys of single constituents, on top of the lists of the layers before.

    Args:
        tide: {constituent: {key of LISTS: value}} so far, which is brought up to date.
    """
    if CONSTITUENTS in layer:
        tide.clear()
        tide |= {str(name).upper(): {} for name in listed(convert, CONSTITUENTS, layer)}
    for at in LISTS:
        for name, value in zip(tide, listed(convert, at, layer), strict=False):
            tide[name][at] = value
    before, place, parts = bool(tide), "", {}
    for at, given in old.items():
        if at[0] in ("open_sides", "input") and (match := match_of(at)):
            name, value, place = match[1].upper(), value_of(given), place or given.place
            if at[0] == "open_sides":
                tide.setdefault(name, {})[at[0], match[2]] = value
            else:
                path = os.path.abspath(given.folder / str(value)) if value else ""
                parts.setdefault((name, array_of(element_of(match))), {})[match[3]] = path
    for (name, array), files in parts.items():
        entry = entry_of(files.get("cosine", ""), files.get("sine", ""))
        if entry is None:
            problems.append(f"{place}: {array} has an entry of two variables of one file, FILE:AMPLITUDE,LAG")
        tide.setdefault(name, {})["input", array] = entry
    for match in (FIELD.fullmatch(str(text).split(" ")[0]) for text in listed(convert, FIELDS, layer)):
        if match:
            tide.setdefault(match[1].upper(), {})["in Python", ""] = True
            place = place or layer[FIELDS].place
    names = [name for name in NAMES if any(each for at, each in tide.get(name, {}).items() if at[1] != "phase")]
    if not place or not (names or before):
        return {}
    found: dict[tuple[str, str], list] = {CONSTITUENTS: names}
    for at, nothing in LISTS.items():
        values = [tide[name].get(at, nothing) for name in names]
        found[at] = values if any(values) else []
    return {at: Given(values, place) for at, values in found.items()}


def listed(convert: Callable, at: tuple[str, str], layer: Layer) -> Sequence:
    """The list that a layer gives for a key; empty for none."""
    found = convert(at, layer[at]) if at in layer else ()
    return found if isinstance(found, list | tuple) else ()


def entry_of(cosine: str, sine: str) -> str | None:
    """The entry of [input] for two files of a constituent's parts; None: they are no two variables of one file."""
    if cosine == sine:
        return cosine
    first, second = parse(cosine), parse(sine)
    if not first.name or not second.name or first._replace(name="") != second._replace(name=""):
        return None
    record = "" if first.record is None else f"@{first.record}"
    return f"{first.path}:{first.name},{f'-{second.name}'.removeprefix('--')}{record}"


def value_of(given: Given) -> Any:
    """A value as TOML has it."""
    return read_text(given.value) if given.is_text else given.value
