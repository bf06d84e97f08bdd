"""ensemble.h5: the carries of all members, from which any number of processes or devices goes on."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import numpy as np

from ..assimilation.block_file import damaged, read_blocks, read_text, write_blocks
from ..config import Config, from_toml, to_toml
from ..config.decisive import decisive, differences
from ..errors import FilesError, UsageError
from ..run_folder import ENSEMBLE_RESTART as NAME
from ..state import PROGNOSTIC, Carry, State

#: Key of [ensemble] that may change when an ensemble goes on: it has no part in the answer but for rounding.
FREE = ("advance",)


def save(directory, members, config) -> None:
    """Write the carries; called by all processes together.

    Raises:
        FilesError: it cannot be written; the file is as it was.
    """
    carry = members.get(members.carry)
    states = carry.state, *carry.memory
    fields = {
        f"{name}{number or ''}": field.reshape(len(field), -1)
        for number, state in enumerate(states)
        for name, field in zip(PROGNOSTIC, state, strict=True)
    }
    about = {"step": members.step, "configuration": to_toml(config)}
    shape = members.total, members.grid.ny * members.grid.nx
    write_blocks(Path(directory) / NAME, fields, json.dumps(about), shape, members.transport)


def load(directory, members, config) -> Config:
    """Let the members go on from the file; the configuration that it was written with. Called by all together.

    Raises:
        UsageError: it is that of another ensemble.
        FilesError: it is damaged or cannot be read.
    """
    path, transport = Path(directory) / NAME, members.transport
    if problem := transport.broadcast(problem_of(path) if transport.rank == 0 else None):
        raise FilesError(problem)
    step, before = examine(path, config)
    fields, _ = read_blocks(path, transport.block)
    shape = -1, members.grid.ny, members.grid.nx
    states = [
        State(*(fields[f"{name}{number or ''}"].reshape(shape) for name in PROGNOSTIC))
        for number in range(len(fields) // len(PROGNOSTIC))
    ]
    steps = np.full(members.here.length, step, np.int32)
    members.replace(Carry(states[0], tuple(states[1:]), steps), step)
    return before


def examine(path, config) -> tuple[int, Config]:
    """Steps done, and the configuration that a file was written with; reads no fields.

    Raises:
        UsageError: it is that of another ensemble than the configuration's (resolved).
        FilesError: it cannot be read.
    """
    try:
        about = json.loads(read_text(path))
        configuration, step = about["configuration"], about["step"]
    except (ValueError, KeyError, TypeError) as error:
        raise FilesError(f"{path} is no restart file of an ensemble: {error}") from error
    if found := differences(configuration, to_toml(config), essence):
        raise UsageError("\n".join([f"{path} is of another ensemble, so that it cannot be gone on with:", *found]))
    return step, from_toml(configuration)


def problem_of(path) -> str | None:
    """Why the file cannot be used; None if it can."""
    try:
        return f"{path} is damaged: {', '.join(names)}" if (names := damaged(path)) else None
    except FilesError as error:
        return str(error)


def essence(text: str) -> dict:
    """What of a configuration decides about the members and what is in the files."""
    options = tomllib.loads(text)["ensemble"]
    own = {f"ensemble.{key}": value for key, value in options.items() if key not in FREE}
    return decisive(text) | own
