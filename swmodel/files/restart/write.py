"""Write a restart file, which is verified and appears complete or not at all.

Rank 0 writes a NetCDF file and gathers ranges of rows for it; all processes write a Zarr store. In a restart file of an
ensemble, fields have a leading axis of members, except those from Python.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...ocean.state import Carry
from ...ocean.table import ARRIVAL_SUFFIX, HARMONIC_SUFFIX, MAXIMUM_SUFFIX, MEAN_STEPS, MEAN_SUFFIX, variable_in_run
from ...ocean.variable import Variable
from ..background import BackgroundFile
from ..gather import gather_pieces
from ..output.continuation import set_text_attribute
from ..output.metadata import DIMENSIONS, define_grid, define_provenance, define_variable, field_attributes
from ..run_folder import ZARR_SUFFIX
from ..store.draft_store import DraftStore
from . import python_fields
from .examine import CHECKSUM_ATTRIBUTE, HEADER_CHECKSUM_ATTRIBUTE, examine, header_checksum

if TYPE_CHECKING:
    from ...config.options.model import Config
    from ...parallel.transport.transport import Transport

MEMORY_SUFFIX = "_memory"

#: Extremes of a field since the start of the run, {suffix: description}, and a pattern that separates name and suffix.
EXTREMES = {
    MAXIMUM_SUFFIX: "largest value",
    f"{MAXIMUM_SUFFIX}_step": "step of the largest value",
    f"{ARRIVAL_SUFFIX}_step": "step of the arrival (-1: none, -2: wet at the start)",
}
EXTREME_PATTERN = re.compile(f"(.*?)({'|'.join(sorted(EXTREMES, key=len, reverse=True))})?")

MEMBERS_DIMENSION = "realization"


class RestartContents(NamedTuple):
    """The contents of a restart file.

    Attributes:
        fields: fields by their names in the file: the state (h, u, v, ...), memory of the time stepper (h_memory1),
            means since the last record (eta_mean), extremes since the start (eta_max, eta_max_step, eta_arrival_step,
            wet_arrival_step) and harmonic sums (eta_harmonic0). Positions of drifters (drifter_row) are NumPy arrays
            [drifter], complete on each process.
        step: number of steps since the start of the run.
        seconds: model time, s.
        mean_steps: number of steps in the means.
        records: notes on records in time, see `setup.fields.record_notes`.
        substeps: number of substeps per step for which the memory is valid, see `model.substeps`.
    """

    fields: dict[str, np.ndarray]
    step: int
    seconds: float
    mean_steps: int
    records: str
    substeps: int


def contents_of(
    carry: Carry, step: int, seconds: float, accumulator_fields: dict, records: str, substeps: int
) -> RestartContents:
    states = [("", carry.state), *((f"{MEMORY_SUFFIX}{k}", past) for k, past in enumerate(carry.memory, 1))]
    fields = {f"{name}{suffix}": field for suffix, state in states for name, field in state._asdict().items()}
    fields |= {name: field for name, field in accumulator_fields.items() if name != MEAN_STEPS}
    return RestartContents(fields, step, seconds, int(accumulator_fields.get(MEAN_STEPS, 0)), records, substeps)


def write(
    path, contents: RestartContents, config: Config, transport: Transport, command_line: str, get: Callable
) -> None:
    """Write a restart file; all ranks must call this together.

    FilesError: the file could not be written; an existing file is unchanged.

    `get`: function of a field that returns this process's part of it.
    """
    names = [*contents.fields, *python_fields.field_names(config)]
    cells = config.grid.ny * config.grid.nx
    n_members, itemsize = transport.block.members.axis_size, np.dtype(config.run.dtype).itemsize
    needed_bytes = cells * n_members * len(contents.fields) * itemsize
    needed_bytes += cells * (len(names) - len(contents.fields)) * np.dtype(np.float64).itemsize
    define = partial(define_contents, contents, config, transport, command_line)
    local_fields = chain(
        ((name, get(field) if field.ndim > 1 else field) for name, field in contents.fields.items()),
        python_fields.local_fields(config, transport.block).items(),
    )
    if Path(path).suffix == ZARR_SUFFIX:
        write_store(path, local_fields, names, config, transport, define, needed_bytes)
    else:
        write_file(path, local_fields, names, transport, define, needed_bytes)


def write_store(
    path, local_fields, names: list[str], config: Config, transport: Transport, define, needed_bytes: int
) -> None:
    """Write a Zarr store from all processes; `local_fields`: pairs of a name and this process's part of a field."""

    def define_all(dataset):
        define(dataset)
        dataset.fields = " ".join(names)

    with DraftStore(path, transport, (config.grid.ny, config.grid.nx), define_all, needed_bytes) as store:
        for name, local in local_fields:
            if local.ndim == 1:
                store.write_numbers(name, local)
            elif local.ndim == 3:
                for member, field in enumerate(local, transport.block.members.start):
                    store.write_field(name, (member,), field)
            else:
                store.write_field(name, (), local)


def write_file(path, local_fields, names: list[str], transport: Transport, define, needed_bytes: int) -> None:
    """Write a NetCDF file on rank 0; arguments as for `write_store`."""
    digests = {name: hashlib.sha256() for name in names}

    def write_piece(writer, name: str, index: tuple[slice, ...], values: np.ndarray):
        """Write a piece of a field; pieces must come in ascending order of rows, because of the checksum."""
        values = np.ascontiguousarray(values)
        digests[name].update(values.data)
        writer.file[name][index] = values

    def write_checksums(writer):
        checksums = {name: digest.hexdigest() for name, digest in digests.items()}
        for name, checksum in checksums.items():
            set_text_attribute(writer.file[name], CHECKSUM_ATTRIBUTE, checksum)
        set_text_attribute(writer.file, HEADER_CHECKSUM_ATTRIBUTE, header_checksum(writer.file.attrs, checksums))

    def verify(path):
        facts = examine(path)
        if facts["damaged"] or facts["fields"] != sorted(names):
            damaged_names = ", ".join(name for name, _ in facts["damaged"])
            raise OSError(f"verification failed: other values were read back ({damaged_names or 'fields'})")

    with BackgroundFile(path, transport, define, is_draft=True, check_draft=verify) as file:
        file.require_disk_space(needed_bytes)
        for name, local in local_fields:
            if local.ndim == 1:
                file.submit(write_piece, name, (slice(None),), local)
                continue
            for index, values in gather_pieces(transport, local):
                file.submit(write_piece, name, index, values)
        file.submit(write_checksums)


def define_contents(
    contents: RestartContents, config: Config, transport: Transport, command_line: str, dataset
) -> None:
    """Define everything except the values of the fields and the checksums in a new netCDF4.Dataset."""
    define_provenance(dataset, config, transport, command_line)
    dataset.setncatts(
        {
            "title": f"{dataset.title.rstrip('.')}: restart file after {contents.step} steps",
            "step": np.int64(contents.step),
            "seconds": np.float64(contents.seconds),
            "mean_steps": np.int64(contents.mean_steps),
            **({"records": contents.records} if contents.records else {}),
            **({"substeps": np.int64(contents.substeps)} if contents.substeps > 1 else {}),
            "written": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
    )
    define_grid(dataset, config.grid)
    n_members = transport.block.members.axis_size
    leading_dimensions = (MEMBERS_DIMENSION,) if n_members > 1 else ()
    for name in leading_dimensions:
        dataset.createDimension(name, n_members)
    for name, local in contents.fields.items():
        if local.ndim == 1:
            if "trajectory" not in dataset.dimensions:
                dataset.createDimension("trajectory", len(local))
            attrs = {"long_name": name.replace("_", " ") + " of each drifter, -1 after it has left"}
            define_variable(dataset, name, ("trajectory",), attrs, datatype=local.dtype, contiguous=True)
            continue
        model_variable, attrs = describe_field(name, contents.mean_steps, config)
        dimensions = *leading_dimensions, *DIMENSIONS[model_variable.location]
        define_variable(dataset, name, dimensions, attrs, datatype=local.dtype, contiguous=True)
    for name in python_fields.field_names(config):
        model_variable = python_fields.variable_of(config, name)
        attrs = field_attributes(model_variable, config.grid, coordinates="")
        attrs |= python_fields.attributes_of(config, name)
        define_variable(dataset, name, DIMENSIONS[model_variable.location], attrs, contiguous=True)


def describe_field(name: str, mean_steps: int, config: Config) -> tuple[Variable, dict]:
    match = EXTREME_PATTERN.fullmatch(name)
    assert match is not None  # the pattern matches every name
    base, extreme = match.groups()
    base, _, basis_function = base.partition(HARMONIC_SUFFIX)
    base, _, memory = base.removesuffix(MEAN_SUFFIX).partition(MEMORY_SUFFIX)
    model_variable = variable_in_run(base, config.physics)
    attrs = field_attributes(model_variable, config.grid, coordinates="")
    if memory:
        attrs = {key: attrs[key] for key in ("grid", "location", "grid_mapping") if key in attrs}
        attrs["long_name"] = f"memory {memory} of the time stepper {config.time.stepper}, for {base}"
    elif name.endswith(MEAN_SUFFIX):
        attrs["long_name"] = f"mean of {base} over the last {mean_steps} steps"
    elif basis_function:
        attrs["long_name"] = f"sum of {base} times basis function {basis_function} of the harmonic analysis"
    elif extreme:
        attrs["long_name"] = f"{EXTREMES[extreme]} of {base} since the start of the run"
        if extreme != MAXIMUM_SUFFIX:
            attrs = {key: text for key, text in attrs.items() if key != "standard_name"} | {"units": "1"}
    return model_variable, attrs
