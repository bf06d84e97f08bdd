"""Checks of the tables [[river]]."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...errors import UsageError
from ...ocean.places import position_in_table
from ...ocean.terms.boundary_data import has_source
from ..fields import InputError
from ..fields.field_sources import is_interior_water
from ..fields.rivers import DISCHARGE_SIGNS, conflicting_cells, has_discharge_of_sign, rivers_of_field, series_of_river
from .gauges import duplicate_names, positions_on_water

if TYPE_CHECKING:
    from ...config.options.model import Config


def problems(config: Config) -> Iterator[str]:
    """Messages about rivers with a wrong position, name, discharge or tracers, and about conflicts between sources."""
    rivers, tracers = config.forcing.rivers, [each.name for each in config.physics.tracers]
    yield from duplicate_names(rivers, "forcing.rivers")
    for name in (name for name in DISCHARGE_SIGNS if rivers_of_field(config, name) and has_source(config, name)):
        yield f"forcing.rivers: {name} also comes from a file, the case or Python; give that or the tables [[river]]"
    positions, labels = [], []
    for river in rivers:
        label = f'the river "{river.name}"'
        try:
            positions.append(position_in_table(config.grid, river, label))
            labels.append(label)
        except UsageError as error:
            yield f"forcing.rivers: {error}"
        if (river.discharge is None) == (not river.series):
            yield f"forcing.rivers: {label} needs either discharge or series"
            continue
        if river.series:
            try:
                series_of_river(config, river)
            except InputError as error:
                yield f"forcing.rivers: {error}"
                continue
        for name in (each for each in river.tracers if each not in tracers):
            known = f"tracers are {', '.join(tracers)}" if tracers else "the run has no tracers"
            yield f"forcing.rivers: {label}: there is no tracer {name}; {known}"
        if river.tracers and not has_discharge_of_sign(config, river, 1.0):
            yield f"forcing.rivers: {label} brings no water, so its tracers have no effect"
    lines = positions_on_water(config, positions, labels)[1]
    yield from (f"forcing.rivers: {line}" for line in lines)
    if len(positions) == len(rivers) and not lines:
        yield from conflicting_cells(config, is_interior_water)
