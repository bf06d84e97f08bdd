"""The cycles of the local ensemble transform Kalman filter: the members run, are observed, and are analysed.

Members start from the first guess plus random errors, x_b + L w; the mean of these errors over the members is removed.
Each observation of a cycle is compared with the members at the nearest sample in time; the analysis changes the members
at the end of the cycle (`letkf`). The members are divided among the processes during a run, the grid points during an
analysis.

Members also have corrections of the forcing as fields with records. An analysis changes the two records around its time
and later ones up to MAX_LEAD_CORRELATION_TIMES correlation times ahead.

Arrays [local members, ...] have the members of this process, [N, ...] all N members.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import jax
import numpy as np

from ..gradients.corrections import record_number, record_times
from ..model.domain import gather_field
from ..model.ensemble.members import Members
from ..model.ensemble.perturbations import with_thickness
from ..ocean.coordinates import LOCATION_OFFSETS, axes
from ..ocean.grid import as_patches
from ..ocean.table import CORRECTIONS, INITIAL_FIELDS
from ..parallel.transport import gather_members
from .background import FIELD_LOCATIONS, water_and_boundary_mask, water_mask
from .diffusion import MASK_NAMES
from .experiment import first_guess_errors, resting_depth
from .interpolation import make_operator
from .letkf import NormalisedDepartures, analyse, normalise_departures
from .localisation import find_nearby
from .settings import ensemble_config, prior_config

if TYPE_CHECKING:
    from ..config.options.model import Config

#: Largest number of values, of all members together, that a process gathers in one message.
MAX_GATHERED_NUMBERS = 2**24

#: How far ahead an analysis changes records of corrections, in correlation times.
MAX_LEAD_CORRELATION_TIMES = 2.0


class MeanAndSpread(NamedTuple):
    """Mean and standard deviation of a field over the members."""

    mean: np.ndarray
    spread: np.ndarray


class CycleAnalysis(NamedTuple):
    """The observations of an analysis and their departures."""

    indices: np.ndarray  # of the observations among those of the run, [n]
    scaled: NormalisedDepartures  # relative to the members before the analysis
    departures_after: np.ndarray  # from the members' mean after the analysis, divided by the observation errors, [n]


class EnsembleFilter:
    """The members of an assimilation; all processes create the filter and call its methods together.

    Attributes:
        members: the Members.
        corrections: {name: [local members, records, ny, nx]}.
        depth: resting depth, m.
        analysis_points: {(location, whether points with boundary data are included): `points_of_location`}.
    """

    def __init__(self, config: Config, experiment):
        self.config, self.options, self.observations = config, config.assimilation, experiment.observations
        names = tuple(name for name in self.options.controls if name in CORRECTIONS)
        members = self.members = Members(ensemble_config(prior_config(config)), corrections=names)
        self.transport, block = members.transport, members.domain.transport.block
        self.depth = np.asarray(resting_depth(members.domain), np.float64)
        self.operator = make_operator(self.observations, config, block, self.options.every_steps)
        self.analysis_points = {
            (location, with_boundary): points_of_location(members.domain, location, with_boundary)
            for location in MASK_NAMES
            for with_boundary in (False, True)
        }
        self._observed_values = np.full((members.local_members.length, self.observations.size), np.nan)
        self.corrections: dict[str, np.ndarray] = {}
        self.set_fields(self.draw_first_members(experiment))
        self.health = members.health()

    def draw_first_members(self, experiment) -> dict:
        """The fields of this process's members at the start of the window, in the form of `fields`."""
        members, fields = self.members, self.fields()
        state_fields = {name: values for name, values in experiment.first_guess.items() if name in INITIAL_FIELDS}
        first_guess = {
            name: gather_field(np.asarray(block_values), name, experiment.problem.transport)
            for name, block_values in state_fields.items()
        }
        fields |= {name: np.broadcast_to(values, fields[name].shape) for name, values in first_guess.items()}
        background = first_guess_errors(self.config, members.domain, first_guess.get("eta"))
        member_errors = [
            background.draw(self.config.ensemble.seed, member)
            for member in range(members.local_members.start, members.local_members.stop)
        ]
        for name in self.options.controls:
            errors = np.stack([np.asarray(member[name], np.float64) for member in member_errors])
            fields[name] = fields.get(name, 0.0) + errors - self.moments(errors).mean
        return fields

    def fields(self) -> dict:
        """eta in m, u and v in m s-1, float64 [local members, ny, nx], and the corrections."""
        state = self.members.state
        state_fields = {name: np.array(getattr(state, name), np.float64) for name in ("h", "u", "v")}
        return {"eta": state_fields.pop("h") - self.depth} | state_fields | self.corrections

    def set_fields(self, fields: dict) -> None:
        """Replace the fields of this process's members by `fields`, in the form that the method `fields` returns."""
        state = with_thickness(self.members.state, fields["eta"] + self.depth, self.members.domain.scheme)
        self.members.set_state(state._replace(u=fields["u"], v=fields["v"]))
        self.corrections = {name: values for name, values in fields.items() if name in CORRECTIONS}
        if self.corrections:
            self.members.set_corrections(self.corrections)

    def to_checkpoint(self) -> dict:
        """The arrays by name from which a filter continues: carries and corrections of this process's members."""
        leaves = jax.tree.leaves(self.members.get(self.members.carry._replace(step=None)))
        return {f"carry {number}": leaf for number, leaf in enumerate(leaves)} | self.corrections

    def from_checkpoint(self, step: int, arrays: dict) -> None:
        """Continue after a step, from the arrays of `to_checkpoint`."""
        carry = self.members.carry._replace(step=None)
        leaves = [arrays[f"carry {number}"] for number in range(len(jax.tree.leaves(carry)))]
        steps = np.full(self.members.local_members.length, step)
        self.members.set_carry(jax.tree.unflatten(jax.tree.structure(carry), leaves)._replace(step=steps), step)
        self.corrections = {name: arrays[name] for name in self.corrections}
        if self.corrections:
            self.members.set_corrections(self.corrections)

    def moments(self, values: np.ndarray) -> MeanAndSpread:
        """Mean and spread, over all members, of values [local members, ...]."""
        flat = values.reshape(len(values), -1)
        strip_length = max(1, MAX_GATHERED_NUMBERS // self.members.local_members.axis_size)
        mean_and_spread = np.zeros((2, flat.shape[1]))
        for strip in (slice(first, first + strip_length) for first in range(0, flat.shape[1], strip_length)):
            members = gather_members(self.transport, flat[:, strip])
            mean_and_spread[:, strip] = members.mean(axis=0), members.std(axis=0, ddof=1)
        return MeanAndSpread(*mean_and_spread.reshape(2, *values.shape[1:]))

    def observe(self, sample: int) -> None:
        """Store the members' present values of the observations that belong to a sample."""
        fields, operator = self.fields(), self.operator
        flat = np.stack([fields[name] for name in INITIAL_FIELDS], axis=1).reshape(len(self._observed_values), -1)
        in_sample = operator.sample == sample
        index, weight = (array[sample, operator.slot[in_sample]] for array in (operator.index, operator.weight))
        self._observed_values[:, in_sample] = (flat[:, index] * weight).sum(axis=-1)

    def analyse(self, indices: np.ndarray) -> CycleAnalysis:
        """Update the members with the observations `indices`, whose values in the members `observe` has stored."""
        observations, fields = self.observations.select(indices), self.fields()
        observation_positions = observations.x, observations.y
        values = gather_members(self.transport, self._observed_values[:, indices])
        scaled = normalise_departures(values, observations.value, observations.error)
        for point_set, points in self.analysis_points.items():
            names = [
                name
                for name in self.options.controls
                if point_set == (FIELD_LOCATIONS[name], name.startswith("boundary_"))
            ]
            if layers := [layer for name in names for layer in self.layers_to_analyse(fields, name)]:
                self.analyse_layers(layers, points, scaled, observation_positions)
        self.set_fields(fields)
        values_after = self.analyse_positions(values[..., None], scaled, observation_positions, observation_positions)
        departures_after = (observations.value - values_after[..., 0].mean(axis=0)) / observations.error
        return CycleAnalysis(indices, scaled, departures_after)

    def analyse_positions(
        self, members: np.ndarray, scaled: NormalisedDepartures, positions: tuple, observation_positions: tuple
    ) -> np.ndarray:
        """All members at n positions (x, y), [N, n, layers], after an analysis.

        The positions are divided among the processes.
        """
        own_indices = np.array_split(np.arange(members.shape[1]), self.transport.size)[self.transport.rank]
        nearby = find_nearby(
            self.config.grid,
            tuple(coordinate[own_indices] for coordinate in positions),
            observation_positions,
            self.options.localisation,
        )
        own_analysis = analyse(members[:, own_indices], scaled, nearby, self.options.inflation, self.options.relaxation)
        return np.concatenate(self.transport.allgather(own_analysis), axis=1)

    def layers_to_analyse(self, fields: dict, name: str) -> list[np.ndarray]:
        """Views of the fields [local members, ny, nx] that an analysis changes: a control, or some of its records."""
        if name not in CORRECTIONS:
            return [fields[name]]
        setup, step = self.members.setup, self.members.step
        within_lead = (
            record_times(setup, name) - step * self.members.dt
            <= MAX_LEAD_CORRELATION_TIMES * self.options.correlation_time
        )
        current = record_number(setup, name, step)
        return [fields[name][:, k] for k in range(current, within_lead.size) if within_lead[k] or k <= current + 1]

    def analyse_layers(
        self, layers: list[np.ndarray], points: tuple, scaled: NormalisedDepartures, observation_positions: tuple
    ) -> None:
        """Update fields [local members, ny, nx] in place, at `points_of_location`."""
        (rows, columns), positions = points
        own_members = slice(self.members.local_members.start, self.members.local_members.stop)
        strip_length = max(1, MAX_GATHERED_NUMBERS // (self.members.local_members.axis_size * len(layers)))
        for strip in (
            np.arange(first, min(first + strip_length, len(rows))) for first in range(0, len(rows), strip_length)
        ):
            point_index = slice(None), rows[strip], columns[strip]
            members = gather_members(self.transport, np.stack([layer[point_index] for layer in layers], axis=-1))
            analysed = self.analyse_positions(
                members, scaled, tuple(coordinate[strip] for coordinate in positions), observation_positions
            )[own_members]
            for number, layer in enumerate(layers):
                layer[point_index] = analysed[..., number]


def points_of_location(domain, location: str, with_boundary: bool) -> tuple[tuple, tuple]:
    """(rows, columns) of the wet cells or open faces of a location, and their positions (x, y) along the axes.

    `with_boundary`: whether points with boundary data are included; see `background.water_and_boundary_mask`.
    """
    block, grid_axes = domain.transport.block, axes(domain.config.grid)
    grid = as_patches(domain.transport.get(domain.grid), domain.setup.static_halo)
    mask = (water_and_boundary_mask if with_boundary else water_mask)(grid, location).block_values(block.shape)
    row, column = np.nonzero(np.broadcast_to(np.asarray(mask), block.shape))
    offset_y, offset_x = LOCATION_OFFSETS[location]
    x = grid_axes.x.first + (column + offset_x) * grid_axes.x.spacing
    y = grid_axes.y.first + (row + offset_y) * grid_axes.y.spacing
    return (row, column), (x, y)
