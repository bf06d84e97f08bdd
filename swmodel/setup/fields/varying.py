"""Coefficients that vary in time: their records in a block, and values between two records."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from ...ocean.records import interpolation_numbers, record_names
from . import evaluate, evaluate_record
from .field_sources import InputError, source_of


def read_record(config, name: str, number: int, rows, columns, source=None) -> np.ndarray:
    """Values of a coefficient's record in rows and columns, which wrap around; float64; zero where missing on land."""
    source, rows, columns = source or source_of(config, name), np.asarray(rows), np.asarray(columns)
    values = np.broadcast_to(evaluate_record(config, name, rows, columns, number, source), (len(rows), len(columns)))
    if not np.isfinite(values).all():
        grid, (row, column) = config.grid, np.argwhere(~np.isfinite(values))[0]
        place = f"row {rows[row] % grid.ny}, column {columns[column] % grid.nx}"
        raise InputError(f"{source.label}: must be finite on water, but is missing at {source.date(number)}, {place}")
    return values


def value_at(config, name: str, step: float, rows, columns) -> np.ndarray:
    """Values of a coefficient at a time, in steps since the start, whether it varies or not; see `read_record`."""
    source = source_of(config, name)
    if not source.varies_in_time:
        return evaluate(config, name, rows, columns)
    number, span = source.record_at(step)
    before, after = (read_record(config, name, number + offset, rows, columns, source) for offset in (0, 1))
    return before + min(1.0, (step - span.before) / (span.after - span.before)) * (after - before)


#: Numbers of neighbouring rows and columns, which wrap around the grid.
Window = tuple[range, range]


def contains_window(outer: Window, inner: Window) -> bool:
    return all(mine.start <= its.start and its.stop <= mine.stop for mine, its in zip(outer, inner, strict=True))


class VaryingCoefficients:
    """The records of the varying coefficients `names` during a run; each record is read once.

    It keeps the records around the current step, and those read ahead, in all Windows in use. A Window within another
    one uses the values of that.
    """

    def __init__(self, config, names: Iterable[str], dtype=np.float64):
        self.config, self.dtype = config, np.dtype(dtype)
        self.sources = {name: source_of(config, name) for name in names}
        self._cache: dict[str, dict[int, dict[Window, np.ndarray]]] = {name: {} for name in self.sources}

    def valid_until(self, step: int) -> int | None:
        """The step until which the `params` of a step hold; None: forever."""
        ends = [source.record_at(step)[1].after for source in self.sources.values()]
        return min((max(math.ceil(end), step + 1) for end in ends), default=None)

    def params(self, step: int, rows, columns) -> dict[str, np.ndarray]:
        """The params of these coefficients from a step on; row and column numbers wrap around the grid."""
        values = {}
        for name, source in self.sources.items():
            number, span = source.record_at(step)
            self._cache[name] = {key: kept for key, kept in self._cache[name].items() if key - number in (0, 1)}
            before, after = (self.record_values(name, number + more, rows, columns) for more in (0, 1))
            values |= {record_names(name).before: before, record_names(name).after: after} | interpolation_numbers(
                name, span
            )
        return values

    def read_ahead(self, step: int) -> None:
        """Read the missing records for the `params` of a step, in all Windows in use."""
        for name, source in self.sources.items():
            number, _ = source.record_at(step)
            for window in [window for kept in self._cache[name].values() for window in kept]:
                for more in (0, 1):
                    self.record_values(name, number + more, *window)

    def record_values(self, name: str, number: int, rows, columns) -> np.ndarray:
        """Values of a record, from memory if it is kept; see `params`."""
        window = tuple(range(numbers[0], numbers[-1] + 1) for numbers in (rows, columns))
        records, kept = self._cache[name], self._cache[name].get(number, {})
        windows = [*kept, *(each for of_record in records.values() for each in of_record)]
        outer_window = next((each for each in windows if contains_window(each, window)), window)
        if outer_window not in kept:
            values = read_record(self.config, name, number, *outer_window, self.sources[name]).astype(self.dtype)
            kept = {each: there for each, there in kept.items() if not contains_window(outer_window, each)} | {
                outer_window: values
            }
            records[number] = kept
        y, x = (
            slice(its.start - mine.start, its.stop - mine.start) for mine, its in zip(outer_window, window, strict=True)
        )
        return kept[outer_window][y, x]
