"""Coefficients that vary in time, in a block and between two of their records."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from ...ocean.records import names_of, numbers_of
from . import evaluate, filled
from .kinds import InputError, field_of


def record(config, name: str, number: int, rows, columns, of=None) -> np.ndarray:
    """Values of a coefficient's record in rows and columns, wrapped round the rings, float64; zero on missing land."""
    of, rows, columns = of or field_of(config, name), np.asarray(rows), np.asarray(columns)
    values = np.broadcast_to(filled(config, name, rows, columns, number, of), (len(rows), len(columns)))
    if not np.isfinite(values).all():
        grid, (row, column) = config.grid, np.argwhere(~np.isfinite(values))[0]
        place = f"row {rows[row] % grid.ny}, column {columns[column] % grid.nx}"
        raise InputError(f"{of.what}: must be finite on water, but is missing at {of.date(number)}, {place}")
    return values


def value_at(config, name: str, step: float, rows, columns) -> np.ndarray:
    """Values of a coefficient at a time, in steps since the start, whether it varies or not; see `record`."""
    of = field_of(config, name)
    if not of.in_time:
        return evaluate(config, name, rows, columns)
    number, span = of.at(step)
    before, after = (record(config, name, number + more, rows, columns, of) for more in (0, 1))
    return before + min(1.0, (step - span.before) / (span.after - span.before)) * (after - before)


#: Numbers of neighbouring rows and columns, which continue round the rings.
Window = tuple[range, range]


def holds(wide: Window, window: Window) -> bool:
    """Whether all rows and columns of a Window are among those of another one."""
    return all(mine.start <= its.start and its.stop <= mine.stop for mine, its in zip(wide, window, strict=True))


class Records:
    """The records of the varying coefficients `names` in the course of a run: each is read once.

    It keeps the records around the present step, and those read ahead, in all Windows in use. A Window within another
    one is a part of that.
    """

    def __init__(self, config, names: Iterable[str], dtype=np.float64):
        self.config, self.dtype = config, np.dtype(dtype)
        self.series = {name: field_of(config, name) for name in names}
        self._kept: dict[str, dict[int, dict[Window, np.ndarray]]] = {name: {} for name in self.series}

    def until(self, step: int) -> int | None:
        """The step until which the `params` of a step hold; None: for ever."""
        ends = [of.at(step)[1].after for of in self.series.values()]
        return min((max(math.ceil(end), step + 1) for end in ends), default=None)

    def params(self, step: int, rows, columns) -> dict[str, np.ndarray]:
        """The params of these coefficients from a step on; row and column numbers continue round the rings."""
        found = {}
        for name, of in self.series.items():
            number, span = of.at(step)
            self._kept[name] = {key: kept for key, kept in self._kept[name].items() if key - number in (0, 1)}
            before, after = (self.values(name, number + more, rows, columns) for more in (0, 1))
            found |= {names_of(name).before: before, names_of(name).after: after} | numbers_of(name, span)
        return found

    def read_ahead(self, step: int) -> None:
        """Read the missing records for the `params` of a step, in all Windows in use."""
        for name, of in self.series.items():
            number, _ = of.at(step)
            for window in [window for kept in self._kept[name].values() for window in kept]:
                for more in (0, 1):
                    self.values(name, number + more, *window)

    def values(self, name: str, number: int, rows, columns) -> np.ndarray:
        """Values of a record, from memory if it is kept; see `params`."""
        window = tuple(range(numbers[0], numbers[-1] + 1) for numbers in (rows, columns))
        every, kept = self._kept[name], self._kept[name].get(number, {})
        known = [*kept, *(each for of_record in every.values() for each in of_record)]
        wide = next((each for each in known if holds(each, window)), window)
        if wide not in kept:
            values = record(self.config, name, number, *wide, self.series[name]).astype(self.dtype)
            kept = {each: there for each, there in kept.items() if not holds(wide, each)} | {wide: values}
            every[number] = kept
        y, x = (slice(its.start - mine.start, its.stop - mine.start) for mine, its in zip(wide, window, strict=True))
        return kept[wide][y, x]
