"""ensemble.nc: mean and spread of the members, some members themselves, and time series of all; CF-1.12 and SGRID-0.3.

Fields come to rank 0 member by member, and their mean and spread are computed there in that order, in double precision
(Welford 1962): the same bits however members are spread.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ..files.output import continuation
from ..files.output.background import BackgroundFile
from ..files.output.records import Records as Rows
from ..files.output.static import land, on_water, static_differences, write_static
from ..ocean.diagnostics import QUANTITIES
from ..ocean.state import VARIABLES
from .definition import MEAN, RMS, SPREAD, define
from .settings import written


class Moments:
    """Mean and sample standard deviation of fields that come one by one."""

    def __init__(self, shape):
        self.count, self.mean, self._squares = 0, np.zeros(shape), np.zeros(shape)

    def add(self, field) -> None:
        """Take account of one more."""
        self.count += 1
        off = field - self.mean
        self.mean += off / self.count
        self._squares += off * (field - self.mean)

    @property
    def spread(self) -> np.ndarray:
        """sqrt(sum (x - mean)² / (n - 1))."""
        return np.sqrt(self._squares / (self.count - 1))


class Records:
    """ensemble.nc. All methods are called by all processes together.

    Args:
        path: of the file.
        config: as `settings.check_ensemble` gives it; `output.fields` says of which fields.
        transport: between processes, whose rows are members.
        command_line: recorded in the file's history.
        keep: continue an existing file behind the records for whose number of steps this function is true; the others
            are dropped. None: a new file.

    Raises:
        FilesError: the file cannot be written, or is that of another ensemble.
    """

    def __init__(self, path, config, transport, command_line: str = "", keep=None):
        self.config, self.transport = config, transport
        self.names, self.written = config.output.fields, written(config)
        self.shape, self.dtype = (config.grid.ny, config.grid.nx), np.dtype(config.run.dtype)
        self._land = land(config, *map(np.arange, self.shape)) if transport.rank == 0 else {}
        make = partial(define, config, transport, command_line)

        def resume(records):
            differences = continuation.differences(records.file, config, make)
            differences = differences or static_differences(records.file, config, [(0, self.shape[0])])
            continuation.require_same(path, differences)
            continuation.resume(records, keep, config, command_line)

        self._file = BackgroundFile(path, transport, make, resume if keep else None)
        if keep is None:
            self._file.put(write_static, config, 0, self.shape[0])
            self._file.put(Rows.seal)

    def write(self, members) -> dict[str, np.ndarray]:
        """Append a record; the diagnostics in it, [all members] by name.

        Raises:
            FilesError: this record or one before could not be written, on all processes.
        """
        nbytes = len(self.names) * (len(self.written) + 2) * self.shape[0] * self.shape[1] * self.dtype.itemsize
        self._file.begin(nbytes + nbytes // 100)
        moments = {name: Moments(self.shape) for name in self.names}
        found = [self._member(members, member, moments) for member in range(members.total)]
        if self.transport.rank == 0:
            self._moments(moments)
        found = members.of_all(np.array([list(one.values()) for one in found if one]))
        numbers = dict(zip(QUANTITIES, found.T, strict=True))
        self._file.put(_store_series, numbers)
        self._file.complete(members.step, members.time)
        self._file.agree()
        return numbers

    def flush(self) -> None:
        """Make all records so far durable: they outlive the process and the power.

        Raises:
            FilesError: a record could not be written, on all processes.
        """
        self._file.flush()

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        self._file.close(agree=kind is None)

    def _member(self, members, member: int, moments: dict) -> dict[str, float]:
        """Write the fields of a member, if chosen, and add them to the moments; its diagnostics where it is, else {}.

        All processes call it for all members in turn, so that none holds more fields than those of one.
        """
        mine = members.here.start <= member < members.here.stop
        fields, numbers = members.evaluate(member, self.names) if mine else ({}, {})
        for name in self.names:
            field = np.asarray(fields[name], self.dtype).reshape(1, -1) if mine else np.zeros((1, 1), self.dtype)
            rows = np.broadcast_to(field, (members.here.length, self.shape[0] * self.shape[1]))
            row = self.transport.gather_rows(rows, member, member + 1)
            if row is None:
                continue
            values = row.reshape(self.shape)
            moments[name].add(values)
            if member in self.written:
                dry = self._land.get(VARIABLES[name].location)
                self._put(name, on_water(values, dry), (self.written.index(member),))
        return numbers

    def _moments(self, moments: dict) -> None:
        """Write mean and spread of each field, and the root mean square of the spread over all points of water."""
        for name, moment in moments.items():
            dry = self._land.get(VARIABLES[name].location)
            water = np.ones(self.shape, bool) if dry is None else ~np.broadcast_to(dry, self.shape)
            self._put(name + MEAN, on_water(moment.mean, dry))
            self._put(name + SPREAD, on_water(moment.spread, dry))
            self._file.put(_store_series, {name + RMS: np.sqrt(np.mean(moment.spread[water] ** 2))})

    def _put(self, name: str, values: np.ndarray, place: tuple[int, ...] = ()) -> None:
        values = np.array(values, self.dtype)  # a copy: the model may use the memory again
        self._file.put(Rows.put_rows, name, 0, values, place, nbytes=values.nbytes)


def _store_series(records, numbers: dict[str, np.ndarray]) -> None:
    for name, values in numbers.items():
        records.put(name, values)
