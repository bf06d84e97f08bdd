"""A configuration as TOML text: the commented template of `swmodel init` and the config.toml of a run folder."""

from __future__ import annotations

import json
from typing import Any

from ... import cases
from ...ocean.option import unit_of
from ...setup.fields.noted import sha256
from ..messages import choices
from ..options.case import Case
from ..options.grid import KEYS_OF, Grid
from ..options.model import ALTERNATIVES, Config, Section

#: Most choices that the help of a key lists in a template.
SHOWN = 6
#: Keys that a user changes first, whatever their values.
USUAL = {
    "grid": ("nx", "ny", "dx", "dy", "west", "south", "dlon", "dlat"),
    "physics": ("depth", "f0", "beta", "viscosity"),
    "time": ("stepper", "dt", "cfl", "start"),
    "run": ("days", "steps", "dtype"),
    "output": ("every", "every_steps", "fields", "means"),
}


def to_toml(config: Config, comments: bool = False) -> str:
    """The whole configuration; `load` of the text gives it back.

    Args:
        comments: a line of help above each key, with units and choices; keys not in use appear as comments.
    """
    lines = []
    for name in Config.model_fields:
        section = getattr(config, name)
        about = cases.about(section) if isinstance(section, Case) else type(section).__doc__ or ""
        lines += [f"# {about.strip().splitlines()[0]}"] if comments else []
        lines.append(f"[{name}]")
        unused = left_out(name, section)
        for key, field in type(section).model_fields.items():
            lines += [f"# {help_of(field)}"] if comments else []
            if key not in unused:
                lines.append(f"{key} = {value(getattr(section, key))}")
            elif comments:
                lines.append(f"# {key} =")
        lines.append("")
    return "\n".join(lines)


def template(config: Config) -> str:
    """The keys that a user changes first, with units and choices: `load` of the text gives the configuration.

    These are the keys of the case, the USUAL ones, and those whose value is not the section's default.
    """
    lines = [
        f"# {cases.about(config.case).strip().splitlines()[0]}",
        "# A key that is left out keeps its default: `swmodel init --all` prints all of them.",
    ]
    for name in Config.model_fields:
        section = getattr(config, name)
        usual = type(section).model_fields if isinstance(section, Case) else USUAL.get(name, ())
        shown = [
            key
            for key, field in type(section).model_fields.items()
            if key in usual or getattr(section, key) != field.get_default(call_default_factory=True)
        ]
        shown = [key for key in shown if key not in left_out(name, section)]
        lines += ["", f"[{name}]"] if shown else []
        lines += [explained(section, key) for key in shown]
    return "\n".join([*lines, ""])


def explained(section: Section, key: str) -> str:
    """A key with its value and its help, in a line of TOML."""
    return f"{f'{key} = {value(getattr(section, key))}':<30}  # {help_of(type(section).model_fields[key], SHOWN)}"


def help_of(field, most: int | None = None) -> str:
    """The help of a key, with its unit and its choices, of which `most` are listed."""
    unit, words = unit_of(field), choices(field.annotation)
    words = words if most is None or len(words) <= most else (*words[:most], "...")
    return f"{field.description}" + (f" [{unit}]" if unit else "") + (f"; {', '.join(words)}" if words else "")


def left_out(name: str, section: Section) -> list[str]:
    """Keys that do not apply: unused alternatives, and those of a case file where there is none."""
    if isinstance(section, Case):
        return [key for key in ("file", "sha256") if not getattr(section, key)]
    pairs = [(first, second) for at, first, second in ALTERNATIVES if at == name]
    unused = []
    if isinstance(section, Grid):
        pairs += [(extent.size, extent.end) for extent in section.extents]
        unused = [key for key in ("file", "pole") if not getattr(section, key)]
        unused += [key for kind, keys in KEYS_OF.items() if kind != section.kind for key in keys]
    return unused + [b if getattr(section, a) is not None or getattr(section, b) is None else a for a, b in pairs]


def value(item: Any) -> str:
    """A value in TOML; None, which TOML lacks, is the text "none"."""
    if item is None:
        return '"none"'
    if isinstance(item, bool):
        return "true" if item else "false"
    if isinstance(item, str):
        return json.dumps(item, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(item, tuple):
        tables = item and isinstance(item[0], Section)  # one a line
        parts = (",\n  " if tables else ", ").join(value(part) for part in item)
        return f"[\n  {parts}\n]" if tables else f"[{parts}]"
    if isinstance(item, Section):
        given = ((key, getattr(item, key)) for key in type(item).model_fields)
        return f"{{{', '.join(f'{key} = {value(part)}' for key, part in given if part is not None)}}}"
    return repr(item)


def config_hash(config: Config) -> str:
    """SHA-256 of the configuration's text, as hexadecimal digits: equal for equal (resolved) configurations only."""
    return sha256(to_toml(config))
