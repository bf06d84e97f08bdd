"""The part of a configuration that determines the answer and the files: it must not change when a run continues."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path

from ...ocean.terms import TERMS
from ...ocean.terms.tracer import Tracer
from ...setup.fields.noted import sha256
from ..options.model import section_class

OF_TERMS = tuple(term.name for term in TERMS.values() if term.options)
SECTIONS = ("case", "grid", "physics", *OF_TERMS, "scheme", "time", "forcing")
#: The section of fields and terms from Python.
PYTHON = "python"
#: Keys of [output] that determine the contents of the files.
WRITTEN = (
    *("format", "fields", "means", "maxima", "arrival", "inundation", "stations", "stations_every_steps"),
    *("sections", "sections_every_steps", "drifters"),
    *(f"harmonics{key}" for key in ("", "_fields", "_from", "_every_steps")),
)

#: The path of a storm's track, and the track itself.
TRACK, STORM = "case.track", "case.storm"


def decisive(text: str) -> dict:
    """{section.key: value} of a resolved configuration in TOML; input files appear by their names without folders.

    The value of a user's case file, a storm's track or an input from Python is its checksum.
    """
    found: dict = {}
    for section, options in tomllib.loads(text).items():
        for key, value in options.items():
            if section == PYTHON and key != "calls":
                found |= {f"{PYTHON}.{each.split()[0]}": shown(each) for each in value}
            elif section == "input" and value:
                names = [Path(each).name for each in ([value] if isinstance(value, str) else value)]
                found[f"input.{key}"] = ", ".join(names)
            elif (section, key) == ("physics", "tracers"):  # an earlier version has fewer keys
                found["physics.tracers"] = [Tracer(**each).model_dump(mode="json") for each in value]
            elif section in SECTIONS or (section == "output" and key in WRITTEN):
                found[f"{section}.{key}"] = value
            elif (section, key) == ("run", "dtype"):
                found["run.dtype"] = value
    if checksum := found.pop("case.sha256", None):
        found["case.file"] = shown(checksum)
    if lines := found.get(STORM):
        found[STORM] = shown(sha256("\n".join(lines)))
    return found


def shown(text: str) -> str:
    """The part of a checksum that messages show."""
    return f"SHA-256 {text.split()[-1][:12]}..."


def decisive_of_ensemble(text: str) -> dict:
    """As `decisive`, for an ensemble, with its members and the numbers of those that are written."""
    own = tomllib.loads(text)["ensemble"].items()  # `advance` changes no more than rounding
    return decisive(text) | {f"ensemble.{key}": value for key, value in own if key != "advance"}


def differences(before: str, now: str, essence: Callable[[str], dict] = decisive) -> list[str]:
    """The differences between two resolved configurations (TOML), one line for each key of their `essence`."""
    old, new = essence(before), essence(now)
    if old.get(TRACK):  # an earlier version recorded only the path of the track
        old, new = ({key: each[key] for key in each if key not in (TRACK, STORM)} for each in (old, new))
    pairs = {name: (old.get(name, default(name)), new.get(name, default(name))) for name in [*new, *old]}
    return [f"{name}: {before} before, {after} now" for name, (before, after) in pairs.items() if before != after]


def default(name: str):
    """The value of section.key in a configuration without it, such as one of an earlier version."""
    section, _, key = name.partition(".")
    field = section_class(section).model_fields.get(key)
    if field is None or field.get_default() in (None, ""):
        return "not set"
    return list(field.get_default()) if isinstance(field.get_default(), tuple) else field.get_default()
