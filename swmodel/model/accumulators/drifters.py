"""Drifters: floats that the surface current carries, moved after each step within the compiled loop."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from ...parallel.transport.halo import pad
from ...parallel.transport.programs import jitted
from ...setup.positions.drifters import COLUMN, EAST, NAMES, NORTH, ROW, drifters, edges_of, places_of
from .accumulator import Accumulator, make_padded

#: Cells around a block in which the stages of a step read: a stage lies within a cell of the drifter's own.
REACH = 2

#: Longest displacement in a stage or a step, cells, which a stable time step keeps to.
LONGEST = 0.999

#: The parts of a step, and of the displacement before, of the stages of Runge-Kutta's method of order 4.
STAGES = np.array([0.0, 0.5, 0.5, 1.0])

#: The names of the displacements of a step by the current, cells, at the faces of a block and REACH around it.
ACROSS, UP = "across", "up"


def make_displacements(scheme, transport):
    """The function (inputs, State, step) -> {ACROSS, UP}: u dt/dx and v dt/dy at the faces of one block, NaN if closed.

    `scheme`: the Scheme of a run with open sides; else None.
    """
    padded, shape = scheme and make_padded(scheme, transport), transport.shape

    def displacements(inputs, state, step):
        u, v = state.u, state.v
        if padded:
            found, _ = padded(state, inputs["grid"], inputs["params"], step)
            u, v = (jnp.broadcast_to(each.on(shape), shape) for each in (found.u, found.v))
        u, v = pad((u, v), REACH, transport)
        across = jnp.where(inputs["open_u"], u * inputs["per_u"], jnp.nan)
        up = jnp.where(inputs["open_v"], v * inputs["per_v"], jnp.nan)
        # The barrier rounds the products, so that each reader has the same numbers.
        return jax.lax.optimization_barrier({ACROSS: across, UP: up})

    return displacements


def make_drift(ny: int, nx: int, scheme, transport):
    """The `update` of Drifters, kept = the NAMES and the displacements before the step: see `make_displacements`.

    Runge-Kutta's method of order 4 with a displacement D linear in time over the step, in units of cells and steps:

        k1 = D(0, p),  k2 = D(1/2, p + k1/2),  k3 = D(1/2, p + k2/2),  k4 = D(1, p + k3)
        p' = p + (k1 + 2 k2 + 2 k3 + k4)/6

    The block with the drifter computes it. All blocks add up the results; every other block adds zero.
    """
    displacements = make_displacements(scheme, transport)

    def update(kept, inputs, state, step):
        now = displacements(inputs, state, step)
        rows, columns = transport.extent() or transport.shape
        first_row, first_column = transport.offset()
        row, column = kept[ROW] - first_row, kept[COLUMN] - first_column
        ours = (row >= 0) & (row < rows) & (column >= 0) & (column < columns)
        cell = jnp.where(ours, row, 0) + REACH, jnp.where(ours, column, 0) + REACH
        place, before = (kept[NORTH], kept[EAST]), (kept[UP], kept[ACROSS])
        after = now[UP], now[ACROSS]

        def along(way):
            return [a + jnp.clip(d, -LONGEST, LONGEST) for a, d in zip(place, way, strict=True)]

        def stage(way, weight):
            """The displacement where `weight` times the last one leads, at this part of the step."""
            reached = along([weight * k for k in way])
            pairs = zip(current(before, cell, reached), current(after, cell, reached), strict=True)
            found = jnp.stack([(1 - weight) * b + weight * a for b, a in pairs])
            return found, found

        # A loop over stages: XLA compiles one of them, and computes none again in every reader of the next one.
        _, (k1, k2, k3, k4) = jax.lax.scan(stage, jnp.zeros_like(jnp.stack(place)), STAGES.astype(place[0].dtype))
        way = (k1 + 2 * (k2 + k3) + k4) / 6
        moved = within_coasts(along(way), after, cell)
        # NaN: it has left the water.
        stays = inputs["wet"][tuple(c + jnp.floor(m + 0.5).astype(jnp.int32) for c, m in zip(cell, moved, strict=True))]
        moved = jnp.where(ours, jnp.where(stays, jnp.stack(moved), jnp.nan), 0)
        north, east = transport.sum(jax.lax.optimization_barrier(moved))
        gone = jnp.isnan(north + east) | (kept[ROW] < 0)
        found = {}
        for name, away, length, moved in ((ROW, NORTH, ny, north), (COLUMN, EAST, nx, east)):
            cells = jnp.floor(moved + 0.5)
            found[away] = jnp.where(gone | (moved == cells), 0, moved - cells)
            found[name] = jnp.where(gone, -1, (kept[name] + cells.astype(jnp.int32)) % length)
        return found | now

    return update


def current(fields, cell, place):
    """Both components at `place` = (north, east) of the centres of cells, in cells, bilinear between their own faces.

    Along its own direction a component is linear between both faces of a cell. A closed face of the cell has zero, as
    far as the cell reaches. An open one is linear towards the next face beside it, if that is open. So nothing flows
    through coasts and walls, and the current along a straight coast is that of the nearest faces.
    """
    steps = [jnp.floor(away + 0.5) for away in place]
    at = [c + step.astype(jnp.int32) for c, step in zip(cell, steps, strict=True)]
    away = [a - step for a, step in zip(place, steps, strict=True)]
    found = []
    for axis, field in enumerate(fields):
        beside = [a + jnp.where(d < 0, -1, 1) for a, d in zip(at, away, strict=True)]

        def face(back: int, axis=axis, field=field, beside=beside):
            near = tuple(a - back * (k == axis) for k, a in enumerate(at))
            far = tuple(a - back if k == axis else b for k, (a, b) in enumerate(zip(at, beside, strict=True)))
            own = field[near]
            slope = field[far] - own
            inclined = own + jnp.abs(away[1 - axis]) * jnp.where(jnp.isnan(slope), 0, slope)
            return jnp.where(jnp.isnan(own), 0, inclined)

        found.append(face(1) * (0.5 - away[axis]) + face(0) * (0.5 + away[axis]))
    return found


def within_coasts(place, fields, cell):
    """The place (north, east) up to 1.5 cells from the centres of cells, moved back to the last closed face on the way.

    The way goes to the next column first, then to the next row: through open faces, which have water on both sides.
    """
    north, east = place
    least, most = edges_of(east.dtype)
    (row, column), (up, across) = cell, fields
    east = jnp.where(jnp.isnan(across[row, column - 1]), jnp.maximum(east, least), east)
    east = jnp.where(jnp.isnan(across[row, column]), jnp.minimum(east, most), east)
    column = column + jnp.floor(east + 0.5).astype(jnp.int32)
    north = jnp.where(jnp.isnan(up[row - 1, column]), jnp.maximum(north, least), north)
    north = jnp.where(jnp.isnan(up[row, column]), jnp.minimum(north, most), north)
    return north, east


class Drifters(Accumulator):
    """The drifters of a run: their cells and distances from the centres, the same on all blocks; see `make_drift`."""

    def __init__(self, simulation):
        super().__init__(simulation)
        setup, transport = simulation.setup, simulation.transport
        self._scheme = setup.scheme if setup.scheme.with_current else None
        self.update = make_drift, *setup.shape, self._scheme
        self.kept: dict = {}

        def static(block):
            grid = setup.grid(block, REACH)
            masks = {"open_u": grid.open_u + grid.side_u, "open_v": grid.open_v + grid.side_v, "wet": grid.wet}
            per = {"per_u": grid.rdx.u * setup.dtype.type(setup.dt), "per_v": grid.rdy.v * setup.dtype.type(setup.dt)}
            return {name: mask != 0 for name, mask in masks.items()} | per

        self._static = transport.make(static, REACH)

    def inputs(self) -> dict:
        """See `Accumulator`; takes the current before the next step from the state, which a user may have set."""
        simulation = self.simulation
        given = self._static
        given = given | ({"grid": simulation.grid, "params": simulation.params} if self._scheme else {})
        program = jitted(make_displacements, self._scheme, simulation.transport)
        self.kept |= program(given, simulation.carry.state, jnp.asarray(simulation.step, jnp.int32))
        return given

    def begin(self, stored: dict) -> None:
        transport = self.simulation.transport
        places = {name: stored[name] for name in NAMES} if NAMES[0] in stored else drifters(self.simulation.config)
        self.kept = places if NAMES[0] in stored else transport.make(lambda block: places)

    def stored(self) -> dict[str, np.ndarray]:
        """See `Accumulator`; NumPy arrays [n], which all processes have."""
        pieces = self.simulation.transport.pieces({name: self.kept[name] for name in NAMES}, None)
        return pieces[0]

    def values(self) -> dict[str, np.ndarray]:
        """The present places, by the names of their coordinates: see `places_of`."""
        return places_of(self.simulation.config.grid, self.stored())
