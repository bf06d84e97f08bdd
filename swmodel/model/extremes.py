"""Largest values of fields over a run, their times, and the first time of a sea level, updated after every step."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from ..ocean.table import MAXIMUM, maxima_of
from ..parallel.transport.programs import jitted
from .means import make_fields
from .recorder import MOST_TIMES

#: What the files have as a time is kept as the number of a step; NEVER where there was none.
STEP, NEVER = "_step", -1


def make_start(names, arrival, *parts):
    """The function (State, Grid, step) -> what `make_look` goes on with from a state.

    Args:
        names: of the fields whose largest values are kept.
        arrival: size of eta, m, whose first step is kept; None: of none.
        parts: of `means.make_fields`, behind the names.
    """
    fields = make_fields(names, *parts)

    def start(state, grid, step):
        values = fields(state, grid)
        now = jnp.zeros((), jnp.int32) + step
        found = {f"{name}{MAXIMUM}": field for name, field in values.items()}
        found |= {f"{name}{MAXIMUM}{STEP}": jnp.full(field.shape, now) for name, field in values.items()}
        if arrival is not None:
            never = jnp.full(state.h.shape, NEVER, jnp.int32)
            found[f"eta_arrival{STEP}"] = passed(never, state, grid, arrival, now, parts[2])
        return found

    return start


def make_look(names, arrival, *parts):
    """The function look(seen, Grid, State, step) -> seen with one more state taken into it; as `make_start`."""
    fields = make_fields(names, *parts)

    def look(seen, grid, state, step):
        found = {}
        for name, field in fields(state, grid).items():
            most = f"{name}{MAXIMUM}"
            larger = field > seen[most]
            found[most] = jnp.where(larger, field, seen[most])
            found[f"{most}{STEP}"] = jnp.where(larger, step, seen[f"{most}{STEP}"])
        if arrival is not None:
            name = f"eta_arrival{STEP}"
            found[name] = passed(seen[name], state, grid, arrival, step, parts[2])
        return found

    return look


def passed(before, state, grid, arrival: float, step, width: int):
    """The first step at which eta had a size, where it has not been before; `width` is that of a halo."""
    ny, nx = state.h.shape
    depth = grid.depth
    if depth.shape != (1, 1):
        depth = depth[width + 1 : width + 1 + ny, width + 1 : width + 1 + nx]
    return jnp.where((before == NEVER) & (jnp.abs(state.h - depth) >= arrival), step, before)


class Extremes:
    """The largest values so far of a simulation's run; see `watching.Watching`.

    Attributes:
        seen: fields on the devices, by their names in a restart file.
    """

    def __init__(self, simulation):
        config, self._grid, self._transport = simulation.config, simulation.grid, simulation.transport
        self.names = maxima_of(config.output)
        names, width = tuple(config.output.maxima), simulation.scheme.width
        parts = names, config.output.arrival, config.physics, config.grid, width
        self.look = make_look, *parts
        self._dt, restart = simulation.dt, simulation.restart
        if restart and restart.step == simulation.step and restart.extremes:
            self.seen = restart.extremes
        else:
            start = jitted(make_start, *parts, simulation.transport)
            self.seen = start(simulation.carry.state, self._grid, np.int32(simulation.step))

    def given(self, step: int):
        """See `watching.Watcher`."""
        return self._grid

    def most(self, step: int) -> int:
        """See `watching.Watcher`."""
        return MOST_TIMES

    def values(self) -> dict[str, np.ndarray]:
        """The fields of this process as the files have them, times in s; NaN where there was none."""
        seen = self._transport.get(self.seen)
        kind = next((field.dtype for field in seen.values() if field.dtype.kind == "f"), np.dtype(np.float64))

        def of(name: str) -> np.ndarray:
            if name in seen:
                return seen[name]
            steps = seen[name.removesuffix("_time") + STEP]
            return np.where(steps == NEVER, np.nan, steps * self._dt).astype(kind)

        return {name: of(name) for name in self.names}
