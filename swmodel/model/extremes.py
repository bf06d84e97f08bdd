"""Largest values of fields over a run, their times, and the first time of a sea level, updated after every step."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from ..ocean.derived import speed
from ..ocean.grid import as_patches
from ..ocean.patch import Patch
from ..ocean.table import ARRIVAL, MAXIMUM, maxima_of
from ..parallel.transport.programs import jitted
from .padded import make_padded, params_of
from .recorder import MOST_TIMES

#: Times are kept here as numbers of steps (in seconds in the files); NEVER: there was none.
STEP, NEVER = "_step", -1

#: The name of the field of first steps.
REACHED = f"eta{ARRIVAL}{STEP}"


def make_fields(names, scheme, transport):
    """The function (State, Grid, Params, step) -> dict of the fields called `names`, [y, x] of a block."""
    padded, shape = make_padded(scheme, transport), transport.shape

    def fields(state, grid, params, step):
        found = {"eta": elevation(state, grid, scheme.margin, shape)}
        if "speed" in names:
            found["speed"] = speed(*padded(state, grid, params, step), None).on(shape)
        return {name: found[name] for name in names}

    return fields


def elevation(state, grid, margin: int, shape):
    """eta of a block, m."""
    return (Patch(state.h, (0, 0)) - as_patches(grid.depth, margin)).on(shape)


def make_start(names, arrival, scheme, transport):
    """The function (State, given, step) -> the first `seen` of `make_look`.

    Args:
        names: those of the fields whose largest values are kept: eta, speed.
        arrival: size of eta, m, whose first step is kept; None: no step is kept.
        scheme: that of the run; `given` are its Grid, and the Params that `padded.params_of` names.
    """
    fields, reached = make_fields(names, scheme, transport), make_reached(arrival, scheme, transport)

    def start(state, given, step):
        values, now = fields(state, *given, step), jnp.zeros((), jnp.int32) + step
        found = {f"{name}{MAXIMUM}": field for name, field in values.items()}
        found |= {f"{name}{MAXIMUM}{STEP}": jnp.full(field.shape, now) for name, field in values.items()}
        return found | reached({REACHED: jnp.full(state.h.shape, NEVER, jnp.int32)}, given, state, now)

    return start


def make_look(names, arrival, scheme, transport):
    """The function look(seen, given, State, step) -> `seen` after one more state; arguments as of `make_start`."""
    fields, reached = make_fields(names, scheme, transport), make_reached(arrival, scheme, transport)

    def look(seen, given, state, step):
        found = {}
        for name, field in fields(state, *given, step).items():
            most = f"{name}{MAXIMUM}"
            larger = field > seen[most]
            found[most] = jnp.where(larger, field, seen[most])
            found[f"{most}{STEP}"] = jnp.where(larger, step, seen[f"{most}{STEP}"])
        return found | reached(seen, given, state, step)

    return look


def make_reached(arrival, scheme, transport):
    """The function (seen, given, State, step) -> {REACHED: the first step at which eta had this size}; None: {}."""

    def reached(seen, given, state, step):
        if arrival is None:
            return {}
        eta = elevation(state, given[0], scheme.margin, transport.shape)
        first = (seen[REACHED] == NEVER) & (jnp.abs(eta) >= arrival)
        return {REACHED: jnp.where(first, step, seen[REACHED])}

    return reached


class Extremes:
    """The largest values so far of a simulation's run; see `watching.Watching`.

    Attributes:
        seen: fields on the devices, by their names in a restart file.
    """

    def __init__(self, simulation):
        config, self._simulation, self._transport = simulation.config, simulation, simulation.transport
        self.names = maxima_of(config.output)
        parts = tuple(config.output.maxima), config.output.arrival, simulation.scheme
        self.look = make_look, *parts
        self._dt, restart = simulation.dt, simulation.restart
        if restart and restart.step == simulation.step and restart.extremes:
            self.seen = restart.extremes
        else:
            start = jitted(make_start, *parts, simulation.transport)
            self.seen = start(simulation.carry.state, self.given(), np.int32(simulation.step))

    def given(self):
        """See `watching.Watcher`."""
        return self._simulation.grid, params_of(self._simulation)

    def most(self, step: int) -> int:
        """See `watching.Watcher`."""
        return MOST_TIMES

    def values(self) -> dict[str, np.ndarray]:
        """The fields of this process as in the files: times in s, NaN where there was none."""
        seen = self._transport.get(self.seen)
        kind = next((field.dtype for field in seen.values() if field.dtype.kind == "f"), np.dtype(np.float64))

        def of(name: str) -> np.ndarray:
            if name in seen:
                return seen[name]
            steps = seen[name.removesuffix("_time") + STEP]
            return np.where(steps == NEVER, np.nan, steps * self._dt).astype(kind)

        return {name: of(name) for name in self.names}
