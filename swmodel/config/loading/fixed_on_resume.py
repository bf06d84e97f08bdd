"""The part of a configuration that determines results and files, so that it must not change when a run continues."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path

from ...ocean.terms.tracer import TracerOptions
from ...setup.fields.record_notes import sha256
from ..options.input import RiverOptions
from ..options.model import Config, section_class

#: Sections whose keys may change, except those that `values_fixed_on_resume` adds; all other sections are fixed.
FREE_SECTIONS = ("run", "input", "output", "restart", "python", "assimilation", "ensemble")
#: The section of fields and terms from Python.
PYTHON_SECTION = "python"
#: Keys of [output] that determine the contents of the files.
FIXED_OUTPUT_KEYS = (
    *("format", "fields", "means", "maxima", "arrival", "inundation", "stations", "stations_every_steps"),
    *("sections", "sections_every_steps", "drifters"),
    *(f"harmonics{key}" for key in ("", "_fields", "_from", "_every_steps")),
)

#: Keys with the path of a storm's track, and with the track itself.
TRACK_KEY, STORM_KEY = "case.track", "case.storm"


def values_fixed_on_resume(text: str) -> dict:
    """{section.key: value} of a resolved configuration in TOML; input files appear by their names without folders.

    The value of a user's case file, a storm's track or an input from Python is its checksum.
    """
    values: dict = {}
    for section, options in tomllib.loads(text).items():
        for key, value in options.items():
            if section == PYTHON_SECTION and key != "calls":
                values |= {f"{PYTHON_SECTION}.{each.split()[0]}": short_checksum(each) for each in value}
            elif section == "input" and value:
                names = [Path(each).name for each in ([value] if isinstance(value, str) else value)]
                values[f"input.{key}"] = ", ".join(names)
            elif (section, key) == ("forcing", "rivers"):
                rivers = [RiverOptions(**each) for each in value]
                rivers = [each.model_copy(update={"series": Path(each.series).name}) for each in rivers]
                values["forcing.rivers"] = [each.model_dump(mode="json") for each in rivers]
            elif (section, key) == ("physics", "tracers"):  # a file of an earlier version has fewer keys
                values["physics.tracers"] = [TracerOptions(**each).model_dump(mode="json") for each in value]
            elif section not in FREE_SECTIONS or (section == "output" and key in FIXED_OUTPUT_KEYS):
                values[f"{section}.{key}"] = value
            elif (section, key) == ("run", "dtype"):
                values["run.dtype"] = value
    if checksum := values.pop("case.sha256", None):
        values["case.file"] = short_checksum(checksum)
    if lines := values.get(STORM_KEY):
        values[STORM_KEY] = short_checksum(sha256("\n".join(lines)))
    return values


def short_checksum(text: str) -> str:
    """The part that messages show of the checksum at the end of a text."""
    return f"SHA-256 {text.split()[-1][:12]}..."


def ensemble_values_fixed_on_resume(text: str) -> dict:
    """As `values_fixed_on_resume`, for an ensemble, with all keys of [ensemble] except advance."""
    ensemble_options = tomllib.loads(text)["ensemble"].items()  # `advance` changes results only by rounding
    return values_fixed_on_resume(text) | {
        f"ensemble.{key}": value for key, value in ensemble_options if key != "advance"
    }


def differences(before: str, now: str, select_values: Callable[[str], dict] = values_fixed_on_resume) -> list[str]:
    """The differences of two resolved configurations (TOML), one line for each key whose selected value differs."""
    old, new = select_values(before), select_values(now)
    if old.get(TRACK_KEY):  # a file of an earlier version has only the path of the track
        old, new = ({key: each[key] for key in each if key not in (TRACK_KEY, STORM_KEY)} for each in (old, new))
    pairs = {name: (old.get(name, default_value(name)), new.get(name, default_value(name))) for name in [*new, *old]}
    return [f"{name}: {first} before, {second} now" for name, (first, second) in pairs.items() if first != second]


def default_value(name: str):
    """The value of section.key in a configuration that lacks it, such as that of an earlier version."""
    section, _, key = name.partition(".")
    field = section_class(section).model_fields.get(key) if section in Config.model_fields else None
    if field is None or field.get_default() in (None, ""):
        return "not set"
    return list(field.get_default()) if isinstance(field.get_default(), tuple) else field.get_default()
