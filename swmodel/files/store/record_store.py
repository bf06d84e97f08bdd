"""Records in a Zarr store that all processes write in parallel: output.zarr of a run.

Rank 0 publishes a record, that is, makes it visible to readers, when the files of all processes are in the folder. So
readers see a record completely or not at all, even if a process is killed at any moment, and publishing needs no
messages. Processes exchange messages only when a store is opened, flushed (before restart files) and closed.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...config import config_hash, to_toml
from ...errors import FilesError
from ..draft import DRAFT_SUFFIX
from ..journal import sync_path
from ..output.continuation import configuration_differences, extend_history
from ..output.metadata import FILL_VALUE, define_provenance, define_time, time_attributes
from ..output.static import array_and_indices, static_fields_on
from ..run_folder import remove_path
from . import arrays, tiling
from .block_store import BlockStore, FieldSlice

if TYPE_CHECKING:
    from ...config.options.model import Config
    from ...parallel.transport.transport import Transport

#: While further calls are queued, records that complete within this time after the last publication, s, wait.
MIN_PUBLISH_INTERVAL_SECONDS = 0.2

#: Upper bound on the size of the metadata of a record, bytes.
MAX_RECORD_METADATA_BYTES = 1 << 16


class RecordStore(BlockStore, ABC):
    """Base of stores with records in time, like `output.record_file.RecordFile`. All processes must call all methods.

    `begin`, `write_field` and `complete` send no messages. After a failure of one process `has_failed` is true on this
    process, and all processes raise FilesError at the next `flush` or `close`; complete records stay.

    `keep`: function of a step that says whether to keep its record in an existing store; None: create a new store.
    FilesError, on all processes: the store cannot be written, or belongs to another run.
    """

    has_time_bounds = False

    def __init__(
        self, path, config: Config, transport: Transport, command_line: str = "", keep: Callable | None = None
    ):
        self.config, self.dtype = config, np.dtype(config.run.dtype)
        pieces_folder = Path(path).with_name(Path(path).name + DRAFT_SUFFIX)
        super().__init__(path, pieces_folder, transport, (config.grid.ny, config.grid.nx))
        self._unwritten_fields: dict[str, None] = {}  # of the current record
        self._unpublished_records: list[tuple[int, float]] = []  # steps and times that readers do not see yet
        self._n_published, self._last_published_seconds, self._publish_time = 0, 0.0, 0.0
        try:
            if keep is None:
                self._call_on_rank_0(self._create, command_line)
                self._call_on_all_ranks(self._open_records)
                self._submit(self._write_static)
            else:
                self._call_on_all_ranks(self._require_same_run)
                self._call_on_rank_0(self._resume, keep, command_line)
                self._call_on_all_ranks(self._open_records)
        except FilesError:
            self.close(collective=False)
            raise

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        self.close(collective=kind is None)

    def begin(self, nbytes: int) -> None:
        """Start a record whose values take up to `nbytes`, the sum over all processes."""
        self._submit(self._require_disk_space, nbytes + MAX_RECORD_METADATA_BYTES)
        self._unwritten_fields = dict.fromkeys(self._record_fields)

    def write_field(self, name: str, local: np.ndarray) -> None:
        """Write this process's part [y, x] of a field."""
        del self._unwritten_fields[name]
        local = np.array(local, self.dtype)  # a copy, because the model may reuse the memory
        self._submit(self._write, name, (self._n_records,), local, nbytes=local.nbytes)

    def complete(self, step: int, seconds: float) -> None:
        """Complete the record of `step` at the time `seconds`, s; fields that were not written become missing."""
        block_shape = self._part[1] - self._part[0], self._part[3] - self._part[2]
        for name in self._unwritten_fields:
            self._submit(self._write, name, (self._n_records,), np.full(block_shape, FILL_VALUE, self.dtype))
        self._submit(self._add_pending, (step, seconds), [(name, (self._n_records,)) for name in self._record_fields])
        self._n_records += 1

    def flush(self) -> None:
        """Make all complete records visible and durable: they survive the end of the processes and a power cut."""
        self.make_durable()

    def close(self, collective: bool = True) -> None:
        """Finish the queued calls and close the store; `collective=False` if processes can no longer communicate."""
        try:
            if collective:
                self.flush()
        finally:
            if self._error is None:
                self._submit(self._process_pending, 0.0)
            self.finish_thread()
            if collective and self.transport.rank == 0:
                remove_path(self._pieces_folder)

    @abstractmethod
    def define_contents(self, dataset, config: Config) -> None:
        """Define everything except times and global attributes."""

    def _create(self, command_line: str) -> None:
        folder = self.path.parent
        if not folder.is_dir():
            raise FileNotFoundError(f"there is no folder {folder}")

        def define(dataset):
            define_provenance(dataset, self.config, self.transport, command_line)
            define_time(dataset, time_attributes(self.config.time), self.has_time_bounds)
            self.define_contents(dataset, self.config)

        self._create_arrays(define)

    def _require_same_run(self) -> None:
        """Raise FilesError unless the store belongs to this run; compares constant fields on this process's part."""
        if not (self.path / arrays.METADATA_FILE).is_file():
            raise FilesError(f"{self.path} cannot be continued: there is no such store")
        try:
            attributes, documents = arrays.read_store_metadata(self.path)
            differences = configuration_differences(attributes.get("configuration"), self.config)
            differences = differences or [
                f"{name} has other values in the store"
                for name, values in static_fields_on(self.config, self._part)
                if self._differs(documents, *array_and_indices(self.config, name), values)
            ]
        except (OSError, RuntimeError, LookupError, TypeError, ValueError, AttributeError) as error:  # foreign store
            reason = getattr(error, "strerror", None) or error
            raise FilesError(f"{self.path} cannot be continued: {reason}") from None
        if differences:
            raise FilesError(f"{self.path} cannot be continued: {'; '.join(differences)}")

    def _differs(self, documents: dict, name: str, leading_indices: tuple[int, ...], values: np.ndarray) -> bool:
        south, north, west, east = self._part
        stored_values = arrays.open_array(self.path / name, documents[name])[
            (*leading_indices, slice(south, north), slice(west, east))
        ]
        return not np.array_equal(stored_values, values)

    def _resume(self, keep: Callable, command_line: str) -> None:
        """Keep the leading records, for which `keep(step)` is true, remove the others, and update the attributes."""
        self._attributes, documents = arrays.read_store_metadata(self.path)
        self._names = list(documents)
        steps, times = (arrays.read_values(self.path / name, documents[name]) for name in ("step", "time"))
        n_records = sum(map(keep, steps))
        self._last_published_seconds, self._n_published = times[n_records - 1] if n_records else 0.0, n_records
        attrs = self._attributes
        attrs["history"] = extend_history(attrs.get("history", ""), command_line)
        attrs |= {"configuration": to_toml(self.config), "configuration_sha256": config_hash(self.config)}
        arrays.publish_records(self.path, attrs, documents, n_records)
        arrays.write_array_documents(self.path, documents)
        remove_path(self._pieces_folder)
        for name in documents:
            arrays.remove_records_beyond(self.path / name, documents[name], n_records)

    def _open_records(self) -> None:
        self._open_arrays()
        self._n_records = self._documents["time"]["shape"][0]

    def _write_static(self) -> None:
        field_slices = []
        for name, values in static_fields_on(self.config, self._part):
            field_slices.append(array_and_indices(self.config, name))
            self._write(*field_slices[-1], values)
        self._add_pending(None, field_slices)

    def _files_to_await(self, field_slices: list[FieldSlice]) -> list[Path]:
        if self.transport.rank:
            return []
        file_indices = tiling.file_indices((0, self.shape[0], 0, self.shape[1]), self._file_shape)
        return [file for field in field_slices for file in arrays.field_files(self.path, *field, file_indices)]

    def _on_complete(self, record: tuple[int, float] | None) -> None:
        """Publish a complete record, or postpone this if more calls are queued; None: publish the constant fields."""
        if self.transport.rank:
            return
        self._unpublished_records += [record] if record else []
        if (
            record is None
            or self._queue.is_idle
            or time.monotonic() > self._publish_time + MIN_PUBLISH_INTERVAL_SECONDS
        ):
            self._publish()

    def _process_pending(self, max_wait: float, only_while_idle: bool = False) -> None:
        super()._process_pending(max_wait, only_while_idle)
        if self._unpublished_records and not only_while_idle:
            self._publish()

    def _complete_pending(self) -> None:
        super()._complete_pending()
        if self.transport.rank == 0:
            arrays.write_array_documents(self.path, self._documents)
            self._unsynced_files.add(self.path / arrays.METADATA_FILE)
            self._sync()

    def _publish(self) -> None:
        """Write the times of complete records, then the metadata that make them visible to readers."""
        first, last = self._n_published, self._n_published + len(self._unpublished_records)
        if first < last:
            steps, times = zip(*self._unpublished_records, strict=True)
            values = {
                "time": times,
                "step": steps,
                "time_bounds": list(zip([self._last_published_seconds, *times], times, strict=False)),
            }
            for name in (name for name in values if name in self._arrays):
                self._arrays[name][first:last] = values[name]
            for record in sorted({first, last - 1}):
                for file in arrays.series_files(self.path, self._documents, record):
                    sync_path(file)
            self._last_published_seconds = times[-1]
        arrays.publish_records(self.path, self._attributes, self._documents, last)
        self._unpublished_records, self._n_published, self._publish_time = [], last, time.monotonic()
