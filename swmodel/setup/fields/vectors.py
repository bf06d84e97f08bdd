"""Components of vectors, turned from the axes of their source to those of the grid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...ocean.coordinates import on_sphere, turn_from, turned
from ...ocean.table import PAIRS, location_of
from ...ocean.terms.outside import FLOWS, NAMES, has_source, parts_of
from .kinds import Constant, FieldSource, InputError, field_of

#: The pair of components along x and y, by the name of each.
VECTORS = {
    name: pair
    for pair in (
        *PAIRS.values(),
        ("u10", "v10"),
        ("outside_transport_x", "outside_transport_y"),
        ("outside_current_x", "outside_current_y"),
        *(pair for name in NAMES for pair in zip(*(parts_of(name, of) for of in FLOWS), strict=True)),
    )
    for name in pair
}


@dataclass(frozen=True, eq=False)
class Turned(FieldSource):
    """A component along the axes of the grid, of a vector whose sources may refer to another pole.

    Functions, and files on true longitudes and latitudes, have eastward and northward components. Tables have those
    along the axes of the grid, files about a pole those along its axes. `mine`, `other`: the sources of both
    components; a Constant counts as zero.
    """

    config: Any
    name: str
    mine: Any
    other: Any

    def read(self, rows, columns, record=0, location="", fill=None):
        grid, where = self.config.grid, location or location_of(self.name)
        poles = self.poles(record)

        def component(of: FieldSource) -> np.ndarray:
            return np.zeros((1, 1)) if isinstance(of, Constant) else of.read(rows, columns, record, where, fill)

        if poles == {grid.pole}:
            return component(self.mine)
        pair = VECTORS[self.name]
        if not self.turnable(poles, record):
            raise InputError(
                f"{pair[0]} and {pair[1]}: must be turned to the pole of the grid; give both at the same times, "
                "eastward and northward, or along the axes of one grid"
            )
        cosine, sine = turn_from(grid, *poles, where, rows, columns)
        mine, its = component(self.mine), component(self.other)
        return cosine * mine + sine * its if self.name == pair[0] else cosine * mine - sine * its

    def poles(self, record: int) -> set[tuple[float, float] | None]:
        """The poles of the axes of both components, at one record."""
        if self.mine.in_time:
            return {self.mine.pole(record)}
        return {each.pole() for each in (self.mine, self.other) if not isinstance(each, Constant)}

    def turnable(self, poles: set, record: int) -> bool:
        """Whether both components refer to one pole and one time; one of two functions may be zero."""
        mine, other = self.mine, self.other
        if mine.in_time:
            same_pole = other.in_time and {other.pole(record)} == poles
            return same_pole and other.date(record) == mine.date(record)
        return len(poles) == 1 and (poles == {None} or not any(isinstance(each, Constant) for each in (mine, other)))


def given(config, name: str) -> bool:
    """Whether a field has a source other than a constant; on a turned grid, whether one of both components has."""
    names = VECTORS[name] if name in VECTORS and turned(config.grid) else (name,)
    return any(has_source(config, each) for each in names)


def along_axes(config, name: str, mine: FieldSource | None = None) -> FieldSource:
    """The source of a field along the axes of the grid; `mine` is its own source, where that is known."""
    mine = mine or field_of(config, name)
    if name not in VECTORS or not on_sphere(config.grid) or not given(config, name):
        return mine
    first, second = VECTORS[name]
    return Turned(config, name, mine, field_of(config, second if name == first else first))
