"""The progress of a minimisation, in a file from which any number of processes can continue."""

from __future__ import annotations

import hashlib
import json
import tomllib
from pathlib import Path

import jax.numpy as jnp
import numpy as np

from ..config import to_toml
from ..config.loading.decisive import decisive, differences
from ..errors import UsageError
from ..files.block_file import read_blocks, write_blocks
from .gauss_newton import Progress

NAME = "minimisation.h5"

#: Keys of [assimilation] that may change when a minimisation continues: its end, what follows, the path of the file.
FREE = ("outer", "gradient", "impact", "impact_days", "observations")


def save(directory, progress: Progress, history: list, config, observations, transport) -> None:
    """Write a Progress and the events so far; all processes call it together."""
    about = {"iteration": progress.iteration, "first_norm": progress.first_norm, "history": history}
    about |= {"configuration": to_toml(config), "observations": digest(observations)}
    write_blocks(Path(directory) / NAME, progress.w, json.dumps(about), (config.grid.ny, config.grid.nx), transport)


def load(directory, config, observations, transport) -> tuple[Progress, list] | None:
    """The Progress in the folder and the events up to it; None without an iteration."""
    path = Path(directory) / NAME
    if not transport.broadcast(path.exists()):
        return None
    fields, text = read_blocks(path, transport.block)
    about = json.loads(text)
    found = differences(about["configuration"], to_toml(config), essence)
    if about["observations"] != digest(observations):
        found.append("the observations differ")
    require_none(found, path)
    w = {name: jnp.asarray(values) for name, values in fields.items()}
    return Progress(w, about["iteration"], about["first_norm"]), about["history"]


def require_none(differences: list[str], path) -> None:
    """Check that a file belongs to this assimilation."""
    if differences:
        what = f"{path} is from another assimilation and cannot be continued:"
        raise UsageError("\n".join([what, *differences]))


def essence(text: str) -> dict:
    """The part of a configuration that determines the iterations."""
    options = tomllib.loads(text)["assimilation"]
    return essence_of_run(text) | {f"assimilation.{key}": value for key, value in options.items() if key not in FREE}


def essence_of_run(text: str) -> dict:
    """The part of a configuration that determines the run in the window."""
    everything = decisive(text) | {"run.steps": tomllib.loads(text)["run"].get("steps")}
    return {key: value for key, value in everything.items() if not key.startswith("output.")}


def digest(observations) -> str:
    """SHA-256 of the observations' numbers, as hexadecimal digits."""
    fields = (np.ascontiguousarray(field) for name, field in observations._asdict().items() if name != "platform")
    return hashlib.sha256(b"".join(field.tobytes() for field in fields)).hexdigest()
