"""The cycles of the local ensemble transform Kalman filter: the members run, are observed, and are analysed.

Members start from the first guess and its errors, x_b + L w, with random w whose mean over the members is removed. The
observations of a cycle are compared with the members at their own times; the analysis changes the members at the end of
the cycle (`letkf`). Processes share the members during a run, and the points of the grid during an analysis.

Corrections of the weather belong to the members, as further fields. An analysis changes those of their records that are
still in use, up to twice the correlation time ahead.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import numpy as np

from ..gradients.corrections import number_at, times
from ..model.domain import whole
from ..model.ensemble.members import Members
from ..model.ensemble.perturbations import with_thickness
from ..ocean.coordinates import OFFSETS, axes
from ..ocean.grid import as_patches
from ..ocean.table import CORRECTIONS
from ..parallel.transport import of_all_members
from .background import LOCATIONS, beyond, inside
from .diffusion import MASKS
from .experiment import background_of, resting_depth
from .interpolation import operator
from .letkf import Seen, analyse, seen_by
from .localisation import near
from .settings import STATE, believed, ensemble_of

#: Most numbers of all members that a process gathers together.
GATHERED = 2**24

#: Records of corrections change up to this time ahead, in correlation times.
AHEAD = 2.0


class Moments(NamedTuple):
    """Mean and spread of a field over the members; the spread is the root of the variance."""

    mean: np.ndarray
    spread: np.ndarray


class Cycle(NamedTuple):
    """An analysis."""

    chosen: np.ndarray  # indices of the observations
    seen: Seen  # by the members before it
    after: np.ndarray  # their departures from the members' mean after it, over their errors


class Filter:
    """The members of an assimilation; all processes make it and call its methods together.

    Attributes:
        members: the Members.
        corrections: those of this process's members, [members here, records, ny, nx] by name.
    """

    def __init__(self, config, experiment):
        self.config, self.options, self.observations = config, config.assimilation, experiment.observations
        names = tuple(name for name in self.options.controls if name in CORRECTIONS)
        members = self.members = Members(ensemble_of(believed(config)), corrections=names)
        self.transport, block = members.transport, members.domain.transport.block
        self.depth = np.asarray(resting_depth(members.domain), np.float64)
        self.operator = operator(self.observations, config, block, self.options.every_steps)
        self.points = {
            (location, beside): points_of(members.domain, location, beside)
            for location in MASKS
            for beside in (False, True)
        }
        self._values = np.full((members.here.length, self.observations.size), np.nan)
        self.corrections = {}
        self.put(self.first_members(experiment))
        self.health = members.health()

    def first_members(self, experiment) -> dict:
        """The fields of this process's members at the start of the window."""
        members, fields = self.members, self.fields()
        of_state = {name: x for name, x in experiment.base.items() if name in STATE}
        base = {name: whole(np.asarray(x), name, experiment.problem.transport) for name, x in of_state.items()}
        fields |= {name: np.broadcast_to(x, fields[name].shape) for name, x in base.items()}
        background = background_of(self.config, members.domain, base.get("eta"))
        drawn = [background.draw(self.config.ensemble.seed, m) for m in range(members.here.start, members.here.stop)]
        for name in self.options.controls:
            errors = np.stack([np.asarray(errors[name], np.float64) for errors in drawn])
            fields[name] = fields.get(name, 0.0) + errors - self.moments(errors).mean
        return fields

    def fields(self) -> dict:
        """eta, u and v of this process's members, float64 [members here, ny, nx], and their corrections."""
        state = self.members.state
        found = {name: np.array(getattr(state, name), np.float64) for name in ("h", "u", "v")}
        return {"eta": found.pop("h") - self.depth} | found | self.corrections

    def put(self, fields: dict) -> None:
        """Set the fields of this process's members."""
        state = with_thickness(self.members.state, fields["eta"] + self.depth, self.members.domain.scheme)
        self.members.change(state._replace(u=fields["u"], v=fields["v"]))
        self.corrections = {name: values for name, values in fields.items() if name in CORRECTIONS}
        if self.corrections:
            self.members.correct(self.corrections)

    def kept(self) -> dict:
        """The arrays of this process's members from which a filter goes on, by name: carries and corrections."""
        leaves = jax.tree.leaves(self.members.get(self.members.carry._replace(step=None)))
        return {f"carry {number}": leaf for number, leaf in enumerate(leaves)} | self.corrections

    def go_on(self, step: int, kept: dict) -> None:
        """Continue from what was `kept` after a step."""
        carry = self.members.carry._replace(step=None)
        leaves = [kept[f"carry {number}"] for number in range(len(jax.tree.leaves(carry)))]
        steps = np.full(self.members.here.length, step)
        self.members.replace(jax.tree.structure(carry).unflatten(leaves)._replace(step=steps), step)
        self.corrections = {name: kept[name] for name in self.corrections}
        if self.corrections:
            self.members.correct(self.corrections)

    def moments(self, values: np.ndarray) -> Moments:
        """Mean and spread over all members of values [members here, ...]."""
        flat, some = values.reshape(len(values), -1), max(1, GATHERED // self.members.here.size)
        found = np.zeros((2, flat.shape[1]))
        for strip in (slice(first, first + some) for first in range(0, flat.shape[1], some)):
            members = of_all_members(self.transport, flat[:, strip])
            found[:, strip] = members.mean(axis=0), members.std(axis=0, ddof=1)
        return Moments(*found.reshape(2, *values.shape[1:]))

    def observe(self, sample: int) -> None:
        """Keep the values of a sample's observed quantities, from the present states."""
        fields, at = self.fields(), self.operator
        flat = np.stack([fields[name] for name in STATE], axis=1).reshape(len(self._values), -1)
        chosen = at.sample == sample
        index, weight = (array[sample, at.place[chosen]] for array in (at.index, at.weight))
        self._values[:, chosen] = (flat[:, index] * weight).sum(axis=-1)

    def analyse(self, chosen: np.ndarray) -> Cycle:
        """Change the members by these observations, whose values `observe` has kept."""
        at, fields = self.observations.where(chosen), self.fields()
        places = at.x, at.y
        values = of_all_members(self.transport, self._values[:, chosen])
        seen = seen_by(values, at.value, at.error)
        for place, points in self.points.items():
            names = [name for name in self.options.controls if place == (LOCATIONS[name], name.startswith("outside_"))]
            if layers := [layer for name in names for layer in self.layers(fields, name)]:
                self.analyse_layers(layers, points, seen, places)
        self.put(fields)
        after = self.analysed(values[..., None], seen, places, places)[..., 0]
        return Cycle(chosen, seen, (at.value - after.mean(axis=0)) / at.error)

    def analysed(self, members: np.ndarray, seen: Seen, positions: tuple, places: tuple) -> np.ndarray:
        """The members at positions (x, y), [N, n, layers], after an analysis of the observations at `places`.

        Each process computes its share of the positions.
        """
        own = np.array_split(np.arange(members.shape[1]), self.transport.size)[self.transport.rank]
        around = near(self.config.grid, tuple(along[own] for along in positions), places, self.options.localisation)
        part = analyse(members[:, own], seen, around, self.options.inflation, self.options.relaxation)
        return np.concatenate(self.transport.allgather(part), axis=1)

    def layers(self, fields: dict, name: str) -> list[np.ndarray]:
        """The fields [members here, ny, nx] of a control that an analysis changes: views."""
        if name not in CORRECTIONS:
            return [fields[name]]
        setup, step = self.members.setup, self.members.step
        ahead = times(setup, name) - step * self.members.dt <= AHEAD * self.options.correlation_time
        first = number_at(setup, name, step)
        return [fields[name][:, k] for k in range(first, ahead.size) if ahead[k] or k <= first + 1]

    def analyse_layers(self, layers: list[np.ndarray], points: tuple, seen: Seen, places: tuple) -> None:
        """Change fields [members here, ny, nx] at `points_of`."""
        (rows, columns), positions = points
        here = slice(self.members.here.start, self.members.here.stop)
        some = max(1, GATHERED // (self.members.here.size * len(layers)))
        for strip in (np.arange(first, min(first + some, len(rows))) for first in range(0, len(rows), some)):
            at = slice(None), rows[strip], columns[strip]
            members = of_all_members(self.transport, np.stack([layer[at] for layer in layers], axis=-1))
            after = self.analysed(members, seen, tuple(along[strip] for along in positions), places)[here]
            for number, layer in enumerate(layers):
                layer[at] = after[..., number]


def points_of(domain, location: str, beside: bool) -> tuple[tuple, tuple]:
    """Rows and columns of the wet points, or open faces, of a location, and their positions (x, y).

    `beside`: also of the values of the water outside, `background.beyond`.
    """
    block, along = domain.transport.block, axes(domain.config.grid)
    grid = as_patches(jax.tree.map(np.asarray, domain.grid), domain.setup.margin)
    mask, (north, east) = (beyond if beside else inside)(grid, location).on(block.shape), OFFSETS[location]
    row, column = np.nonzero(np.broadcast_to(np.asarray(mask), block.shape))
    x, y = along.x.first + (column + east) * along.x.spacing, along.y.first + (row + north) * along.y.spacing
    return (row, column), (x, y)
