"""Accumulators of fields: means, largest values with their times, first arrivals, and harmonic sums."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ...errors import UsageError
from ...ocean.harmonics import basis, constants, normal_matrix
from ...ocean.table import ARRIVAL, HARMONIC, INUNDATION, MAXIMUM, MEAN, MEAN_STEPS, maxima_of
from ...setup.tidal_analysis import analysis
from .accumulator import Accumulator, make_fields

#: Times are numbers of steps here, seconds in output.nc; NEVER: none.
STEP, NEVER = "_step", -1
#: In place of the first step with water: the ground had water at the start.
AT_START = -2

#: The names of the fields of first steps.
REACHED, FLOODED = f"eta{ARRIVAL}{STEP}", f"{INUNDATION}{STEP}"

#: Samples of harmonic sums whose basis functions are inputs of a program.
SAMPLES = 256


class OfFields(Accumulator):
    """Base of the accumulators of fields, which have their names in restart files.

    `make` makes `update` from the names of the fields, `parts` and the further arguments of `make_fields`. `blank` has
    the initial number of fields of each type.
    """

    def __init__(self, simulation, names, make, parts: tuple, blank: dict[str, Any]):
        super().__init__(simulation)
        config, self._blank = simulation.config, blank
        self.update = make, tuple(names), *parts, config.physics, config.grid, config.drying.film, simulation.scheme
        self.reset()

    def reset(self) -> None:
        """Forget all states."""
        blank = self._blank
        self.kept = self.simulation.transport.make(
            lambda block: {name: np.full(block.shape, number) for name, number in blank.items()}
        )

    def resume(self, stored: dict) -> bool:
        """Take all values from a restart file; false if one is missing there."""
        there = self.kept.keys() <= stored.keys()
        if there:
            self.kept = {name: stored[name] for name in self.kept}
        return there

    def inputs(self):
        return self.simulation.grid, self.simulation.params if self.simulation.scheme.with_current else {}

    def stored(self) -> dict:
        return self.kept


def make_mean(names, *parts):
    """The `update` of Mean; its `parts` are further arguments of `make_fields`, `inputs` are Grid and Params.

    The bits must be the same on any layout. So only the weight is divided, as compilers may multiply by the reciprocal.
    Products pass through a maximum, which rounds them before the addition.
    """
    fields = make_fields(names, *parts)

    def update(kept, inputs, state, step):
        count = kept[MEAN_STEPS] + 1

        def with_one_more(mean, x):
            weight = jnp.ones((), x.dtype) / count.astype(x.dtype)
            return mean + jnp.maximum((x - mean) * weight, jnp.finfo(x.dtype).min)

        found = fields(state, *inputs, step).items()
        return {name + MEAN: with_one_more(kept[name + MEAN], x) for name, x in found} | {MEAN_STEPS: count}

    return update


class Mean(OfFields):
    """Running means of derived fields since the last record, in the precision of the run; {} before the first step."""

    def __init__(self, simulation, names):
        zero = np.dtype(simulation.config.run.dtype).type(0)
        super().__init__(simulation, names, make_mean, (), {name + MEAN: zero for name in names})

    def reset(self) -> None:
        super().reset()
        self.kept[MEAN_STEPS] = self.simulation.transport.put(np.int32(0))

    def begin(self, stored: dict) -> None:
        self.resume(stored)

    def stored(self) -> dict:
        return self.kept if int(self.kept[MEAN_STEPS]) else {}

    def record(self) -> dict[str, np.ndarray]:
        return self.simulation.get({name: self.kept[name] for name in self._blank}) if self.stored() else {}

    def next_record(self) -> None:
        self.reset()

    def values(self) -> dict[str, np.ndarray]:
        """The means on this process's block, by name."""
        return {name.removesuffix(MEAN): field for name, field in self.record().items()}


def make_extremes(names, arrival, inundation: bool, *parts):
    """The `update` of Extremes: arguments as for `make_mean`, the size of eta that counts as arrival, floods or not."""
    drying = parts[-2].drying
    needed = [*names, *["eta"] * (arrival is not None), *["wet"] * drying]
    fields = make_fields(tuple(dict.fromkeys(needed)), *parts)

    def update(kept, inputs, state, step):
        now, found = fields(state, *inputs, step), {}
        wet = now["wet"] > 0 if drying else True
        for name in names:
            most = name + MAXIMUM
            larger = wet & (now[name] > kept[most])
            found[most] = jnp.where(larger, now[name], kept[most])
            found[most + STEP] = jnp.where(larger, step, kept[most + STEP])
        if arrival is not None:
            first = wet & (kept[REACHED] == NEVER) & (jnp.abs(now["eta"]) >= arrival)
            found[REACHED] = jnp.where(first, step, kept[REACHED])
        if inundation:
            found[FLOODED] = jnp.where(wet & (kept[FLOODED] == NEVER), step, kept[FLOODED])
        return found

    return update


class Extremes(OfFields):
    """The largest values of fields since the start, their times, first times of a sea level and of floods: `output`.

    On ground that floods they count while it is wet.
    """

    def __init__(self, simulation):
        output, dtype = simulation.config.output, np.dtype(simulation.config.run.dtype)
        blank = {name + MAXIMUM: dtype.type(-np.inf) for name in output.maxima}
        blank |= {name + MAXIMUM + STEP: np.int32(NEVER) for name in output.maxima}
        blank |= {} if output.arrival is None else {REACHED: np.int32(NEVER)}
        blank |= {FLOODED: np.int32(NEVER)} if output.inundation else {}
        super().__init__(simulation, output.maxima, make_extremes, (output.arrival, output.inundation), blank)

    def begin(self, stored: dict) -> None:
        if not self.resume(stored):
            self.add(self.simulation.carry.state)
            if FLOODED in self.kept:
                first = self.kept[FLOODED]
                self.kept[FLOODED] = jnp.where(first == NEVER, first, AT_START).astype(first.dtype)

    def record(self) -> dict[str, np.ndarray]:
        """See `Accumulator`: times are in s, NaN for none."""
        config, found = self.simulation.config, self.simulation.get(self.kept)
        found |= {
            name: np.where(np.isneginf(most), np.nan, most) for name, most in found.items() if name.endswith(MAXIMUM)
        }
        for name in maxima_of(config.output):
            if name not in found:
                steps = found[name.removesuffix("_time") + STEP]
                found[name] = np.where(steps < 0, np.nan, steps * self.simulation.dt).astype(config.run.dtype)
        return {name: found[name] for name in maxima_of(config.output)}


def make_sums(names, count: int, samples: range, *parts):
    """The `update` of Harmonics: arguments as for `make_mean`, the number of basis functions, steps to add.

    `inputs` are Grid, Params, the values of the basis functions at some samples, and the number of the first sample.
    """
    fields = make_fields(names, *parts)

    def update(kept, inputs, state, step):
        *static, table, first = inputs
        number, rest = jnp.divmod(jnp.asarray(step, jnp.int32) - samples.start, samples.step)
        values = jax.lax.dynamic_slice_in_dim(table, (number - first) * count, count)

        def with_one_more(kept):
            found = {}
            for name, x in fields(state, *static, step).items():
                sums = (f"{name}{HARMONIC}{k}" for k in range(count))
                found |= {key: kept[key] + values[k] * x for k, key in enumerate(sums)}
            return found

        due = (rest == 0) & (number >= 0) & (number < len(samples))
        return jax.lax.cond(due, with_one_more, lambda kept: kept, kept)

    return update


class Harmonics(OfFields):
    """Sums over the run of fields times basis functions, every few steps, for a harmonic analysis."""

    def __init__(self, simulation):
        self.analysis = found = analysis(simulation.config)
        self.steps, self.count = found.steps, 2 * len(found.constituents) + 1
        zero = np.dtype(simulation.config.run.dtype).type(0)
        blank = {f"{name}{HARMONIC}{k}": zero for name in found.fields for k in range(self.count)}
        super().__init__(simulation, found.fields, make_sums, (self.count, self.steps), blank)

    def begin(self, stored: dict) -> None:
        """UsageError: the restart file lacks the sums of earlier steps."""
        if not self.resume(stored) and (step := self.simulation.step) >= self.steps.start:
            raise UsageError(
                f"output.harmonics: the restart file lacks the sums of the steps up to {step}; "
                "give a later output.harmonics_from"
            )

    def next_sample(self) -> int:
        """The number of the first sample after the present step."""
        return max(0, (self.simulation.step - self.steps.start) // self.steps.step + 1)

    def inputs(self):
        simulation, first = self.simulation, self.next_sample()
        samples = self.steps.start + self.steps.step * np.arange(first, first + SAMPLES)
        values = basis(self.analysis.constituents, simulation.dt, samples).T.ravel()
        table = simulation.transport.make(lambda block: values.astype(simulation.config.run.dtype))
        return *super().inputs(), table, jnp.asarray(first, jnp.int32)

    def until(self, last: int) -> int:
        return min(last, self.steps.start + self.steps.step * (self.next_sample() + SAMPLES) - 1)

    def constants(self) -> dict[str, tuple]:
        """{field: its mean, and (amplitude, phase lag in degrees) of each constituent} on this process's block."""
        kept = self.simulation.get(self.kept)
        matrix = normal_matrix(self.analysis.constituents, self.simulation.dt, self.steps)
        return {
            name: constants(matrix, np.stack([kept[f"{name}{HARMONIC}{k}"] for k in range(self.count)]))
            for name in self.analysis.fields
        }
