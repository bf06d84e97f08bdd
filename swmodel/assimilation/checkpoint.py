"""The progress of an assimilation, saved in a file from which any number of processes can continue."""

from __future__ import annotations

import hashlib
import json
import logging
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..config import to_toml
from ..config.loading.fixed_on_resume import differences, values_fixed_on_resume
from ..errors import UsageError
from ..files.block_file import read_blocks, write_blocks

if TYPE_CHECKING:
    from ..config.options.model import Config
    from ..parallel.transport.transport import Transport

CHECKPOINT_FILE = "progress.h5"

log = logging.getLogger(__name__)

#: Keys of [assimilation] that may change when an assimilation continues, because they only set when it ends and what is
#: computed afterwards. `observations` is a path; the numbers in the file are compared instead.
KEYS_FREE_ON_RESUME = ("outer", "gradient", "impact", "impact_days", "observations")


def save(directory, fields: dict, metadata: dict, config: Config, observations, transport: Transport) -> None:
    """Write fields, and metadata that JSON can represent, to CHECKPOINT_FILE; all processes call this together."""
    metadata = metadata | {"configuration": to_toml(config), "observations": observations_checksum(observations)}
    write_blocks(
        Path(directory) / CHECKPOINT_FILE, fields, json.dumps(metadata), (config.grid.ny, config.grid.nx), transport
    )


def load(directory, config: Config, observations, transport: Transport) -> tuple[dict, dict] | None:
    """The saved fields on this process's block, and the metadata; None if nothing was saved.

    UsageError: the file is from another assimilation.
    """
    path = Path(directory) / CHECKPOINT_FILE
    if not transport.broadcast(path.exists()):
        if transport.rank == 0:
            log.warning("%s has no iteration or cycle to continue from: starting from the first guess", directory)
        return None
    fields, metadata_json = read_blocks(path, transport.block)
    metadata = json.loads(metadata_json)
    mismatches = differences(metadata["configuration"], to_toml(config), assimilation_values_fixed_on_resume)
    if metadata["observations"] != observations_checksum(observations):
        mismatches.append("the observations differ")
    require_same_assimilation(mismatches, path)
    return fields, metadata


def require_same_assimilation(mismatches: list[str], path) -> None:
    if mismatches:
        message = f"{path} is from another assimilation and cannot be continued:"
        raise UsageError("\n".join([message, *mismatches]))


def assimilation_values_fixed_on_resume(text: str) -> dict:
    """The part of a configuration that determines iterations and cycles."""
    sections = tomllib.loads(text)
    values = {
        f"assimilation.{key}": value
        for key, value in sections["assimilation"].items()
        if key not in KEYS_FREE_ON_RESUME
    }
    values |= {f"ensemble.{key}": value for key, value in sections.get("ensemble", {}).items()}
    return run_values_fixed_on_resume(text) | values


def run_values_fixed_on_resume(text: str) -> dict:
    """The part of a configuration that determines the run in the assimilation window."""
    values = values_fixed_on_resume(text) | {"run.steps": tomllib.loads(text)["run"].get("steps")}
    return {key: value for key, value in values.items() if not key.startswith("output.")}


def observations_checksum(observations) -> str:
    """SHA-256 of the observations' numbers, as hexadecimal digits."""
    fields = (np.ascontiguousarray(field) for name, field in observations._asdict().items() if name != "platform")
    return hashlib.sha256(b"".join(field.tobytes() for field in fields)).hexdigest()
