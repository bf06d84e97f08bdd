"""Accumulators of fields: means, largest values with their times, first arrivals, and harmonic sums."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from ...errors import UsageError
from ...ocean.harmonics import basis_functions, harmonic_constants, normal_matrix
from ...ocean.table import (
    ARRIVAL_SUFFIX,
    HARMONIC_SUFFIX,
    INUNDATION,
    MAXIMUM_SUFFIX,
    MEAN_STEPS,
    MEAN_SUFFIX,
    maxima_variables,
)
from ...ocean.terms.bed_motion import has_moving_floor
from .accumulator import Accumulator, make_fields

if TYPE_CHECKING:
    from ...setup.tidal_analysis import HarmonicAnalysis

#: Times are numbers of steps in summaries, and seconds in output.nc; NEVER marks cells without such a time.
STEP_SUFFIX, NEVER = "_step", -1
#: Value in FLOOD_STEP of cells that were wet at the start.
AT_START = -2

#: Fields with the step of the first arrival, and of the first flooding, of a cell.
ARRIVAL_STEP, FLOOD_STEP = f"eta{ARRIVAL_SUFFIX}{STEP_SUFFIX}", f"{INUNDATION}{STEP_SUFFIX}"

#: Number of samples for which one call of a program receives the basis functions of harmonic sums.
SAMPLES_PER_CALL = 256


class FieldAccumulator(Accumulator):
    """Base class of accumulators of fields; the names in their summaries are also those in restart files.

    `make` creates the update function from the names of the fields, `parts` and the further arguments of `make_fields`.
    `initial_values` has the initial value of each field of the summary, in its data type.
    """

    def __init__(self, simulation, names, make, parts: tuple, initial_values: dict[str, Any]):
        super().__init__(simulation)
        config, self._initial_values = simulation.config, initial_values
        options = config.physics, config.grid, config.drying.wet_thickness
        self.update = make, tuple(names), *parts, *options, simulation.scheme
        self.reset()

    def reset(self) -> None:
        initial_values = self._initial_values
        self.summary = self.simulation.transport.make_arrays(
            lambda block: {name: np.full(block.shape, number) for name, number in initial_values.items()}
        )

    def take_restart_fields(self, restart_fields: dict) -> bool:
        """Take the summary from a restart file; returns False, and takes nothing, if a field is missing in the file."""
        is_complete = self.summary.keys() <= restart_fields.keys()
        if is_complete:
            self.summary = {name: restart_fields[name] for name in self.summary}
        return is_complete

    def inputs(self):
        scheme = self.simulation.scheme
        needs_params = scheme.has_diagnosed_velocity or has_moving_floor(scheme)
        return self.simulation.grid, self.simulation.params if needs_params else {}

    def restart_fields(self) -> dict:
        return self.summary


def make_mean(names, *parts):
    """The update function of means; `parts` are the further arguments of `make_fields`, `inputs` are Grid and Params.

    The bits must be the same on any layout. So only the weight is a quotient, because compilers may replace a division
    of fields by a product with the reciprocal; and products pass through a maximum, which rounds them before the sum.
    """
    fields = make_fields(names, *parts)

    def update(summary, inputs, state, step):
        count = summary[MEAN_STEPS] + 1

        def add_sample(mean, x):
            weight = jnp.ones((), x.dtype) / count.astype(x.dtype)
            return mean + jnp.maximum((x - mean) * weight, jnp.finfo(x.dtype).min)

        fields_of_step = {name + MEAN_SUFFIX: x for name, x in fields(state, *inputs, step).items()}
        return {name: add_sample(summary[name], x) for name, x in fields_of_step.items()} | {MEAN_STEPS: count}

    return update


class MeanAccumulator(FieldAccumulator):
    """Running means of derived fields since the last record, in the precision of the run."""

    def __init__(self, simulation, names):
        zero = np.dtype(simulation.config.run.dtype).type(0)
        super().__init__(simulation, names, make_mean, (), {name + MEAN_SUFFIX: zero for name in names})

    def reset(self) -> None:
        super().reset()
        self.summary[MEAN_STEPS] = self.simulation.transport.put(np.int32(0))

    def start(self, restart_fields: dict) -> None:
        self.take_restart_fields(restart_fields)

    def restart_fields(self) -> dict:
        return self.summary if int(self.summary[MEAN_STEPS]) else {}

    def output_fields(self) -> dict[str, np.ndarray]:
        if not self.restart_fields():
            return {}
        return self.simulation.get({name: self.summary[name] for name in self._initial_values})

    def start_next_record(self) -> None:
        self.reset()

    def values(self) -> dict[str, np.ndarray]:
        """The means on this process's block, by name; {} before the first step."""
        return {name.removesuffix(MEAN_SUFFIX): field for name, field in self.output_fields().items()}


def make_extremes(names, arrival, inundation: bool, *parts):
    """The update function of extremes, with the arguments of `make_mean`, `arrival` and `inundation`.

    An arrival is the first time at which |eta| is at least `arrival`, m; None: there are no arrivals. `inundation` says
    whether the first times with water are recorded.
    """
    drying = parts[-2].drying
    needed = [*names, *["eta"] * (arrival is not None), *["wet"] * drying]
    fields = make_fields(tuple(dict.fromkeys(needed)), *parts)

    def update(summary, inputs, state, step):
        fields_of_step, new_summary = fields(state, *inputs, step), {}
        wet = fields_of_step["wet"] > 0 if drying else True
        for name in names:
            max_name = name + MAXIMUM_SUFFIX
            is_larger = wet & (fields_of_step[name] > summary[max_name])
            new_summary[max_name] = jnp.where(is_larger, fields_of_step[name], summary[max_name])
            new_summary[max_name + STEP_SUFFIX] = jnp.where(is_larger, step, summary[max_name + STEP_SUFFIX])
        if arrival is not None:
            is_arrival = wet & (summary[ARRIVAL_STEP] == NEVER) & (jnp.abs(fields_of_step["eta"]) >= arrival)
            new_summary[ARRIVAL_STEP] = jnp.where(is_arrival, step, summary[ARRIVAL_STEP])
        if inundation:
            new_summary[FLOOD_STEP] = jnp.where(wet & (summary[FLOOD_STEP] == NEVER), step, summary[FLOOD_STEP])
        return new_summary

    return update


class ExtremesAccumulator(FieldAccumulator):
    """Maxima since the start and their times, first arrivals and floodings; values in dry cells do not count."""

    def __init__(self, simulation):
        output, dtype = simulation.config.output, np.dtype(simulation.config.run.dtype)
        initial_values = {name + MAXIMUM_SUFFIX: dtype.type(-np.inf) for name in output.maxima}
        initial_values |= {name + MAXIMUM_SUFFIX + STEP_SUFFIX: np.int32(NEVER) for name in output.maxima}
        initial_values |= {} if output.arrival is None else {ARRIVAL_STEP: np.int32(NEVER)}
        initial_values |= {FLOOD_STEP: np.int32(NEVER)} if output.inundation else {}
        super().__init__(simulation, output.maxima, make_extremes, (output.arrival, output.inundation), initial_values)

    def start(self, restart_fields: dict) -> None:
        if not self.take_restart_fields(restart_fields):
            self.add_state(self.simulation.carry.state)
            if FLOOD_STEP in self.summary:
                step = self.summary[FLOOD_STEP]
                self.summary[FLOOD_STEP] = jnp.where(step == NEVER, step, AT_START).astype(step.dtype)

    def output_fields(self) -> dict[str, np.ndarray]:
        """See `Accumulator`; times are in s, NaN where there is none."""
        config, summary, fields = self.simulation.config, self.simulation.get(self.summary), {}
        for name in maxima_variables(config.output):
            if name in summary:
                fields[name] = np.where(np.isneginf(summary[name]), np.nan, summary[name])
            else:
                steps = summary[name.removesuffix("_time") + STEP_SUFFIX]
                fields[name] = np.where(steps < 0, np.nan, steps * self.simulation.dt).astype(config.run.dtype)
        return fields


def make_harmonic_sums(names, n_functions: int, samples: range, *parts):
    """The update function of harmonic sums with `n_functions` basis functions, over the fields at the steps `samples`.

    `inputs` are Grid, Params, the basis functions at some samples, and the number of the first of these samples.
    """
    fields = make_fields(names, *parts)

    def update(summary, inputs, state, step):
        *static, basis_values, first_sample = inputs
        sample, remainder = jnp.divmod(jnp.asarray(step, jnp.int32) - samples.start, samples.step)
        values = jax.lax.dynamic_slice_in_dim(basis_values, (sample - first_sample) * n_functions, n_functions)

        def add_sample(summary):
            new_summary: dict[str, Any] = {}
            for name, x in fields(state, *static, step).items():
                sums = (f"{name}{HARMONIC_SUFFIX}{k}" for k in range(n_functions))
                new_summary |= {key: summary[key] + values[k] * x for k, key in enumerate(sums)}
            return new_summary

        is_due = (remainder == 0) & (sample >= 0) & (sample < len(samples))
        return jax.lax.cond(is_due, add_sample, lambda summary: summary, summary)

    return update


class HarmonicsAccumulator(FieldAccumulator):
    """Sums over time of fields times basis functions, sampled every few steps, for a harmonic analysis."""

    def __init__(self, simulation, tidal_analysis: HarmonicAnalysis):
        self.analysis = tidal_analysis
        self.sample_steps, self.n_functions = tidal_analysis.steps, 2 * len(tidal_analysis.constituents) + 1
        zero = np.dtype(simulation.config.run.dtype).type(0)
        initial_values = {
            f"{name}{HARMONIC_SUFFIX}{k}": zero for name in tidal_analysis.fields for k in range(self.n_functions)
        }
        super().__init__(
            simulation, tidal_analysis.fields, make_harmonic_sums, (self.n_functions, self.sample_steps), initial_values
        )

    def start(self, restart_fields: dict) -> None:
        """See `Accumulator`. UsageError: the restart file lacks the sums of earlier steps."""
        if not self.take_restart_fields(restart_fields) and (step := self.simulation.step) >= self.sample_steps.start:
            raise UsageError(
                f"output.harmonics: the restart file lacks the sums of the steps up to {step}; "
                "give a later output.harmonics_from"
            )

    def next_sample(self) -> int:
        """The number of the first sample after the present step."""
        return max(0, (self.simulation.step - self.sample_steps.start) // self.sample_steps.step + 1)

    def inputs(self):
        simulation, first = self.simulation, self.next_sample()
        samples = self.sample_steps.start + self.sample_steps.step * np.arange(first, first + SAMPLES_PER_CALL)
        values = basis_functions(self.analysis.constituents, simulation.dt, samples).T.ravel()
        table = simulation.transport.make_arrays(lambda block: values.astype(simulation.config.run.dtype))
        return *super().inputs(), table, jnp.asarray(first, jnp.int32)

    def next_collection(self, max_step: int) -> int:
        sample = self.next_sample() + SAMPLES_PER_CALL
        return min(max_step, self.sample_steps.start + self.sample_steps.step * sample - 1)

    def constants(self) -> dict[str, tuple]:
        """{field: its mean, and (amplitude, phase lag in degrees) of each constituent} on this process's block."""
        summary, numbers = self.simulation.get(self.summary), range(self.n_functions)
        matrix = normal_matrix(self.analysis.constituents, self.simulation.dt, self.sample_steps)
        return {
            name: harmonic_constants(matrix, np.stack([summary[f"{name}{HARMONIC_SUFFIX}{k}"] for k in numbers]))
            for name in self.analysis.fields
        }
