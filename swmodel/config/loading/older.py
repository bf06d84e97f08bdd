"""Keys of earlier versions: they are read, and a logged line names today's keys.

The section [own] is [python]. A section [tracer] is a table [[tracer]]. Keys of single constituents, as
`open_sides.m2_amplitude` and `input.outside_m2_cosine`, are lists with an element for each constituent.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from ...ocean.elements import array_of, element, index_of
from ...ocean.terms.outside import ARRAYS, NAMES, PARTS
from ...setup.fields.netcdf_input.errors import remark
from ...setup.fields.netcdf_input.source import parse
from .sources import Given, Layer, from_mapping, read_text

#: Sections that this version does not have.
READ = ("tracer", "own")
#: Earlier names of fields of the tide outside: {"outside_m2_cosine": "outside_tide_level[M2,cosine]"}.
TODAY = {
    f"{array.replace('tide_level', 'tide').replace('tide', name.lower())}_{part}": element(array, name, part)
    for array in ARRAYS
    for name in NAMES
    for part in PARTS
}
EARLIER = {now: name for name, now in TODAY.items()}

#: Today's keys in place of earlier ones.
TRACERS, FIELDS, CONTROLS = ("physics", "tracers"), ("python", "fields"), ("assimilation", "controls")
CONSTITUENTS = ("open_sides", "constituents")
#: Keys with an element for each constituent, and the value of an element that is not given.
LISTS = {("open_sides", "amplitude"): 0.0, ("open_sides", "phase"): 0.0, **{("input", array): "" for array in ARRAYS}}
#: Earlier keys of one constituent: numbers, and files, one for each part.
NUMBERS = {("open_sides", f"{name.lower()}_{key}"): (name, key) for name in NAMES for key in ("amplitude", "phase")}
FILES = {("input", name): (array_of(now), *index_of(now)) for name, now in TODAY.items()}
#: Errors of the first guess: one key for each array.
SIGMAS = {("assimilation", f"sigma_{name}"): f"sigma_{array_of(now)}" for name, now in TODAY.items()}
OLD = {*NUMBERS, *FILES, *SIGMAS}


def renewed(tables: dict) -> dict:
    """The tables {section: {key: value}} of a whole configuration as this version writes them."""
    (layer,) = expanded([from_mapping(tables, "")], lambda at, given: given.value, [], quiet=True)
    found: dict[str, dict[str, Any]] = {renamed((name, ""))[0]: {} for name in tables if name != "tracer"}
    for (section, key), given in layer.items():
        found.setdefault(section, {})[key] = given.value
    return found


def expanded(layers: Sequence[Layer], convert: Callable, problems: list[str], quiet: bool = False) -> list[Layer]:
    """The layers with today's keys in place of earlier ones; logs a line about each unless `quiet`.

    `convert((section, key) of today, Given)` gives the value in Python's type.
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
            remark(f"{next(iter(made.values())).place} is an earlier form; write {', '.join(written)}")
    return found


def is_old(at: tuple[str, str], given: Given) -> bool:
    """Whether a key is one of earlier versions; these had `input.tracer` even without any tracer."""
    return at[0] in READ or at in OLD or (at == ("input", "tracer") and not given.value)


def renamed(at: tuple[str, str]) -> tuple[str, str]:
    """Section and key as this version calls them."""
    return ("python", at[1]) if at[0] == "own" else (at[0], SIGMAS.get(at, at[1]))


def today(text: Any) -> Any:
    """The text that records a field from Python, or its name, as this version writes it."""
    name = str(text).split(" ")[0]
    return str(text).replace(name, TODAY[name], 1) if name in TODAY else text


def earlier(name: str) -> str:
    """What earlier versions called an element; any other field has the same name."""
    return EARLIER.get(name, name)


def of_tracer(old: Layer, tables: bool, problems: list[str]) -> Layer:
    """The tables [[tracer]] in place of a section [tracer]; `tables`: whether there are tables already."""
    section = {at[1]: each for at, each in old.items() if at[0] == "tracer"}
    values = {"transport": "none", "initial": 0.0} | {key: value_of(each) for key, each in section.items()}
    upwind, initial = values["transport"] == "upwind", values["initial"]
    wrong = len(values) > 2 or values["transport"] not in ("none", "upwind") or not isinstance(initial, int | float)
    if wrong or (upwind and tables) or (initial and not upwind):
        place = next(iter(section.values())).place
        problems.append(f"{place}: an earlier form of [tracer] that cannot be read; write tables [[tracer]]")
    elif upwind:
        table = {"name": "tracer", "initial": initial, "diffusivity": 0.0}
        return {TRACERS: Given([table], section["transport"].place)}
    return {}


def of_tide(tide: dict[str, dict], layer: Layer, old: Layer, convert: Callable, problems: list[str]) -> Layer:
    """The lists in place of keys of single constituents, on top of the lists of earlier layers.

    `tide` is {constituent: {key of LISTS: value}} of the layers so far; the function updates it.
    """
    if CONSTITUENTS in layer:
        tide.clear()
        tide |= {str(name).upper(): {} for name in listed(convert, CONSTITUENTS, layer)}
    for at in LISTS:
        for name, value in zip(tide, listed(convert, at, layer), strict=False):
            tide[name][at] = value
    before, place, parts = bool(tide), "", {}
    for at, given in old.items():
        value = value_of(given)
        if at in NUMBERS:
            name, key = NUMBERS[at]
            tide.setdefault(name, {})["open_sides", key] = value
        elif at in FILES:
            array, name, part = FILES[at]
            parts.setdefault((name, array), {})[part] = os.path.abspath(given.folder / str(value)) if value else ""
        else:
            continue
        place = place or given.place
    for (name, array), files in parts.items():
        entry = entry_of(files.get("cosine", ""), files.get("sine", ""))
        if entry is None:
            problems.append(f"{place}: {array} has an entry of two variables of one file, FILE:AMPLITUDE,LAG")
        tide.setdefault(name, {})["input", array] = entry
    for text in listed(convert, FIELDS, layer):
        if now := TODAY.get(str(text).split(" ")[0]):
            tide.setdefault(index_of(now)[0], {})["in Python", ""] = True
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
    """The entry of [input] for the two parts of a constituent; None unless both are variables of one file."""
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
