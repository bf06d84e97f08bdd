"""Largest values of fields over a run, their times, and the first time of a sea level, updated after every step."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from ..ocean.grid import as_patches
from ..ocean.operators import mx_c, my_c
from ..ocean.patch import Patch
from ..ocean.table import ARRIVAL, MAXIMUM, maxima_of
from ..parallel.transport.halo import make_pad
from ..parallel.transport.programs import jitted
from .recorder import MOST_TIMES

#: What the files have as a time is kept as the number of a step; NEVER where there was none.
STEP, NEVER = "_step", -1

#: The name of the first step.
REACHED = f"eta{ARRIVAL}{STEP}"


def make_fields(names, width: int, transport):
    """The function (State, Grid) -> dict of the fields called `names`, [y, x] of a block.

    The largest values are to be the same on any layout. So no product is added to another: compilers contract one of
    them with the sum, and not always the same one.
    """
    with_halo, shape = make_pad(width, transport), transport.shape

    def fields(state, grid):
        padded = with_halo(state) if "speed" in names else state
        outside = width if "speed" in names else 0
        patches = state._make(Patch(field, (-outside, -outside)) for field in padded)
        around = as_patches(grid, width)
        values = {"eta": patches.h - around.depth}
        if "speed" in names:
            values["speed"] = speed(patches, around)
        return {name: values[name].on(shape) for name in names}

    return fields


def speed(state, grid) -> Patch:
    """`derived.speed`; squares times areas are rounded before they are added, as they pass through a maximum."""
    squares = [
        (area * (is_open * velocity) * (is_open * velocity)).map(lambda product: jnp.maximum(product, 0))
        for area, is_open, velocity in (
            (grid.area.u, grid.open_u, state.u),
            (grid.area.v, grid.open_v, state.v),
        )
    ]
    return (grid.rarea.centre * (mx_c(squares[0]) + my_c(squares[1]))).map(jnp.sqrt)


def make_start(names, arrival, width: int, transport):
    """The function (State, Grid, step) -> what `make_look` goes on with from a state.

    Args:
        names: of the fields whose largest values are kept: eta, speed.
        arrival: size of eta, m, whose first step is kept; None: of none.
        width: cells of a halo; the Grid has one more around the block.
    """
    fields, reached = make_fields(names, width, transport), make_reached(arrival, width, transport)

    def start(state, grid, step):
        values, now = fields(state, grid), jnp.zeros((), jnp.int32) + step
        found = {f"{name}{MAXIMUM}": field for name, field in values.items()}
        found |= {f"{name}{MAXIMUM}{STEP}": jnp.full(field.shape, now) for name, field in values.items()}
        return found | reached({REACHED: jnp.full(state.h.shape, NEVER, jnp.int32)}, grid, state, now)

    return start


def make_look(names, arrival, width: int, transport):
    """The function look(seen, Grid, State, step) -> seen with one more state taken into it; as `make_start`."""
    fields, reached = make_fields(names, width, transport), make_reached(arrival, width, transport)

    def look(seen, grid, state, step):
        found = {}
        for name, field in fields(state, grid).items():
            most = f"{name}{MAXIMUM}"
            larger = field > seen[most]
            found[most] = jnp.where(larger, field, seen[most])
            found[f"{most}{STEP}"] = jnp.where(larger, step, seen[f"{most}{STEP}"])
        return found | reached(seen, grid, state, step)

    return look


def make_reached(arrival, width: int, transport):
    """The function (seen, Grid, State, step) -> {REACHED: the first step at which eta had this size}, {} for None."""
    fields = make_fields(("eta",), width, transport)

    def reached(seen, grid, state, step):
        if arrival is None:
            return {}
        first = (seen[REACHED] == NEVER) & (jnp.abs(fields(state, grid)["eta"]) >= arrival)
        return {REACHED: jnp.where(first, step, seen[REACHED])}

    return reached


class Extremes:
    """The largest values so far of a simulation's run; see `watching.Watching`.

    Attributes:
        seen: fields on the devices, by their names in a restart file.
    """

    def __init__(self, simulation):
        config, self._grid, self._transport = simulation.config, simulation.grid, simulation.transport
        self.names = maxima_of(config.output)
        names, width = tuple(config.output.maxima), simulation.scheme.width
        parts = names, config.output.arrival, width
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
