"""Write a restart file, which is verified and appears whole or not at all.

A NetCDF file is written by rank 0, which gathers blocks of rows; a store of Zarr by all processes. That of an ensemble
has the carries of all members, along a leading axis.
"""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...ocean.state import Carry
from ...ocean.table import ARRIVAL, HARMONIC, MAXIMUM, MEAN, MEAN_STEPS, entry_of
from ...ocean.variable import Variable
from ..background import BackgroundFile
from ..gather import gathered_members
from ..output.continuation import set_text
from ..output.metadata import DIMENSIONS, attributes, define_grid, define_provenance, define_variable
from ..run_folder import ZARR
from ..store.draft_store import DraftStore
from . import python_fields
from .examine import CHECKSUM, HEADER_CHECKSUM, examine, seal

MEMORY = "_memory"

#: Extremes of a field since the start of the run, by the ending of the name; the pattern of such names.
EXTREMES = {
    MAXIMUM: "largest value",
    f"{MAXIMUM}_step": "step of the largest value",
    f"{ARRIVAL}_step": "first step of a size, -1 for none,",
}
EXTREME = re.compile(f"(.*?)({'|'.join(sorted(EXTREMES, key=len, reverse=True))})?")

#: The dimension of the members.
MEMBERS = "realization"


class Contents(NamedTuple):
    """The contents of a restart file: numbers, and fields for `get`, by their names in the file.

    Attributes:
        fields: h, u, v, memories of the time stepper (h_memory1), means since the last record (eta_mean), extremes
            since the start (eta_max, eta_max_step, eta_arrival_step), and harmonic sums (eta_harmonic0). Positions of
            drifters (drifter_row) are NumPy arrays [n], which all processes have.
        step: number of steps done.
        seconds: model time, s.
        mean_steps: number of steps in the means.
        records: notes on records in time, see `setup.fields.noted`.
        substeps: number of substeps that the memory of the time stepper is for, see `model.pace`.
    """

    fields: dict[str, np.ndarray]
    step: int
    seconds: float
    mean_steps: int
    records: str = ""
    substeps: int = 1


def contents_of(carry: Carry, step: int, seconds: float, kept: dict) -> Contents:
    """The contents of a restart file from a carry, and from fields of accumulators by name."""
    states = [("", carry.state), *((f"{MEMORY}{k}", past) for k, past in enumerate(carry.memory, 1))]
    fields = {f"{name}{suffix}": field for suffix, state in states for name, field in state._asdict().items()}
    fields |= {name: field for name, field in kept.items() if name != MEAN_STEPS}
    return Contents(fields, step, seconds, int(kept.get(MEAN_STEPS, 0)))


def write(path, contents: Contents, config, transport, command_line: str = "", get=None) -> None:
    """Write a restart file; all ranks call it. FilesError: it could not be written; an earlier file is unchanged.

    `get`: function of a field that returns this process's part of it; None: that of the transport.
    """
    names = [*contents.fields, *python_fields.kept(config)]
    cells = config.grid.ny * config.grid.nx
    needed = cells * transport.block.members.size * len(contents.fields) * np.dtype(config.run.dtype).itemsize
    needed += cells * (len(names) - len(contents.fields)) * np.dtype(np.float64).itemsize
    define = partial(define_contents, contents, config, transport, command_line)
    parts = chain(
        ((name, (get or transport.get)(field) if field.ndim > 1 else field) for name, field in contents.fields.items()),
        python_fields.fields_of(config, transport.block).items(),
    )
    if Path(path).suffix == ZARR:
        write_store(path, parts, names, config, transport, define, needed)
    else:
        write_file(path, parts, names, transport, define, needed)


def write_store(path, parts, names: list[str], config, transport, define, needed: int) -> None:
    """Write a store of Zarr by all processes; `parts`: pairs of a name and this process's part of a field."""

    def define_all(dataset):
        define(dataset)
        dataset.fields = " ".join(names)

    with DraftStore(path, transport, (config.grid.ny, config.grid.nx), define_all, needed) as store:
        for name, local in parts:
            if local.ndim == 1:
                store.put_numbers(name, local)
            elif local.ndim == 3:
                for member, field in enumerate(local, transport.block.members.start):
                    store.put(name, (member,), field)
            else:
                store.put(name, (), local)


def write_file(path, parts, names: list[str], transport, define, needed: int) -> None:
    """Write a NetCDF file by rank 0; arguments as for `write_store`."""
    digests = {name: hashlib.sha256() for name in names}

    def store(records, name: str, where: tuple[slice, ...], values: np.ndarray):
        """Write a piece of a field; pieces come in rising order."""
        values = np.ascontiguousarray(values)
        digests[name].update(values)
        records.file[name][where] = values

    def write_checksums(records):
        sums = {name: total.hexdigest() for name, total in digests.items()}
        for name, checksum in sums.items():
            set_text(records.file[name], CHECKSUM, checksum)
        set_text(records.file, HEADER_CHECKSUM, seal(records.file.attrs, sums))

    def verify(path):
        found = examine(path)
        if found["damaged"] or found["fields"] != sorted(names):
            places = ", ".join(name for name, _ in found["damaged"])
            raise OSError(f"verification failed: other values were read back ({places or 'fields'})")

    with BackgroundFile(path, transport, define, draft=True, check=verify) as file:
        file.require_room(needed)
        for name, local in parts:
            if local.ndim == 1:
                file.put(store, name, (slice(None),), local)
                continue
            for where, values in gathered_members(transport, local):
                file.put(store, name, where, values)
        file.put(write_checksums)


def define_contents(contents: Contents, config, transport, command_line: str, dataset) -> None:
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
    members = transport.block.members.size
    before = (MEMBERS,) if members > 1 else ()
    for name in before:
        dataset.createDimension(name, members)
    for name, local in contents.fields.items():
        if local.ndim == 1:
            if "trajectory" not in dataset.dimensions:
                dataset.createDimension("trajectory", len(local))
            about = {"long_name": name.replace("_", " ") + " of each drifter, -1 after it left"}
            define_variable(dataset, name, ("trajectory",), about, kind=local.dtype, contiguous=True)
            continue
        row, about = described(name, contents.mean_steps, config)
        define_variable(dataset, name, (*before, *DIMENSIONS[row.location]), about, kind=local.dtype, contiguous=True)
    for name in python_fields.kept(config):
        row = python_fields.entry(config, name)
        about = attributes(row, config.grid, coordinates="") | python_fields.attributes_of(config, name)
        define_variable(dataset, name, DIMENSIONS[row.location], about, contiguous=True)


def described(name: str, mean_steps: int, config) -> tuple[Variable, dict]:
    """The row in the table of variables of a field in the file, and its attributes."""
    base, extreme = EXTREME.fullmatch(name).groups()
    base, _, product = base.partition(HARMONIC)
    base, _, memory = base.removesuffix(MEAN).partition(MEMORY)
    row = entry_of(base, config.physics)
    about = attributes(row, config.grid, coordinates="")
    if memory:
        about = {key: about[key] for key in ("grid", "location", "grid_mapping") if key in about}
        about["long_name"] = f"memory {memory} of the time stepper {config.time.stepper}, for {base}"
    elif name.endswith(MEAN):
        about["long_name"] = f"mean of {base} over the last {mean_steps} steps"
    elif product:
        about["long_name"] = f"sum of {base} times basis function {product} of the harmonic analysis"
    elif extreme:
        about["long_name"] = f"{EXTREMES[extreme]} of {base} since the start of the run"
        if extreme != MAXIMUM:
            about = {key: text for key, text in about.items() if key != "standard_name"} | {"units": "1"}
    return row, about
