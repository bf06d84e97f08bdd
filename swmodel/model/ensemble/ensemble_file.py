"""ensemble.nc: mean and spread of the members, some members, and time series of all; CF-1.12 and SGRID-0.3.

Rank 0 gathers fields member by member and computes mean and spread in that order, in double precision (Welford 1962):
the same bits for any distribution of members.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from ...files.output.continuation import require_intact
from ...files.output.metadata import define_field, define_grid, define_variable
from ...files.output.record_file import RecordFile
from ...files.output.static import define_static, land, on_water
from ...files.records import Records
from ...files.run_folder import ENSEMBLE, OUTPUT
from ...ocean.diagnostics import Quantity, quantities
from ...ocean.table import entry_of, on_grid, row_of
from ...parallel.transport import of_all_members
from ...setup.setup import setup_of
from ..results import Results, keepers, schedules
from .settings import viscosity_factors, wind_factors, written

MEAN, SPREAD, RMS = "_mean", "_spread", "_spread_rms"

WORDS = {MEAN: ("mean over the members", "realization: mean"), SPREAD: ("spread", "realization: standard_deviation")}


def define_members(dataset, config) -> None:
    """Define the dimensions of all members and of those with fields, their coordinates, and all time series."""
    numbers = {"member": ("number of the member in realization, for members with fields in the file", written(config))}
    every = "number of the member; 0 is not perturbed; some members have fields along member"
    numbers["realization"] = every, range(config.ensemble.members)
    for name, (words, values) in numbers.items():
        dataset.createDimension(name, len(values))
        about = {"standard_name": "realization", "long_name": words, "units": "1"}
        define_variable(dataset, name, (name,), about, values, "i4")
    factors = {"viscosity": viscosity_factors(config)} if config.ensemble.viscosity else {}
    factors |= {"wind": wind_factors(config)} if config.ensemble.wind and not config.ensemble.wind_length else {}
    for name, values in factors.items():
        about = {"long_name": f"factor of the {name} of each member", "units": "1"}
        define_variable(dataset, f"{name}_factor", ("realization",), about, values)
    for name, quantity in series(setup_of(config).scheme, config.open_sides.sides).items():
        about = {"long_name": f"{quantity.long_name}, of each member", "units": quantity.units}
        define_variable(dataset, name, ("time", "realization"), about)


def series(scheme, sides) -> dict[str, Quantity]:
    """The `diagnostics.quantities` by their names in ensemble.nc, where contents differ from concentrations."""
    return {f"{name}_content" if name in scheme.initial else name: of for name, of in quantities(scheme, sides).items()}


class Moments:
    """Mean and sample standard deviation of fields that come one by one."""

    def __init__(self, shape):
        self.count, self.mean, self._squares = 0, np.zeros(shape), np.zeros(shape)

    def add(self, field) -> None:
        self.count += 1
        off = field - self.mean
        self.mean += off / self.count
        self._squares += off * (field - self.mean)

    @property
    def spread(self) -> np.ndarray:
        """sqrt(sum (x - mean)² / (n - 1))."""
        return np.sqrt(self._squares / (self.count - 1))


class EnsembleFile(RecordFile):
    """ensemble.nc with the fields of `output.fields`; see `RecordFile`."""

    def __init__(self, path, config, transport, command_line: str = "", keep=None):
        self.names, self.written = config.output.fields, written(config)
        self._land = land(config, np.arange(config.grid.ny), np.arange(config.grid.nx)) if transport.rank == 0 else {}
        super().__init__(path, config, transport, command_line, keep)

    def define_contents(self, dataset, config) -> None:
        dataset.setncatts({"title": f"ensemble: {dataset.title}", "seed": np.int64(config.ensemble.seed)})
        define_grid(dataset, config.grid)
        define_members(dataset, config)
        define_static(dataset, config)
        for name in config.output.fields:
            entry = entry_of(name, config.physics)
            words = on_grid(entry, config.grid).long_name
            define_field(dataset, entry, config, ("time", "member"), cell_methods="time: point")
            for suffix, (what, methods) in WORDS.items():
                about = {"long_name": f"{words}, {what}", "cell_methods": f"time: point {methods}"}
                define_field(dataset, entry, config, ("time",), name + suffix, **about)
            about = {
                "long_name": f"{words}, spread, root mean square over the domain",
                "units": entry.units,
                "cell_methods": f"time: point {WORDS[SPREAD][1]} area: root_mean_square",
            }
            define_variable(dataset, name + RMS, ("time",), about)

    def write(self, members) -> dict[str, np.ndarray]:
        """Append a record; returns its diagnostics, [all members] by name."""
        nbytes = len(self.names) * (len(self.written) + 2) * self.shape[0] * self.shape[1] * self.dtype.itemsize
        self.begin(nbytes + nbytes // 100)
        moments = {name: Moments(self.shape) for name in self.names}
        found = [self._member(members, member, moments) for member in range(members.here.size)]
        for name, moment in moments.items() if self.transport.rank == 0 else ():
            dry = self._land.get(row_of(name).location)
            water = np.ones(self.shape, bool) if dry is None else ~np.broadcast_to(dry, self.shape)
            self._put(name + MEAN, on_water(moment.mean, dry))
            self._put(name + SPREAD, on_water(moment.spread, dry))
            self.put(Records.put, name + RMS, [np.sqrt(np.mean(moment.spread[water] ** 2))])
        found = of_all_members(self.transport, np.array([list(one.values()) for one in found if one]))
        numbers = dict(zip(series(members.domain.scheme, members.config.open_sides.sides), found.T, strict=True))
        for name, values in numbers.items():
            self.put(Records.put, name, [values])
        self.complete(members.step, members.time)
        return numbers

    def _member(self, members, member: int, moments: dict) -> dict[str, float]:
        """Write the fields of a chosen member, and add all to the moments; returns its diagnostics, {} elsewhere.

        All processes call it for all members in turn, so that rank 0 gathers the fields of one member at a time.
        """
        fields, numbers = members.evaluate(member, self.names) if member in members.here else ({}, {})
        for name in self.names:
            local = np.asarray(fields.get(name, ()), self.dtype)
            values = self.transport.gather_rows(local, 0, self.shape[0], member)
            if values is None:
                continue
            moments[name].add(values)
            if member in self.written:
                dry = self._land.get(row_of(name).location)
                self._put(name, on_water(values, dry), (self.written.index(member),))
        return numbers

    def _put(self, name: str, values: np.ndarray, before: tuple[int, ...] = ()) -> None:
        values = np.array(values, self.dtype)  # a copy: the model may use the memory again
        self.put(Records.put_rows, name, 0, values, before)


class ResultsOfMembers(Results):
    """The records of an ensemble."""

    def write(self) -> None:
        if self.due():
            found = self.files[ENSEMBLE].write(self.model)
            self.numbers = {"cfl": found["cfl"].max(), "energy": found["energy"].mean()}


@contextmanager
def opened(members, directory, command_line: str = "", resume: bool = False) -> Iterator[Results]:
    """A context with the Results of an ensemble; its end closes the file. See `Model.results`."""
    path, keep = Path(directory) / ENSEMBLE, keepers(members)[OUTPUT] if resume else None
    if resume:
        require_intact({path: keep}, members.transport)
    with EnsembleFile(path, members.config, members.transport, command_line, keep) as file:
        yield ResultsOfMembers(members, {ENSEMBLE: file}, {ENSEMBLE: schedules(members.config)[OUTPUT]})
