"""Read a restart file: rank 0 checks that it is intact; then each rank reads its block of the fields."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

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

if TYPE_CHECKING:
    from ...parallel.transport.transport import Transport


class LoadedRestart(NamedTuple):
    """This process's part of a restart file; the fields are arrays made by `transport.make_arrays`.

    Attributes:
        carry: state, memory and step number; fields are [y, x] or, in an ensemble, [members, y, x].
        accumulator_fields: fields of accumulators and the number of steps in the means, by name in the file.
        path, step: the file, and the number of steps before it was written.
        config: the configuration of the run that wrote the file, without its case.
        substeps: number of substeps per step for which the memory is valid, see `model.substeps`.
    """

    carry: Any  # a Carry
    accumulator_fields: dict[str, Any]
    path: str
    step: int
    config: Config
    substeps: int


def read(path, setup: Setup, transport: Transport) -> LoadedRestart:
    """Read this rank's part of a restart file; all ranks must call this together. Only rank 0 needs the path.

    FilesError, on all ranks: the file is damaged, or its cells, precision, state, members or section [time] differ from
    those of the run.
    """
    n_members = transport.block.members.axis_size
    facts, problem = transport.broadcast(_examine_for_run(path, setup, n_members) if transport.rank == 0 else None)
    if problem is not None:
        raise FilesError(problem)

    def read_block(block):
        block_slices = [slice(span.start, span.stop) for span in (block.members, block.y, block.x)]
        names = (name for name in facts["fields"] if not name.startswith(FIELD_PREFIX))
        # Arrays with fewer than two axes are not fields: every block reads them whole.
        parts = {
            name: file[name][tuple(block_slices[-file[name].ndim :]) if file[name].ndim > 1 else ...] for name in names
        }
        # Data types of zarr specify a byte order, and netCDF4 refuses such types for new variables.
        return {name: values.view(values.dtype.newbyteorder("=")) for name, values in parts.items()}

    with open_restart(facts["path"]) as file:
        fields = transport.make_arrays(read_block)
    state_type = setup.scheme.state_type
    n_memory = sum(name.startswith(f"{state_type._fields[0]}{MEMORY_SUFFIX}") for name in fields)
    suffixes = ["", *(f"{MEMORY_SUFFIX}{k}" for k in range(1, n_memory + 1))]
    states = [state_type(*(fields[name + suffix] for name in state_type._fields)) for suffix in suffixes]
    carry_names = {name + suffix for name in state_type._fields for suffix in suffixes}
    accumulator_fields = {name: field for name, field in fields.items() if name not in carry_names}
    accumulator_fields[MEAN_STEPS] = transport.put(np.int32(facts[MEAN_STEPS]))
    carry = Carry(states[0], tuple(states[1:]), transport.put(np.int32(facts["step"])))
    previous_config = from_toml(facts["configuration"], Case)
    return LoadedRestart(carry, accumulator_fields, facts["path"], facts["step"], previous_config, facts["substeps"])


def _examine_for_run(path, setup: Setup, n_members: int) -> tuple[dict | None, str | None]:
    """The facts about a restart file, and why this run cannot start from it, or None if it can."""
    facts = examine_restart(path)
    if "problem" in facts:
        return None, f"{path}: {facts['problem']}"
    previous_setup = setup_of(from_toml(facts["configuration"], Case))
    values_in_file, values_of_run = (
        {
            "cells": compared_setup.shape,
            "dtype": compared_setup.config.run.dtype,
            "state": ", ".join(compared_setup.scheme.state_type._fields),
            "members": compared_n_members,
            **compared_setup.config.time.model_dump(),
        }
        for compared_setup, compared_n_members in ((previous_setup, facts["members"]), (setup, n_members))
    )
    differences = [
        f"{name} is {values_in_file[name]}, not {value}"
        for name, value in values_of_run.items()
        if values_in_file[name] != value
    ]
    return facts | {"path": str(path)}, f"{path} does not fit: {'; '.join(differences)}" if differences else None
