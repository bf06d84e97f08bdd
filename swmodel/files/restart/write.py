"""Writing a restart file: gathered in blocks of rows, written and verified by rank 0, in place whole or not at all.

Of an ensemble it holds the carries of all members, which lie on an axis before those of the grid: what is gathered as a
row is then the whole field of a member.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...errors import FilesError
from ...ocean.state import Carry, entry_of
from ..journal import JournaledFile, remove
from ..output.continuation import set_text
from ..output.metadata import DIMENSIONS, attributes, define_grid, define_provenance
from .examine import CHECKSUM, HEADER_CHECKSUM, digest, examine, seal
from .folder import TEMPORARY

#: Bytes of a field gathered at a time.
GATHER_BYTES = 4 << 20

#: More than what is in the file besides the fields: coordinates and metadata.
METADATA_BYTES = 1 << 18

MEMORY, MEAN = "_memory", "_mean"

#: The dimension of the members.
MEMBERS = "realization"


class Contents(NamedTuple):
    """What a run needs to go on: fields by their names in the file, as `get` takes them, and numbers.

    Attributes:
        fields: h, u, v; h_memory1, ... of the time stepper; eta_mean, ... since the last record.
        step: number of steps done.
        seconds: model time, s.
        mean_steps: number of steps in the means.
    """

    fields: dict[str, np.ndarray]
    step: int
    seconds: float
    mean_steps: int


def contents_of(carry: Carry, step: int, seconds: float, means: dict, mean_steps: int) -> Contents:
    """The contents of a restart file for a carry and running means."""
    states = [("", carry.state), *((f"{MEMORY}{k}", past) for k, past in enumerate(carry.memory, 1))]
    fields = {f"{name}{suffix}": field for suffix, state in states for name, field in state._asdict().items()}
    fields |= {f"{name}{MEAN}": field for name, field in means.items()}
    return Contents(fields, step, seconds, mean_steps)


def write(path, contents: Contents, config, transport, command_line: str = "", get=None) -> None:
    """Write a restart file; called by all ranks together.

    Args:
        get: function of a field that gives this process's part of it as a NumPy array; the transport's unless given.

    Raises:
        FilesError: it could not be written, on all ranks. A file that was there before is as it was.
    """
    path = Path(path)
    job = _Writer(path, contents, config, transport, command_line) if transport.rank == 0 else None
    block, error, get = transport.block, None, get or transport.get
    shape = block.y.size, block.x.size
    for name, local in contents.fields.items():
        local = get(local).reshape(block.shape)
        for first, last in row_blocks(shape, local.dtype.itemsize):
            rows = transport.gather_rows(local, first, last)
            if job and error is None:
                error = job.attempt(job.store, name, first, rows)
    if job:
        error = error or job.attempt(job.finish)
    error = transport.broadcast(error)
    if error is not None:
        raise error


def row_blocks(shape, itemsize: int) -> Iterator[tuple[int, int]]:
    """First and last row of blocks of a field that are gathered together."""
    height = max(1, GATHER_BYTES // (shape[1] * itemsize))
    return ((first, min(first + height, shape[0])) for first in range(0, shape[0], height))


class _Writer:
    """The file under its temporary name, on rank 0. Nothing raises but through `attempt`."""

    def __init__(self, path: Path, contents: Contents, config, transport, command_line: str):
        self.path, self.temporary = path, path.with_name(path.name + TEMPORARY)
        self.contents, self.define = contents, (config, transport, command_line)
        self.file = self.journal = None
        self.digests = {name: digest() for name in contents.fields}

    def attempt(self, action, *arguments) -> Exception | None:
        """Do it; the error, after which nothing is left of the file if that is allowed, if it cannot be done."""
        try:
            action(*arguments)
        except Exception as error:
            with contextlib.suppress(OSError):  # what has been refused once may be refused again
                self.close()
                self.temporary.unlink(missing_ok=True)
            if not isinstance(error, (OSError, RuntimeError)):
                return error
            reason = getattr(error, "strerror", None) or error
            return FilesError(f"restart file {self.path} cannot be written: {reason}; {free(self.path)} bytes free")
        return None

    def store(self, name: str, first: int, rows: np.ndarray) -> None:
        """Write rows of a field from row `first` on."""
        if self.file is None:
            self.open()
        rows, field = np.ascontiguousarray(rows), self.file[name]
        self.digests[name].update(rows)
        field[first : first + len(rows)] = rows.reshape(-1, *field.shape[1:])
        self.journal.check()

    def open(self) -> None:
        """Make the file, empty as yet, in memory first: HDF5 takes a full disk badly."""
        import h5py

        self.path.parent.mkdir(parents=True, exist_ok=True)
        config, transport, _ = self.define
        cells = transport.block.y.size * transport.block.x.size
        needed = cells * np.dtype(config.run.dtype).itemsize * len(self.contents.fields) + METADATA_BYTES
        if needed > free(self.path):
            raise OSError(f"disk full, it takes {needed} bytes")
        remove(self.temporary)  # with a journal, which a killed writer may have left
        self.temporary.write_bytes(image(self.contents, *self.define))
        self.journal = JournaledFile(self.temporary)
        self.file = h5py.File(self.journal, "r+")

    def finish(self) -> None:
        """Seal the file, bring it to the disk, read it back, and put it into its place."""
        checksums = {name: total.hexdigest() for name, total in self.digests.items()}
        for name, checksum in checksums.items():
            set_text(self.file[name], CHECKSUM, checksum)
        set_text(self.file, HEADER_CHECKSUM, seal(self.file.attrs, checksums))
        self.file.close()
        self.journal.commit()
        self.close()
        found = examine(self.temporary)
        if found["damaged"] or found["fields"] != sorted(checksums):
            places = ", ".join(name for name, _ in found["damaged"])
            raise OSError(f"what was read back is not what was written ({places or 'fields'})")
        self.temporary.replace(self.path)
        sync(self.path.parent)

    def close(self) -> None:
        """Let go of the file as it is."""
        if self.file:
            self.file.close()
        if self.journal is not None:
            self.journal.close()
        self.file = self.journal = None


def image(contents: Contents, config, transport, command_line: str) -> bytes:
    """The file without the values of its fields and without checksums."""
    import netCDF4

    dataset = netCDF4.Dataset("restart.nc", "w", format="NETCDF4", memory=METADATA_BYTES)
    define_provenance(dataset, config, transport, command_line)
    dataset.setncatts(
        {
            "title": f"{dataset.title.rstrip('.')}: restart file after {contents.step} steps",
            "step": np.int64(contents.step),
            "seconds": np.float64(contents.seconds),
            "mean_steps": np.int64(contents.mean_steps),
            "written": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
    )
    define_grid(dataset, config.grid)
    before = (MEMBERS,) if members_of(transport, config.grid) > 1 else ()
    for name in before:
        dataset.layout = "1x1"  # a member is not divided
        dataset.createDimension(name, transport.block.y.size)
    for name, local in contents.fields.items():
        base, _, memory = name.removesuffix(MEAN).partition(MEMORY)
        entry = entry_of(base, config.physics)
        dimensions = (*before, *DIMENSIONS[entry.location])
        variable = dataset.createVariable(name, local.dtype, dimensions, fill_value=False, contiguous=True)
        told = attributes(entry)
        if memory:
            told = {key: told[key] for key in ("grid", "location")}
            told["long_name"] = f"memory {memory} of the time stepper {config.time.stepper}, for {base}"
        elif name.endswith(MEAN):
            told["long_name"] = f"mean of {base} over the last {contents.mean_steps} steps"
        variable.setncatts(told)
    return bytes(dataset.close())


def members_of(transport, grid) -> int:
    """How many times the processes have the cells of the grid: once, or as often as an ensemble has members."""
    return transport.block.y.size * transport.block.x.size // (grid.ny * grid.nx)


def free(path: Path) -> int:
    """Bytes free on the disk that holds a file, which need not exist, nor its folder."""
    return shutil.disk_usage(next(folder for folder in path.absolute().parents if folder.is_dir())).free


def sync(folder: Path) -> None:
    """Bring the names in a folder to the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
