"""Read a restart file: rank 0 checks that it is intact; then each rank reads its block, or its members."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...config import Config, from_toml
from ...config.options.case import Case
from ...errors import FilesError
from ...ocean.state import Carry
from ...ocean.table import MEAN_STEPS
from ...setup.setup import Setup, setup_of
from .folder import examine_restart
from .open import open_restart
from .python_fields import FIELD_PREFIX
from .write import MEMORY_SUFFIX


class LoadedRestart(NamedTuple):
    """A process's part of the fields in a restart file, in the form of `transport.make_arrays`.

    Attributes:
        carry: state and memory, fields [y, x] or those of an ensemble [members, y, x], and step number.
        accumulator_fields: fields of accumulators, and the number of steps in the means, by the names in the file.
        config: the configuration of the run that wrote it, without its case.
        substeps: number of substeps that the memory is for, see `model.substeps`.
    """

    carry: Any  # a Carry
    accumulator_fields: dict[str, Any]
    path: str
    step: int
    config: Config
    substeps: int


def read(path, setup: Setup, transport) -> LoadedRestart:
    """Read the fields of this rank; all ranks call it together, with the path on rank 0.

    FilesError, on all ranks: the file is damaged, or has other cells, precision or time stepping.
    """
    members = transport.block.members.axis_size
    facts, problem = transport.broadcast(_examine(path, setup, members) if transport.rank == 0 else None)
    if problem is not None:
        raise FilesError(problem)

    def read_block(block):
        where = [slice(span.start, span.stop) for span in (block.members, block.y, block.x)]
        names = (name for name in facts["fields"] if not name.startswith(FIELD_PREFIX))
        # Arrays of one axis are no fields: all blocks have them.
        parts = {name: file[name][tuple(where[-file[name].ndim :]) if file[name].ndim > 1 else ...] for name in names}
        # zarr names the order of bytes in a type, which netCDF4 refuses for new variables.
        return {name: values.view(values.dtype.newbyteorder("=")) for name, values in parts.items()}

    with open_restart(facts["path"]) as file:
        fields = transport.make_arrays(read_block)
    state = setup.scheme.state_type
    n_memory = sum(name.startswith(f"{state._fields[0]}{MEMORY_SUFFIX}") for name in fields)
    suffixes = ["", *(f"{MEMORY_SUFFIX}{k}" for k in range(1, n_memory + 1))]
    states = [state(*(fields[name + suffix] for name in state._fields)) for suffix in suffixes]
    carry_names = {name + suffix for name in state._fields for suffix in suffixes}
    accumulator_fields = {name: field for name, field in fields.items() if name not in carry_names}
    accumulator_fields[MEAN_STEPS] = transport.put(np.int32(facts[MEAN_STEPS]))
    carry = Carry(states[0], tuple(states[1:]), transport.put(np.int32(facts["step"])))
    previous_config = from_toml(facts["configuration"], Case)
    return LoadedRestart(carry, accumulator_fields, facts["path"], facts["step"], previous_config, facts["substeps"])


def _examine(path, setup: Setup, members: int) -> tuple[dict | None, str | None]:
    """The facts about the file, and why it cannot be used, or None if it can."""
    facts = examine_restart(path)
    if "problem" in facts:
        return None, f"{path}: {facts['problem']}"
    previous_setup = setup_of(from_toml(facts["configuration"], Case))
    values_in_file, values_of_run = (
        {
            "cells": each.shape,
            "dtype": each.config.run.dtype,
            "state": ", ".join(each.scheme.state_type._fields),
            "members": count,
            **each.config.time.model_dump(),
        }
        for each, count in ((previous_setup, facts["members"]), (setup, members))
    )
    differences = [
        f"{name} is {values_in_file[name]}, not {value}"
        for name, value in values_of_run.items()
        if values_in_file[name] != value
    ]
    return facts | {"path": str(path)}, f"{path} does not fit: {'; '.join(differences)}" if differences else None
