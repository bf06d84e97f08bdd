"""The progress of an assimilation, in a file from which any number of processes can continue."""

from __future__ import annotations

import hashlib
import json
import logging
import tomllib
from pathlib import Path

import numpy as np

from ..config import to_toml
from ..config.loading.decisive import decisive, differences
from ..errors import UsageError
from ..files.block_file import read_blocks, write_blocks

NAME = "progress.h5"

log = logging.getLogger(__name__)

#: Keys of [assimilation] that may change when an assimilation continues: its end, what follows, the path of the file.
FREE = ("outer", "gradient", "impact", "impact_days", "observations")


def save(directory, fields: dict, about: dict, config, observations, transport) -> None:
    """Write fields and numbers, and `about` them what JSON can hold; all processes call it together."""
    about = about | {"configuration": to_toml(config), "observations": digest(observations)}
    write_blocks(Path(directory) / NAME, fields, json.dumps(about), (config.grid.ny, config.grid.nx), transport)


def load(directory, config, observations, transport) -> tuple[dict, dict] | None:
    """The fields on this process's block, and what was saved about them; None without an iteration or a cycle.

    UsageError: they are from another assimilation.
    """
    path = Path(directory) / NAME
    if not transport.broadcast(path.exists()):
        if transport.rank == 0:
            log.warning("no iterations or cycles in %s to continue: starts from the first guess", directory)
        return None
    fields, text = read_blocks(path, transport.block)
    about = json.loads(text)
    found = differences(about["configuration"], to_toml(config), essence)
    if about["observations"] != digest(observations):
        found.append("the observations differ")
    require_none(found, path)
    return fields, about


def require_none(differences: list[str], path) -> None:
    """Check that a file belongs to this assimilation."""
    if differences:
        what = f"{path} is from another assimilation and cannot be continued:"
        raise UsageError("\n".join([what, *differences]))


def essence(text: str) -> dict:
    """The part of a configuration that determines iterations and cycles."""
    sections = tomllib.loads(text)
    found = {f"assimilation.{key}": value for key, value in sections["assimilation"].items() if key not in FREE}
    found |= {f"ensemble.{key}": value for key, value in sections.get("ensemble", {}).items()}
    return essence_of_run(text) | found


def essence_of_run(text: str) -> dict:
    """The part of a configuration that determines the run in the window."""
    everything = decisive(text) | {"run.steps": tomllib.loads(text)["run"].get("steps")}
    return {key: value for key, value in everything.items() if not key.startswith("output.")}


def digest(observations) -> str:
    """SHA-256 of the observations' numbers, as hexadecimal digits."""
    fields = (np.ascontiguousarray(field) for name, field in observations._asdict().items() if name != "platform")
    return hashlib.sha256(b"".join(field.tobytes() for field in fields)).hexdigest()
