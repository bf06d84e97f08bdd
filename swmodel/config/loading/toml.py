"""A configuration as TOML text: the commented template of `swmodel init` and the config.toml of a run folder."""

from __future__ import annotations

import json
from typing import Any

from ... import cases
from ...ocean.option import unit_of
from ...setup.fields.record_notes import sha256
from ..messages import choices
from ..options.case import Case
from ..options.grid import GridOptions
from ..options.model import EXCLUSIVE_KEYS, Config, Section

#: Largest number of choices that the help of a key lists in a template.
MAX_LISTED_CHOICES = 6
#: Keys that a template always contains, because users change them first.
COMMON_KEYS = {
    "grid": ("nx", "ny", "dx", "dy", "west", "south", "dlon", "dlat"),
    "physics": ("depth", "f0", "beta", "viscosity"),
    "time": ("stepper", "dt", "cfl", "start"),
    "run": ("days", "steps", "dtype"),
    "output": ("every", "every_steps", "fields", "means"),
}


def to_toml(config: Config, comments: bool = False) -> str:
    """The whole configuration as TOML, which `load` reads back.

    Args:
        comments: write a line of help above each key, with units and choices, and unused keys as comments.
    """
    lines = []
    for name in Config.model_fields:
        section = getattr(config, name)
        description = cases.docstring_of(section) if isinstance(section, Case) else type(section).__doc__ or ""
        lines += [f"# {description.strip().splitlines()[0]}"] if comments else []
        lines.append(f"[{name}]")
        omitted = omitted_keys(name, section)
        for key, field in type(section).model_fields.items():
            lines += [f"# {help_text(field)}"] if comments else []
            if key not in omitted:
                lines.append(f"{key} = {toml_value(getattr(section, key))}")
            elif comments:
                lines.append(f"# {key} =")
        lines.append("")
    return "\n".join(lines)


def template(config: Config) -> str:
    """The keys that a user changes first, with units and choices; `load` restores the configuration from this text.

    These are the keys of the case, the COMMON_KEYS, and those whose value is not the section's default.
    """
    lines = [
        f"# {cases.docstring_of(config.case).strip().splitlines()[0]}",
        "# A key that is left out keeps its default: `swmodel init --all` prints all keys.",
    ]
    for name in Config.model_fields:
        section = getattr(config, name)
        common_keys = type(section).model_fields if isinstance(section, Case) else COMMON_KEYS.get(name, ())
        shown_keys = [
            key
            for key, field in type(section).model_fields.items()
            if key in common_keys or getattr(section, key) != field.get_default(call_default_factory=True)
        ]
        shown_keys = [key for key in shown_keys if key not in omitted_keys(name, section)]
        lines += ["", f"[{name}]"] if shown_keys else []
        lines += [line_with_help(section, key) for key in shown_keys]
    return "\n".join([*lines, ""])


def line_with_help(section: Section, key: str) -> str:
    return (
        f"{f'{key} = {toml_value(getattr(section, key))}':<30}  # "
        f"{help_text(type(section).model_fields[key], MAX_LISTED_CHOICES)}"
    )


def help_text(field, max_choices: int | None = None) -> str:
    """The help of a key, with its unit and its choices, of which `max_choices` are listed."""
    unit, words = unit_of(field), choices(field.annotation)
    words = words if max_choices is None or len(words) <= max_choices else (*words[:max_choices], "...")
    return f"{field.description}" + (f" [{unit}]" if unit else "") + (f"; {', '.join(words)}" if words else "")


def omitted_keys(name: str, section: Section) -> list[str]:
    """Keys that do not apply: unused alternatives, keys for another kind of grid, and unset files and poles."""
    if isinstance(section, Case):
        return [key for key in ("file", "sha256") if not getattr(section, key)]
    pairs = [(first, second) for owner, first, second in EXCLUSIVE_KEYS if owner == name]
    unused = []
    if isinstance(section, GridOptions):
        pairs += [(extent.size, extent.end) for extent in section.extents]
        unused = [key for key in ("file", "pole") if not getattr(section, key)]
        unused += section.unused_keys
    return unused + [
        second if getattr(section, first) is not None or getattr(section, second) is None else first
        for first, second in pairs
    ]


def toml_value(item: Any) -> str:
    """A value in TOML; None, which TOML lacks, is the text "none", but is left out of inline tables."""
    if item is None:
        return '"none"'
    if isinstance(item, bool):
        return "true" if item else "false"
    if isinstance(item, str):
        return json.dumps(item, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(item, tuple):
        has_tables = item and isinstance(item[0], Section)  # tables are written one per line
        parts = (",\n  " if has_tables else ", ").join(toml_value(part) for part in item)
        return f"[\n  {parts}\n]" if has_tables else f"[{parts}]"
    if isinstance(item, Section | dict):
        items = (
            item.items() if isinstance(item, dict) else ((key, getattr(item, key)) for key in type(item).model_fields)
        )
        return f"{{{', '.join(f'{key} = {toml_value(part)}' for key, part in items if part is not None)}}}"
    return repr(item)


def config_hash(config: Config) -> str:
    """SHA-256 of the configuration's text, as hexadecimal digits: equal for equal (resolved) configurations only."""
    return sha256(to_toml(config))
