"""The values at the ends of the colours."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import netCDF4

from . import style
from .dataset import PlotError, seconds
from .record import Map
from .shown import changes, members_of, read_all

#: The fields that set the ends, as the user names them:
#:
#: record    for each field, the record that is shown
#: run       for each field, all its records, so that pictures of several records compare
#: shared    all fields with the same units and all members together, in the record that is shown; for a film in all
#:           records
RANGES = ("record", "run", "shared")


@dataclass(frozen=True)
class Scale:
    """How the ends of the colours are chosen.

    Attributes:
        range: one of RANGES.
        low, high: the ends themselves, in the units of the label without its power of ten; None: from the values.
    """

    range: str
    low: float | None = None
    high: float | None = None

    def __post_init__(self):
        if self.range not in RANGES:
            raise PlotError(f'no range "{self.range}"; there are {", ".join(RANGES)}')
        for name, value in (("vmin", self.low), ("vmax", self.high)):
            if value is not None and not math.isfinite(value):
                raise PlotError(f"{name} must be a number, not {value}")
        if None not in (self.low, self.high) and not self.low < self.high:
            raise PlotError(f"vmin must be less than vmax, and {self.low:g} is not less than {self.high:g}")

    @property
    def ends(self) -> tuple[float | None, float | None]:
        """Both ends."""
        return self.low, self.high


OF_RECORD, OF_RUN = Scale("record"), Scale("run")


def looks(data: netCDF4.Dataset, panels: Sequence[Map], record: int, member: int | None, scale: Scale) -> list:
    """The `style.Look` of each of several fields of one record."""
    if scale.ends != (None, None) and len({panel.units for panel in panels}) > 1:
        fields = ", ".join(f"{panel.name} ({panel.units})" for panel in panels)
        raise PlotError(f"vmin and vmax are for fields of the same units, not for {fields}")
    return [style.look(beside(data, panel, panels, record, member, scale.range), scale.ends) for panel in panels]


def beside(data: netCDF4.Dataset, panel: Map, panels: Sequence[Map], record: int, member: int | None, range_: str):
    """The fields, one by one, that set the ends of a panel's colours; the panel's own is the first."""
    yield panel
    if range_ == "run" and changes(data, panel.name):
        yield from read_all(data, [panel.name], range(seconds(data).size), [member])
    if range_ == "shared":
        for name in (other.name for other in panels if other.units == panel.units):
            yield from read_all(data, [name], [record], members_of(data, name))


def look_of_film(data: netCDF4.Dataset, name: str, member: int | None, scale: Scale):
    """The `style.Look` of all frames of a film, or of the first frame if each has its own."""
    records = [0] if scale.range == "record" else range(seconds(data).size)
    members = members_of(data, name) if scale.range == "shared" else [member]
    return style.look(read_all(data, [name], records, members), scale.ends)
