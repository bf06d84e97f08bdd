"""Coefficients that vary in time: where their records come from."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ...ocean.records import Span
from ...ocean.table import VARIABLES, entry_of
from .case_functions import in_time as timed
from .netcdf_input import InputError, series
from .source import OfCase, TableInTime

#: How far a record may lie from the step that it is for, in time steps: rounding of its units, or of products.
LATE = 1e-6


class Series(Protocol):
    """The records of a coefficient.

    Attributes:
        what: it is, for messages.
    """

    what: str

    def at(self, step: int) -> tuple[int, Span]:
        """The last record that is not after the begin of a step, and the Span from it to the next one.

        Raises:
            InputError: there is none, or none after it.
        """

    def read(self, number: int, rows, columns, location: str = "") -> np.ndarray:
        """Values of a record in rows and columns within the grid, float64 that broadcast to them; NaN where missing.

        Args:
            location: of the points, where it is not that of the coefficient.
        """

    def pole(self, number: int) -> tuple[float, float] | None:
        """The pole about which the axes of a record lie; None: the Earth's, so that vectors are eastward, northward."""

    def told(self, number: int) -> str:
        """When a record is, in words."""


def varies(config, name: str) -> bool:
    """Whether a coefficient is given by records in time."""
    if name not in VARIABLES or not VARIABLES[name].varies:
        return False
    if name in config.own.names:
        return getattr(config.own._sources.get(name), "in_time", False)
    if text := getattr(config.input, name):
        return series.in_time(text, entry_of(name, config.physics))
    return timed(getattr(type(config.case), name, None))


def series_of(config, name: str) -> Series:
    """The Series of a coefficient that varies.

    Raises:
        InputError: a file of it cannot be used.
    """
    entry, source = entry_of(name, config.physics), config.own._sources.get(name, OfCase(in_time=True))
    if text := getattr(config.input, name):
        return Dated(config, entry, series.records_of(text, entry, config.grid, config.time))
    if isinstance(source, TableInTime):
        return Dated(config, entry, source.records(config))
    return Evaluated(config, name, source)


def step_of(config) -> float:
    """The time step, s; a second where it is not known yet, and only kinds of fields are asked for."""
    return config.time.dt or 1.0


def whole(places: np.ndarray) -> np.ndarray:
    """Places of records, in steps; those that are whole numbers but for rounding become whole."""
    near = np.rint(places)
    return np.where(np.abs(places - near) < LATE, near, places)


@dataclass(frozen=True, eq=False)
class Dated:
    """The Series of a variable with dates, in files or in a DataArray."""

    config: Any
    entry: Any
    records: series.Records

    @property
    def what(self) -> str:
        return self.records.what

    def at(self, step):
        places = whole(self.records.seconds / step_of(self.config))
        number = int(np.searchsorted(places, step, side="right")) - 1
        if number < 0:
            first = f"{self.records.dates[0]}, and the run at {self.date(step)}"
            raise InputError(f"{self.what}: its records begin at {first}; give earlier ones, or a later time.start")
        if number == len(places) - 1 and step - places[-1] < 1 and number:
            number -= 1
        if number == len(places) - 1:
            raise InputError(
                f"{self.what}: its records end at {self.records.dates[-1]}, and the run needs them up to "
                f"{self.date(step)}; give later ones, or a shorter run"
            )
        return number, Span(*places[number : number + 2])

    def date(self, step: int) -> str:
        """That of a step, in words."""
        return series.date_after(self.config.time, step * step_of(self.config))

    def read(self, number, rows, columns, location=""):
        entry = self.entry._replace(location=location or self.entry.location)
        with self.records.fields[number](entry, self.config.grid) as field:
            return field.read(rows, columns)

    def pole(self, number):
        with self.records.fields[number](self.entry, self.config.grid) as field:
            return field.pole

    def told(self, number):
        return self.records.dates[number]


@dataclass(frozen=True, eq=False)
class Evaluated:
    """The Series of a function of the points and of time, of the case or handed over: values each `forcing.every`."""

    config: Any
    name: str
    source: Any

    @property
    def what(self) -> str:
        return getattr(self.source, "what", f"{self.name} of the case {self.config.case.name}")

    def at(self, step):
        apart = self.config.forcing.every / step_of(self.config)
        near = math.floor(step / apart) + np.arange(-1, 3)  # a quotient may be rounded to the next number
        places = whole(near * apart)
        at = int(np.searchsorted(places, step, side="right")) - 1
        return int(near[at]), Span(*places[at : at + 2])

    def read(self, number, rows, columns, location=""):
        t = number * self.config.forcing.every
        return self.source.read(self.config, self.name, rows, columns, location, t=t)

    def pole(self, number):
        return None

    def told(self, number):
        return f"t = {number * self.config.forcing.every:g} s"
