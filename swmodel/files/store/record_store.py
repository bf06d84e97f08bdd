"""Records in a store of Zarr that all processes write at once: output.zarr of a run.

Rank 0 shows a record when it finds the files of all processes in the folder. So a record is whole or absent, also if a
process is killed at any moment, and it needs no message. Processes exchange messages when a store is opened, before
restart files, and at the end.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ...config import config_hash, to_toml
from ...errors import FilesError
from ..draft import WRITING
from ..output.continuation import other_configuration, prolonged
from ..output.metadata import FILL, define_provenance, define_time, times_of
from ..output.static import place_of, static_cells
from ..run_folder import remove
from . import arrays, pieces
from .block_store import BlockStore, Place, sync

#: Longest delay of a record that is whole while further ones wait, s.
DELAY = 0.2

#: Upper bound of the bytes of metadata of a record.
METADATA_BYTES = 1 << 16


class RecordStore(BlockStore):
    """Base of stores with records in time, like `output.record_file.RecordFile`. All processes call all methods.

    `begin`, `put_field` and `complete` send no messages. After a failure of one process `failed` is true there, and all
    raise FilesError at the next `flush` or `close`; complete records stay.

    `keep`: function of a step, whether its record of an existing store is kept; None: a new store.
    FilesError, on all processes: the store cannot be written, or belongs to another run.
    """

    bounds = False

    def __init__(self, path, config, transport, command_line: str = "", keep: Callable | None = None):
        self.config, self.dtype = config, np.dtype(config.run.dtype)
        beside = Path(path).with_name(Path(path).name + WRITING)
        super().__init__(path, beside, transport, (config.grid.ny, config.grid.nx))
        self._missing: dict[str, None] = {}  # fields of the record in work
        self._whole_records: list[tuple[int, float]] = []  # steps and times that readers do not see yet
        self._shown, self._last, self._latest = 0, 0.0, 0.0
        try:
            if keep is None:
                self._on_first(self._create, command_line)
                self._on_all(self._open_records)
                self._put(self._put_static)
            else:
                self._on_all(self._require_ours)
                self._on_first(self._resume, keep, command_line)
                self._on_all(self._open_records)
        except FilesError:
            self.close(agree=False)
            raise

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        self.close(agree=kind is None)

    def begin(self, nbytes: int) -> None:
        """Begin a record of up to `nbytes` of all processes."""
        self._put(self._require_room, nbytes + METADATA_BYTES)
        self._missing = dict.fromkeys(self._moving)

    def put_field(self, name: str, local: np.ndarray) -> None:
        """Write this process's part [y, x] of a field."""
        del self._missing[name]
        local = np.array(local, self.dtype)  # a copy: the model may use the memory again
        self._put(self._write, name, (self._records,), local, nbytes=local.nbytes)

    def complete(self, step: int, seconds: float) -> None:
        """Complete the record with its number of steps and its time, s; other fields are missing."""
        block = self._part[1] - self._part[0], self._part[3] - self._part[2]
        for name in self._missing:
            self._put(self._write, name, (self._records,), np.full(block, FILL, self.dtype))
        self._put(self._expect, (step, seconds), [(name, (self._records,)) for name in self._moving])
        self._records += 1

    def flush(self) -> None:
        """Make all records so far visible and durable: they survive a kill and a power cut."""
        self.settle()

    def close(self, agree: bool = True) -> None:
        """Write the queue and end; `agree=False` if the processes may no longer act together."""
        try:
            if agree:
                self.flush()
        finally:
            if self._error is None:
                self._put(self._settle, 0.0)
            self.end()
            if agree and self.transport.rank == 0:
                remove(self._beside)

    def _create(self, command_line: str) -> None:
        folder = self.path.parent
        if not folder.is_dir():
            raise FileNotFoundError(f"there is no folder {folder}")

        def define(dataset):
            define_provenance(dataset, self.config, self.transport, command_line)
            define_time(dataset, times_of(self.config.time), self.bounds)
            self.define_contents(dataset, self.config)

        self._make(define)

    def _require_ours(self) -> None:
        """FilesError: the store is not that of this run, at this process's part of the grid."""
        if not (self.path / arrays.METADATA).is_file():
            raise FilesError(f"{self.path} cannot be continued: there is no such store")
        try:
            attributes, documents = arrays.contents(self.path)
            found = other_configuration(attributes.get("configuration"), self.config)
            found = found or [
                f"{name} has other values in the store"
                for name, values in static_cells(self.config, self._part)
                if self._differs(documents, *place_of(self.config, name), values)
            ]
        except (OSError, RuntimeError, LookupError, TypeError, ValueError, AttributeError) as error:  # a foreign store
            reason = getattr(error, "strerror", None) or error
            raise FilesError(f"{self.path} cannot be continued: {reason}") from None
        if found:
            raise FilesError(f"{self.path} cannot be continued: {'; '.join(found)}")

    def _differs(self, documents: dict, name: str, at: tuple[int, ...], values: np.ndarray) -> bool:
        south, north, west, east = self._part
        there = arrays.as_shown(self.path / name, documents[name])[(*at, slice(south, north), slice(west, east))]
        return not np.array_equal(there, values)

    def _resume(self, keep: Callable, command_line: str) -> None:
        """Keep the first records, remove all files of others, and record the configuration and the command line."""
        self._attributes, documents = arrays.contents(self.path)
        self._names = list(documents)
        steps, times = (arrays.values(self.path, documents[name], name) for name in ("step", "time"))
        records = sum(map(keep, steps))
        self._last, self._shown = times[records - 1] if records else 0.0, records
        about = self._attributes
        about["history"] = prolonged(about.get("history", ""), command_line)
        about |= {"configuration": to_toml(self.config), "configuration_sha256": config_hash(self.config)}
        arrays.published(self.path, about, documents, records)
        arrays.repeated(self.path, documents)
        remove(self._beside)
        for name in documents:
            arrays.remove_beyond(self.path / name, documents[name], records)

    def _open_records(self) -> None:
        self._open()
        self._records = self._documents["time"]["shape"][0]

    def _put_static(self) -> None:
        leads = []
        for name, values in static_cells(self.config, self._part):
            leads.append(place_of(self.config, name))
            self._write(*leads[-1], values)
        self._expect(None, leads)

    def _awaited(self, leads: list[Place]) -> list[Path]:
        if self.transport.rank:
            return []
        places = pieces.places((0, self.shape[0], 0, self.shape[1]), self._size)
        return [file for each in leads for file in arrays.files_of(self.path, *each, places)]

    def _done(self, what: tuple[int, float] | None) -> None:
        """Note a record that is whole, or with None the constant fields, and show it, unless further ones wait."""
        if self.transport.rank:
            return
        self._whole_records += [what] if what else []
        if what is None or self._queue.idle or time.monotonic() > self._latest + DELAY:
            self._show()

    def _settle(self, patience: float, while_idle: bool = False) -> None:
        super()._settle(patience, while_idle)
        if self._whole_records and not while_idle:
            self._show()

    def _settle_all(self) -> None:
        super()._settle_all()
        if self.transport.rank == 0:
            arrays.repeated(self.path, self._documents)
            self._unsynced.add(self.path / arrays.METADATA)
            self._sync()

    def _show(self) -> None:
        """Write the times of whole records, then the metadata that show them to readers."""
        first, last = self._shown, self._shown + len(self._whole_records)
        if first < last:
            steps, times = zip(*self._whole_records, strict=True)
            values = {"time": times, "step": steps, "time_bounds": list(zip([self._last, *times], times, strict=False))}
            for name in (name for name in values if name in self._arrays):
                self._arrays[name][first:last] = values[name]
            for record in sorted({first, last - 1}):
                for file in arrays.series_files(self.path, self._documents, record):
                    sync(file)
            self._last = times[-1]
        arrays.published(self.path, self._attributes, self._documents, last)
        self._whole_records, self._shown, self._latest = [], last, time.monotonic()
