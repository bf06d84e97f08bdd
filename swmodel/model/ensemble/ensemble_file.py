"""ensemble.nc: mean and spread of the members, some members, and time series of all; CF-1.12 and SGRID-0.3.

Rank 0 gathers fields member by member and computes mean and spread in that order, in double precision (Welford 1962),
so that the bits do not depend on the distribution of members.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...files.output.continuation import require_intact
from ...files.output.metadata import define_field, define_grid, define_variable
from ...files.output.record_file import RecordFile
from ...files.output.static import define_static, land_masks, mark_missing
from ...files.records import RecordWriter
from ...files.run_folder import ENSEMBLE, OUTPUT
from ...ocean.diagnostics import Diagnostic, diagnostics_of_run
from ...ocean.table import MEAN_SUFFIX, variable_in_run, variable_of, with_axis_names
from ...parallel.transport import gather_members
from ...setup.setup import setup_of
from ..results import Results, record_filters, schedules
from .settings import viscosity_factors, wind_factors, written_members

if TYPE_CHECKING:
    from ...config.options.model import Config
    from ...ocean.scheme import Scheme
    from ...parallel.transport.transport import Transport

SPREAD_SUFFIX, SPREAD_RMS_SUFFIX = "_spread", "_spread_rms"

#: {suffix of a variable's name: (end of its long name, part of its cell methods)}.
LONG_NAMES_AND_METHODS = {
    MEAN_SUFFIX: ("mean over the members", "realization: mean"),
    SPREAD_SUFFIX: ("spread", "realization: standard_deviation"),
}


def define_members(dataset, config: Config) -> None:
    """Define dimensions and coordinates for all members and for those whose fields are written, and the time series."""
    member_words = "number in realization of the members whose fields are in the file"
    realization_words = "number of the member; 0 is not perturbed; member lists those whose fields are in the file"
    for name, words, values in (
        ("member", member_words, written_members(config)),
        ("realization", realization_words, range(config.ensemble.members)),
    ):
        dataset.createDimension(name, len(values))
        attributes = {"standard_name": "realization", "long_name": words, "units": "1"}
        define_variable(dataset, name, (name,), attributes, values, "i4")
    factors = {"viscosity": viscosity_factors(config)} if config.ensemble.viscosity else {}
    factors |= {"wind": wind_factors(config)} if config.ensemble.wind and not config.ensemble.wind_length else {}
    for name, factors_of_members in factors.items():
        attributes = {"long_name": f"factor by which the {name} of each member is multiplied", "units": "1"}
        define_variable(dataset, f"{name}_factor", ("realization",), attributes, factors_of_members)
    for name, quantity in quantities_by_name(setup_of(config).scheme, config.open_boundaries.sides).items():
        attributes = {"long_name": f"{quantity.long_name}, of each member", "units": quantity.units}
        define_variable(dataset, name, ("time", "realization"), attributes)


def quantities_by_name(scheme: Scheme, sides) -> dict[str, Diagnostic]:
    """`diagnostics.diagnostics_of_run`, by names in ensemble.nc; total contents of tracers end in `_content` there."""
    return {
        f"{name}_content" if name in scheme.initial_fields else name: quantity
        for name, quantity in diagnostics_of_run(scheme, sides).items()
    }


class RunningMoments:
    """Mean and sample standard deviation of fields that are added one by one."""

    def __init__(self, shape):
        self.count, self.mean, self._squares = 0, np.zeros(shape), np.zeros(shape)

    def add(self, field) -> None:
        self.count += 1
        deviation = field - self.mean
        self.mean += deviation / self.count
        self._squares += deviation * (field - self.mean)

    @property
    def spread(self) -> np.ndarray:
        """sqrt(sum (x - mean)² / (n - 1))."""
        return np.sqrt(self._squares / (self.count - 1))


class EnsembleFile(RecordFile):
    """ensemble.nc with the fields of `output.fields`; see `RecordFile`."""

    def __init__(self, path, config: Config, transport: Transport, command_line: str = "", keep=None):
        self.names, self.written_members, self._land = config.output.fields, written_members(config), {}
        if transport.rank == 0:
            self._land = land_masks(config, np.arange(config.grid.ny), np.arange(config.grid.nx))
        super().__init__(path, config, transport, command_line, keep)

    def define_contents(self, dataset, config: Config) -> None:
        dataset.setncatts({"title": f"ensemble: {dataset.title}", "seed": np.int64(config.ensemble.seed)})
        define_grid(dataset, config.grid)
        define_members(dataset, config)
        define_static(dataset, config)
        for name in config.output.fields:
            entry = variable_in_run(name, config.physics)
            words = with_axis_names(entry, config.grid).long_name
            define_field(dataset, entry, config, ("time", "member"), cell_methods="time: point")
            for suffix, (long_name, methods) in LONG_NAMES_AND_METHODS.items():
                attributes = {"long_name": f"{words}, {long_name}", "cell_methods": f"time: point {methods}"}
                define_field(dataset, entry, config, ("time",), name + suffix, **attributes)
            attributes = {
                "long_name": f"{words}, spread, root mean square over the domain",
                "units": entry.units,
                "cell_methods": f"time: point {LONG_NAMES_AND_METHODS[SPREAD_SUFFIX][1]} area: root_mean_square",
            }
            define_variable(dataset, name + SPREAD_RMS_SUFFIX, ("time",), attributes)

    def write(self, members) -> dict[str, np.ndarray]:
        """Append a record; returns its diagnostics {name: [members]}, on all processes."""
        nbytes = len(self.names) * (len(self.written_members) + 2) * self.shape[0] * self.shape[1] * self.dtype.itemsize
        self.begin(nbytes + nbytes // 100)
        moments = {name: RunningMoments(self.shape) for name in self.names}
        numbers_of_members = [
            self._add_member(members, member, moments) for member in range(members.local_members.axis_size)
        ]
        for name, moment in moments.items() if self.transport.rank == 0 else ():
            is_land = self._land.get(variable_of(name).location)
            water = np.ones(self.shape, bool) if is_land is None else ~np.broadcast_to(is_land, self.shape)
            self._put_field(name + MEAN_SUFFIX, mark_missing(moment.mean, is_land))
            self._put_field(name + SPREAD_SUFFIX, mark_missing(moment.spread, is_land))
            spread_rms = np.sqrt(np.mean(moment.spread[water] ** 2))
            self.submit(RecordWriter.write_variable, name + SPREAD_RMS_SUFFIX, [spread_rms])
        diagnostics = gather_members(
            self.transport, np.array([list(each.values()) for each in numbers_of_members if each])
        )
        names = quantities_by_name(members.domain.scheme, members.config.open_boundaries.sides)
        numbers = dict(zip(names, diagnostics.T, strict=True))
        for name, values in numbers.items():
            self.submit(RecordWriter.write_variable, name, [values])
        self.complete(members.step, members.time)
        return numbers

    def _add_member(self, members, member: int, moments: dict) -> dict[str, float]:
        """Add a member to the moments and, if it is one of `written_members`, write its fields.

        All processes call it for all members in turn, so that rank 0 holds the fields of one member at a time. Returns
        the diagnostics of the member on the process that computes it, else {}.
        """
        fields, numbers = members.evaluate(member, self.names) if member in members.local_members else ({}, {})
        for name in self.names:
            local = np.asarray(fields.get(name, ()), self.dtype)
            values = self.transport.gather_rows(local, 0, self.shape[0], member)
            if values is None:
                continue
            moments[name].add(values)
            if member in self.written_members:
                is_land = self._land.get(variable_of(name).location)
                self._put_field(name, mark_missing(values, is_land), (self.written_members.index(member),))
        return numbers

    def _put_field(self, name: str, values: np.ndarray, leading_indices: tuple[int, ...] = ()) -> None:
        values = np.array(values, self.dtype)  # a copy, because the model may reuse the memory
        self.submit(RecordWriter.write_rows, name, 0, values, leading_indices)


class EnsembleResults(Results):
    def write(self) -> None:
        if self.files_due():
            diagnostics = self.files[ENSEMBLE].write(self.model)
            self.latest_numbers = {"cfl": diagnostics["cfl"].max(), "energy": diagnostics["energy"].mean()}


@contextmanager
def open_results(members, directory, command_line: str = "", resume: bool = False) -> Iterator[Results]:
    """A context with the Results of an ensemble, at whose end the file is closed; see `TimeLoopModel.results`."""
    path, keep = Path(directory) / ENSEMBLE, record_filters(members)[OUTPUT] if resume else None
    if resume:
        require_intact({path: keep}, members.transport)
    with EnsembleFile(path, members.config, members.transport, command_line, keep) as file:
        yield EnsembleResults(members, {ENSEMBLE: file}, {ENSEMBLE: schedules(members.config)[OUTPUT]})
