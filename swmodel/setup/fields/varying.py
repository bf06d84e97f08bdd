"""Read the records of coefficients that vary in time, and interpolate between two records."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from ...ocean.records import interpolation_numbers, record_names
from . import evaluate, evaluate_record
from .field_sources import InputError, source_of

if TYPE_CHECKING:
    from ...config.options.model import Config


def read_record(config: Config, name: str, number: float, rows, columns, source=None) -> np.ndarray:
    """One record of a coefficient, float64 [rows, columns]; values that are missing on land are zero.

    Row and column numbers wrap around the grid. InputError: a value on water is not finite.
    """
    source, rows, columns = source or source_of(config, name), np.asarray(rows), np.asarray(columns)
    values = np.broadcast_to(evaluate_record(config, name, rows, columns, number, source), (len(rows), len(columns)))
    if not np.isfinite(values).all():
        grid, (j, i) = config.grid, np.argwhere(~np.isfinite(values))[0]
        place = f"row {rows[j] % grid.ny}, column {columns[i] % grid.nx}"
        raise InputError(f"{source.label}: must be finite on water, but is missing at {source.date(number)}, {place}")
    return values


def value_at(config: Config, name: str, step: float, rows, columns) -> np.ndarray:
    """A coefficient at the time `step`, in steps since the start, on [rows, columns] as in `read_record`.

    It is interpolated linearly between two records, or constant if the coefficient does not vary.
    """
    source = source_of(config, name)
    if not source.varies_in_time:
        return evaluate(config, name, rows, columns)
    number, interval = source.record_at(step)
    before, after = (read_record(config, name, number + offset, rows, columns, source) for offset in (0, 1))
    return before + min(1.0, (step - interval.before) / (interval.after - interval.before)) * (after - before)


#: Consecutive row numbers and consecutive column numbers, which wrap around the grid.
Window = tuple[range, range]


def contains_window(outer: Window, inner: Window) -> bool:
    return all(
        large.start <= small.start and small.stop <= large.stop for large, small in zip(outer, inner, strict=True)
    )


class VaryingCoefficients:
    """The records of the varying coefficients `names` during a run, read once in each Window.

    The object keeps the records before and after the current step, and those that were read ahead, in every Window that
    has been asked for. If a Window lies within another, only the values of the larger one are kept.
    """

    def __init__(self, config: Config, names: Iterable[str], dtype=np.float64):
        self.config, self.dtype = config, np.dtype(dtype)
        self.sources = {name: source_of(config, name) for name in names}
        #: {coefficient: {number of the record: {window: values}}}
        self._cache: dict[str, dict[int, dict[Window, np.ndarray]]] = {name: {} for name in self.sources}

    def valid_until(self, step: int) -> int:
        """The step until which the `params` of `step` can be used."""
        ends = [source.record_at(step)[1].after for source in self.sources.values()]
        return min((max(math.ceil(end), step + 1) for end in ends), default=sys.maxsize)

    def change_steps(self, n_steps: int) -> list[int]:
        """The steps at which a run of `n_steps` steps replaces coefficients, including its first and last step."""
        steps_of_change = [0]
        while steps_of_change[-1] < n_steps:
            steps_of_change.append(min(n_steps, self.valid_until(steps_of_change[-1])))
        return steps_of_change

    def params(self, step: int, rows, columns) -> dict[str, np.ndarray]:
        """The records and numbers from which these coefficients are interpolated from `step` on, by name in the params.

        Row and column numbers wrap around the grid.
        """
        values: dict[str, np.ndarray] = {}
        for name, source in self.sources.items():
            number, interval = source.record_at(step)
            self._cache[name] = {
                cached: windows for cached, windows in self._cache[name].items() if cached - number in (0, 1)
            }
            before, after = (self.record_values(name, number + offset, rows, columns) for offset in (0, 1))
            values |= {record_names(name).before: before, record_names(name).after: after} | interpolation_numbers(
                name, interval
            )
        return values

    def read_ahead(self, step: int) -> None:
        """Read the records that the `params` of `step` need and that are not kept yet, in all Windows in use."""
        for name, source in self.sources.items():
            number, _ = source.record_at(step)
            for window in [window for windows in self._cache[name].values() for window in windows]:
                for offset in (0, 1):
                    self.record_values(name, number + offset, *window)

    def record_values(self, name: str, number: int, rows, columns) -> np.ndarray:
        """The values of a record on [rows, columns], which are read only if they are not kept."""
        window = range(rows[0], rows[-1] + 1), range(columns[0], columns[-1] + 1)
        records, values_by_window = self._cache[name], self._cache[name].get(number, {})
        known_windows = [*values_by_window, *(known for windows in records.values() for known in windows)]
        outer_window = next((known for known in known_windows if contains_window(known, window)), window)
        if outer_window not in values_by_window:
            values = read_record(self.config, name, number, *outer_window, self.sources[name]).astype(self.dtype)
            values_by_window = {
                known: kept for known, kept in values_by_window.items() if not contains_window(outer_window, known)
            } | {outer_window: values}
            records[number] = values_by_window
        y, x = (
            slice(inner.start - outer.start, inner.stop - outer.start)
            for outer, inner in zip(outer_window, window, strict=True)
        )
        return values_by_window[outer_window][y, x]
