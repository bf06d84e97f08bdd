"""Writing a restart file: gathered in blocks of rows, written and verified by rank 0; it appears whole or not at all.

The file of an ensemble holds the carries of all members, along an axis before those of the grid.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...ocean.state import Carry
from ...ocean.table import ARRIVAL, HARMONIC, MAXIMUM, MEAN, MEAN_STEPS, entry_of
from ...ocean.variable import Variable
from ...parallel.worker import NETCDF
from ..block_file import JournaledHDF5
from ..draft import Draft
from ..gather import gathered_members
from ..output.continuation import set_text
from ..output.metadata import DIMENSIONS, attributes, define_grid, define_provenance, define_variable
from . import python_fields
from .examine import CHECKSUM, HEADER_CHECKSUM, digest, examine, seal

#: An upper bound of the bytes in the file besides the fields: coordinates and metadata.
METADATA_BYTES = 1 << 18

MEMORY = "_memory"

#: What is kept of a field since the start of the run, by the ending of its name; the pattern of such names.
EXTREMES = {
    MAXIMUM: "largest value",
    f"{MAXIMUM}_step": "step of the largest value",
    f"{ARRIVAL}_step": "first step of a size, -1 for none,",
}
EXTREME = re.compile(f"(.*?)({'|'.join(sorted(EXTREMES, key=len, reverse=True))})?")

#: The dimension of the members.
MEMBERS = "realization"


class Contents(NamedTuple):
    """What a run needs to continue: numbers, and fields, as `get` takes them, by their names in the file.

    Attributes:
        fields: h, u, v; h_memory1, ... of the time stepper; eta_mean, ... since the last record; eta_max,
            eta_max_step, eta_arrival_step, ... since the start of the run; eta_harmonic0, ... of a tidal analysis.
        step: number of steps done.
        seconds: model time, s.
        mean_steps: number of steps in the means.
        records: what is noted of records in time, see `setup.fields.noted`.
    """

    fields: dict[str, np.ndarray]
    step: int
    seconds: float
    mean_steps: int
    records: str = ""


def contents_of(carry: Carry, step: int, seconds: float, kept: dict) -> Contents:
    """The contents of a restart file for a carry, and for what accumulators keep, by the names in the file."""
    states = [("", carry.state), *((f"{MEMORY}{k}", past) for k, past in enumerate(carry.memory, 1))]
    fields = {f"{name}{suffix}": field for suffix, state in states for name, field in state._asdict().items()}
    fields |= {name: field for name, field in kept.items() if name != MEAN_STEPS}
    return Contents(fields, step, seconds, int(kept.get(MEAN_STEPS, 0)))


def write(path, contents: Contents, config, transport, command_line: str = "", get=None) -> None:
    """Write a restart file; called by all ranks. FilesError: it could not be written; an earlier file is unchanged.

    Args:
        get: function of a field that returns this process's part of it as a NumPy array; None: that of the transport.
    """
    get = get or transport.get
    writer = _Writer(contents, config, transport, command_line)
    draft = Draft(path, transport, writer.close, "restart file")
    draft.do(writer.begin, draft)
    for name, field in contents.fields.items():
        draft.fill(partial(writer.store, name), gathered_members(transport, get(field)))
    for name, field in python_fields.fields_of(config, transport.block).items():
        draft.fill(partial(writer.store, name), gathered_members(transport, field))
    draft.do(writer.seal, draft.temporary)
    draft.finish()


class _Writer(JournaledHDF5):
    """The file on rank 0."""

    def __init__(self, contents: Contents, config, transport, command_line: str):
        super().__init__()
        self.contents, self.define = contents, (config, transport, command_line)
        self.digests = {name: digest() for name in (*contents.fields, *python_fields.kept(config))}

    def begin(self, draft: Draft) -> None:
        """Make the file, without the values of its fields yet."""
        draft.path.parent.mkdir(parents=True, exist_ok=True)
        config, transport, _ = self.define
        cells, members = config.grid.ny * config.grid.nx, transport.block.members.size
        needed = cells * members * len(self.contents.fields) * np.dtype(config.run.dtype).itemsize + METADATA_BYTES
        needed += cells * len(python_fields.kept(config)) * np.dtype(np.float64).itemsize
        if needed > draft.free():
            raise OSError(f"disk full, it takes {needed} bytes")
        self.open(draft.temporary, image(self.contents, *self.define))

    def store(self, name: str, where: tuple[slice, ...], values: np.ndarray) -> None:
        """Write a piece of a field; pieces come in rising order."""
        values = np.ascontiguousarray(values)
        self.digests[name].update(values)
        super().store(name, where, values)

    def seal(self, path: Path) -> None:
        """Add the checksums, commit the file to the disk, and read it back."""
        checksums = {name: total.hexdigest() for name, total in self.digests.items()}
        for name, checksum in checksums.items():
            set_text(self.file[name], CHECKSUM, checksum)
        set_text(self.file, HEADER_CHECKSUM, seal(self.file.attrs, checksums))
        self.finish()
        found = examine(path)
        if found["damaged"] or found["fields"] != sorted(checksums):
            places = ", ".join(name for name, _ in found["damaged"])
            raise OSError(f"what was read back is not what was written ({places or 'fields'})")


def image(contents: Contents, config, transport, command_line: str) -> bytes:
    """The file without the values of its fields and without checksums."""
    import netCDF4

    with NETCDF:
        dataset = netCDF4.Dataset("restart.nc", "w", format="NETCDF4", memory=METADATA_BYTES)
        define_provenance(dataset, config, transport, command_line)
        dataset.setncatts(
            {
                "title": f"{dataset.title.rstrip('.')}: restart file after {contents.step} steps",
                "step": np.int64(contents.step),
                "seconds": np.float64(contents.seconds),
                "mean_steps": np.int64(contents.mean_steps),
                **({"records": contents.records} if contents.records else {}),
                "written": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            }
        )
        define_grid(dataset, config.grid)
        members = transport.block.members.size
        before = (MEMBERS,) if members > 1 else ()
        for name in before:
            dataset.createDimension(name, members)
        for name, local in contents.fields.items():
            row, about = described(name, contents.mean_steps, config)
            define_variable(
                dataset, name, (*before, *DIMENSIONS[row.location]), about, kind=local.dtype, contiguous=True
            )
        for name in python_fields.kept(config):
            row = python_fields.entry(config, name)
            about = attributes(row, config.grid, coordinates="") | python_fields.attributes_of(config, name)
            define_variable(dataset, name, DIMENSIONS[row.location], about, contiguous=True)
        return bytes(dataset.close())


def described(name: str, mean_steps: int, config) -> tuple[Variable, dict]:
    """The row in the table of variables to which a field in the file belongs, and the attributes of the field."""
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
