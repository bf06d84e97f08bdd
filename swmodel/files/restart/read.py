"""Reading a restart file: rank 0 checks that it is intact; then each rank reads its block, or its members."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...config import Config, from_toml
from ...config.options.case import Case
from ...errors import FilesError
from ...ocean.state import Carry
from ...ocean.table import MEAN_STEPS
from ...setup.setup import Setup, setup_of
from .folder import facts
from .open import opened
from .python_fields import GIVEN
from .write import MEMORY


class Loaded(NamedTuple):
    """A process's part of the fields in a restart file, in the form of `transport.make`.

    Attributes:
        carry: state and memory, fields [y, x], those of an ensemble [members, y, x], and step number.
        kept: fields of accumulators, and the number of steps in the means, by the names in the file.
        config: the configuration of the run that wrote it, without its case.
        substeps: number of substeps that the memory is for, see `model.pace`.
    """

    carry: Any  # a Carry
    kept: dict[str, Any]
    path: str
    step: int
    config: Config
    substeps: int


def read(path, setup: Setup, transport) -> Loaded:
    """The fields of this rank, read block by block; all ranks call it together, with the path on rank 0.

    FilesError, on all ranks: the file is damaged, or has other cells, precision or time stepping.
    """
    members = transport.block.members.size
    found, problem = transport.broadcast(_examined(path, setup, members) if transport.rank == 0 else None)
    if problem is not None:
        raise FilesError(problem)

    def part(block):
        where = [slice(span.start, span.stop) for span in (block.members, block.y, block.x)]
        names = (name for name in found["fields"] if not name.startswith(GIVEN))
        # Arrays of one axis are no fields: all blocks have them.
        parts = {name: file[name][tuple(where[-file[name].ndim :]) if file[name].ndim > 1 else ...] for name in names}
        # zarr names the order of bytes in a type, which netCDF4 refuses for new variables.
        return {name: values.view(values.dtype.newbyteorder("=")) for name, values in parts.items()}

    with opened(found["path"]) as file:
        fields = transport.make(part)
    state = setup.scheme.state
    kept = sum(name.startswith(f"{state._fields[0]}{MEMORY}") for name in fields)
    suffixes = ["", *(f"{MEMORY}{k}" for k in range(1, kept + 1))]
    states = [state(*(fields[name + suffix] for name in state._fields)) for suffix in suffixes]
    carried = {name + suffix for name in state._fields for suffix in suffixes}
    accumulated = {name: field for name, field in fields.items() if name not in carried}
    accumulated[MEAN_STEPS] = transport.put(np.int32(found[MEAN_STEPS]))
    carry = Carry(states[0], tuple(states[1:]), transport.put(np.int32(found["step"])))
    before = from_toml(found["configuration"], Case)
    return Loaded(carry, accumulated, found["path"], found["step"], before, found["substeps"])


def _examined(path, setup: Setup, members: int) -> tuple[dict | None, str | None]:
    """The facts about the file, and why it cannot be used, or None."""
    found = facts(path)
    if "problem" in found:
        return None, f"{path}: {found['problem']}"
    before = setup_of(from_toml(found["configuration"], Case))
    there, here = (
        {
            "cells": each.shape,
            "dtype": each.config.run.dtype,
            "state": ", ".join(each.scheme.state._fields),
            "members": count,
            **each.config.time.model_dump(),
        }
        for each, count in ((before, found["members"]), (setup, members))
    )
    other = [f"{name} is {there[name]}, not {value}" for name, value in here.items() if there[name] != value]
    return found | {"path": str(path)}, f"{path} does not fit: {'; '.join(other)}" if other else None
