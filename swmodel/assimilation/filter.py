"""The cycles of the local ensemble transform Kalman filter: the members run, are observed, and are analysed.

Members start from the first guess and its errors, x_b + L w, with random w whose mean over the members is removed. The
observations of a cycle are compared with the members at their own times; the analysis changes the members at the end of
the cycle (`letkf`). Processes share the members during a run, and the points of the grid during an analysis.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..model.domain import whole
from ..model.ensemble.members import Members
from ..model.ensemble.perturbations import with_thickness
from ..ocean.coordinates import OFFSETS, axes
from ..ocean.grid import as_patches
from ..parallel.transport import of_all_members
from .background import LOCATIONS
from .diffusion import MASKS
from .experiment import background_of, resting_depth
from .interpolation import operator
from .letkf import Seen, analyse, seen_by
from .localisation import near
from .settings import STATE, believed, ensemble_of

#: Most numbers of all members that a process gathers together.
GATHERED = 2**24


class Moments(NamedTuple):
    """Mean and spread of eta, u and v over the members, [3, ny, nx]; the spread is the root of the variance."""

    mean: np.ndarray
    spread: np.ndarray


class Cycle(NamedTuple):
    """An analysis."""

    chosen: np.ndarray  # indices of the observations
    seen: Seen  # by the members before it
    after: np.ndarray  # their departures from the members' mean after it, over their errors


class Filter:
    """The members of an assimilation; all processes make it and call its methods together."""

    def __init__(self, config, experiment):
        self.options, self.observations = config.assimilation, experiment.observations
        members = self.members = Members(ensemble_of(believed(config)))
        self.transport, self.depth = members.transport, np.asarray(resting_depth(members.domain), np.float64)
        domain = members.domain
        self.operator = operator(self.observations, config, domain.transport.block, self.options.every_steps)
        self.points, self.places = points_of(domain, [name for name in STATE if name in self.options.controls])
        self._values = np.full((members.here.length, self.observations.size), np.nan)
        self.put(self.first_members(config, experiment))
        self.health = members.health()

    def first_members(self, config, experiment) -> np.ndarray:
        """The members at the start of the window."""
        fields, members = self.fields(), self.members
        base = {name: whole(np.asarray(x), name, experiment.problem.transport) for name, x in experiment.base.items()}
        errors, background = np.zeros_like(fields), background_of(config, members.domain, base.get("eta"))
        for own, member in enumerate(range(members.here.start, members.here.stop)):
            for name, error in background.draw(config.ensemble.seed, member).items():
                errors[own, STATE.index(name)] = error
        for name, values in base.items():
            fields[:, STATE.index(name)] = values
        return fields + errors - self.moments(errors).mean

    def fields(self) -> np.ndarray:
        """eta, u and v of this process's members, float64 [members here, 3, ny, nx]."""
        state = self.members.state
        return np.stack([np.asarray(state.h, np.float64) - self.depth, state.u, state.v], axis=1)

    def put(self, fields: np.ndarray) -> None:
        """Set the fields of this process's members."""
        eta, u, v = np.moveaxis(fields, 1, 0)
        state = with_thickness(self.members.state, eta + self.depth, self.members.domain.scheme)
        self.members.change(state._replace(u=u, v=v))

    def gathered(self, fields: np.ndarray, points: np.ndarray):
        """Iterate over strips of points, indices in [3 ny nx], with the numbers of all members, [N, strip]."""
        flat, some = fields.reshape(len(fields), -1), max(1, GATHERED // self.members.here.size)
        for first in range(0, len(points), some):
            strip = points[first : first + some]
            yield strip, of_all_members(self.transport, flat[:, strip])

    def moments(self, fields: np.ndarray) -> Moments:
        """Mean and spread over all members of fields [members here, 3, ny, nx]."""
        found = np.zeros((2, fields[0].size))
        for strip, values in self.gathered(fields, np.arange(fields[0].size)):
            found[:, strip] = values.mean(axis=0), values.std(axis=0, ddof=1)
        return Moments(*found.reshape(2, *fields.shape[1:]))

    def observe(self, sample: int) -> None:
        """Keep the values of a sample's observed quantities, from the present states."""
        flat, at = self.fields().reshape(len(self._values), -1), self.operator
        chosen = at.sample == sample
        index, weight = (array[sample, at.place[chosen]] for array in (at.index, at.weight))
        self._values[:, chosen] = (flat[:, index] * weight).sum(axis=-1)

    def analyse(self, chosen: np.ndarray) -> Cycle:
        """Change the members by these observations, which they have been asked for."""
        options, rank, size = self.options, self.transport.rank, self.transport.size
        at = self.observations.where(chosen)
        values, settings = (
            of_all_members(self.transport, self._values[:, chosen]),
            (options.inflation, options.relaxation),
        )
        seen, places, grid = seen_by(values, at.value, at.error), (at.x, at.y), self.members.config.grid
        fields, here = self.fields(), slice(self.members.here.start, self.members.here.stop)
        flat, first = fields.reshape(len(fields), -1), 0
        for strip, members in self.gathered(fields, self.points):
            own = np.array_split(np.arange(len(strip)), size)[rank]
            around = near(grid, tuple(place[first + own] for place in self.places), places, options.localisation)
            parts = self.transport.allgather(analyse(members[:, own], seen, around, *settings))
            flat[:, strip] = np.concatenate(parts, axis=1)[here]
            first += len(strip)
        self.put(fields)
        after = analyse(values, seen, near(grid, places, places, options.localisation), *settings)
        return Cycle(chosen, seen, (at.value - after.mean(axis=0)) / at.error)


def points_of(domain, names) -> tuple[np.ndarray, tuple]:
    """Indices in [3 ny nx] of the wet points and open faces of the fields `names`, and their positions (x, y)."""
    block, grid, along = domain.transport.block, as_patches(domain.grid, domain.setup.margin), axes(domain.config.grid)
    found = []
    for name in names:
        (north, east), mask = OFFSETS[LOCATIONS[name]], getattr(grid, MASKS[LOCATIONS[name]]).on(block.shape)
        row, column = np.nonzero(np.broadcast_to(np.asarray(mask), block.shape))
        index = (STATE.index(name) * block.y.size + row) * block.x.size + column
        x, y = along.x.first + (column + east) * along.x.spacing, along.y.first + (row + north) * along.y.spacing
        found.append((index, x, y))
    index, x, y = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return index, (x, y)
