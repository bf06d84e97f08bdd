"""What configurations of earlier versions say in another way: the section [tracer], now tables [[tracer]]."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...errors import suggest
from ...setup.fields.netcdf_input.errors import remark
from .sources import Given, Layer, read_text

#: Sections of earlier versions, and what their keys may be; "": a number.
SECTIONS = {"tracer": {"transport": ("none", "upwind"), "initial": ""}}
#: The key of the tables of today, and one of earlier versions that is empty unless there is a tracer.
TRACERS, FILE = ("physics", "tracers"), ("input", "tracer")


def renewed(tables: dict) -> dict:
    """The tables {section: {key: value}} of a whole configuration as this version writes them."""
    old = tables.get("tracer", {})
    found = {name: table for name, table in tables.items() if name != "tracer"}
    return found | {"physics": found.get("physics", {}) | {"tracers": tracers_of(old)}} if is_on(old) else found


def is_on(old: dict) -> bool:
    """Whether a section [tracer] has a tracer."""
    return old.get("transport", "none") != "none"


def tracers_of(old: dict) -> list[dict]:
    """The tables [[tracer]] that stand for a section [tracer]."""
    return [{"name": "tracer", "initial": old.get("initial", 0.0), "diffusivity": 0.0}]


def expanded(layers: Sequence[Layer]) -> tuple[list[Layer], list[str]]:
    """The layers with today's keys in place of the earlier ones, of which a line is logged; and what is wrong."""
    problems: list[str] = []
    old: dict[str, Any] = {}
    last: tuple[int, str] | None = None
    bare = []
    for number, layer in enumerate(layers):
        kept = {at: each for at, each in layer.values.items() if at[0] not in SECTIONS and (at != FILE or each.value)}
        bare.append(Layer(kept, layer.problems))
        for (section, key), given in layer.values.items():
            if section in SECTIONS:
                problems += problems_of(section, key, given)
                old[key] = read_text(given.value) if given.is_text else given.value
                last = number, given.place
    if last is None or problems:
        return bare, problems
    number, place = last
    if not is_on(old):
        return bare, [f"{place}: has no effect without a tracer; write a table [[tracer]]"] if old.get(
            "initial"
        ) else []
    if any(TRACERS in layer.values and layer.values[TRACERS].value not in ((), []) for layer in bare):
        return bare, [f"{place}: write tables [[tracer]] alone, and no section [tracer]"]
    bare[number].values[TRACERS] = Given(tracers_of(old), place, Path())
    remark(f'{place}: write tables [[tracer]] in place of it: name = "tracer", initial = {old.get("initial", 0.0)}')
    return bare, []


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
