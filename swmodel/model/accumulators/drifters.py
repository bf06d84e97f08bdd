"""Drifters: floating particles that the current carries, moved after each step by a compiled program."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np

from ...parallel.transport.halo import add_halo
from ...parallel.transport.programs import cached_jit
from ...setup.positions.drifters import (
    COLUMN,
    EAST,
    FIELD_NAMES,
    NORTH,
    ROW,
    drifter_positions,
    initial_drifters,
    offset_limits,
)
from .accumulator import Accumulator, make_padded_state

if TYPE_CHECKING:
    from ...ocean.scheme import Scheme
    from ...parallel.transport.transport import Transport

#: Width in cells of the halo that a step reads, because its stages are evaluated less than a cell from the drifter.
HALO_WIDTH = 2

#: Largest displacement in a stage or a step, cells; with a stable time step no drifter reaches it.
MAX_DISPLACEMENT_CELLS = 0.999

#: Times of the stages of the fourth-order Runge-Kutta method, as fractions of a step; also the factors with which a
#: stage multiplies the displacement of the stage before.
STAGE_TIMES = np.array([0.0, 0.5, 0.5, 1.0])

#: The names of the displacements by the current in a step, cells, on the faces of a block with a halo of HALO_WIDTH.
EAST_DISPLACEMENT, NORTH_DISPLACEMENT = "east_displacement", "north_displacement"


def make_displacements(scheme: Scheme | None, transport: Transport):
    """The function (inputs, State, step) -> {EAST_DISPLACEMENT: u dt/dx, NORTH_DISPLACEMENT: v dt/dy} of one block.

    Displacements, in cells per step, are on faces, and NaN on closed ones. `scheme` is that of the run if it
    `has_diagnosed_velocity`, else None.
    """
    padded_state, shape = make_padded_state(scheme, transport) if scheme else None, transport.shape

    def displacements(inputs, state, step):
        u, v = state.u, state.v
        if padded_state:
            with_velocity, _ = padded_state(state, inputs["grid"], inputs["params"], step)
            u, v = (jnp.broadcast_to(each.block_values(shape), shape) for each in (with_velocity.u, with_velocity.v))
        u, v = add_halo((u, v), HALO_WIDTH, transport)
        east = jnp.where(inputs["open_u"], u * inputs["dt_over_dx"], jnp.nan)
        north = jnp.where(inputs["open_v"], v * inputs["dt_over_dy"], jnp.nan)
        # The barrier rounds the products, so that all programs read the same numbers.
        return jax.lax.optimization_barrier({EAST_DISPLACEMENT: east, NORTH_DISPLACEMENT: north})

    return displacements


def make_drift(ny: int, nx: int, scheme: Scheme | None, transport: Transport):
    """The update function of drifters; their summary has FIELD_NAMES and the displacements before the step.

    The fourth-order Runge-Kutta method, in units of cells and steps; the displacement D is linear in time over a step:

        k1 = D(0, p),  k2 = D(1/2, p + k1/2),  k3 = D(1/2, p + k2/2),  k4 = D(1, p + k3)
        p' = p + (k1 + 2 k2 + 2 k3 + k4)/6

    The block that contains a drifter computes its new position p'; a sum over blocks, to which the others add zero,
    gives p' to all of them.
    """
    displacements = make_displacements(scheme, transport)

    def update(summary, inputs, state, step):
        new_displacements = displacements(inputs, state, step)
        n_rows, n_columns = transport.extent() or transport.shape
        first_row, first_column = transport.offset()
        row, column = summary[ROW] - first_row, summary[COLUMN] - first_column
        in_block = (row >= 0) & (row < n_rows) & (column >= 0) & (column < n_columns)
        cell = jnp.where(in_block, row, 0) + HALO_WIDTH, jnp.where(in_block, column, 0) + HALO_WIDTH
        position, before = (summary[NORTH], summary[EAST]), (summary[NORTH_DISPLACEMENT], summary[EAST_DISPLACEMENT])
        after = new_displacements[NORTH_DISPLACEMENT], new_displacements[EAST_DISPLACEMENT]

        def moved_by(displacement):
            return [
                a + jnp.clip(d, -MAX_DISPLACEMENT_CELLS, MAX_DISPLACEMENT_CELLS)
                for a, d in zip(position, displacement, strict=True)
            ]

        def stage(displacement, time):
            """The displacement at `time`, a fraction of the step, at the place to which `time` * displacement leads."""
            reached = moved_by([time * k for k in displacement])
            pairs = zip(*(interpolate_displacement(fields, cell, reached) for fields in (before, after)), strict=True)
            new_displacement = jnp.stack([(1 - time) * b + time * a for b, a in pairs])
            return new_displacement, new_displacement

        # With a loop XLA compiles only one stage, and does not compute a stage again wherever the next one reads it.
        stage_times = STAGE_TIMES.astype(position[0].dtype)
        _, (k1, k2, k3, k4) = jax.lax.scan(stage, jnp.zeros_like(jnp.stack(position)), stage_times)
        displacement = (k1 + 2 * (k2 + k3) + k4) / 6
        moved = stop_at_coasts(moved_by(displacement), after, cell)
        # NaN marks a drifter that has left the water.
        new_cell = tuple(c + jnp.floor(m + 0.5).astype(jnp.int32) for c, m in zip(cell, moved, strict=True))
        is_wet = inputs["wet"][new_cell]
        moved = jnp.where(in_block, jnp.where(is_wet, jnp.stack(moved), jnp.nan), 0)
        north, east = transport.sum(jax.lax.optimization_barrier(moved))
        is_lost = jnp.isnan(north + east) | (summary[ROW] < 0)
        new_summary = {}
        for index_name, offset_name, length, coordinate in ((ROW, NORTH, ny, north), (COLUMN, EAST, nx, east)):
            cells = jnp.floor(coordinate + 0.5)
            new_summary[offset_name] = jnp.where(is_lost | (coordinate == cells), 0, coordinate - cells)
            new_summary[index_name] = jnp.where(is_lost, -1, (summary[index_name] + cells.astype(jnp.int32)) % length)
        return new_summary | new_displacements

    return update


def interpolate_displacement(fields, cell, position):
    """Both components of the displacement at `position` = (north, east) relative to the centres of `cell`, in cells.

    Along its own direction a component is linear between the two faces of a cell. Across it, the value on an open face
    is linear towards the adjacent face if that is open too, else constant; on a closed face it is zero. So nothing
    flows through coasts and walls, and the current along a straight coast is that of the nearest faces.
    """
    shifts = [jnp.floor(coordinate + 0.5) for coordinate in position]
    indices = [c + shift.astype(jnp.int32) for c, shift in zip(cell, shifts, strict=True)]
    offsets = [a - shift for a, shift in zip(position, shifts, strict=True)]
    components = []
    for axis, field in enumerate(fields):
        neighbours = [a + jnp.where(d < 0, -1, 1) for a, d in zip(indices, offsets, strict=True)]

        def face_value(cells_back: int, axis=axis, field=field, neighbours=neighbours):
            near = tuple(a - cells_back * (k == axis) for k, a in enumerate(indices))
            pairs = enumerate(zip(indices, neighbours, strict=True))
            far = tuple(a - cells_back if k == axis else b for k, (a, b) in pairs)
            own = field[near]
            slope = field[far] - own
            inclined = own + jnp.abs(offsets[1 - axis]) * jnp.where(jnp.isnan(slope), 0, slope)
            return jnp.where(jnp.isnan(own), 0, inclined)

        components.append(face_value(1) * (0.5 - offsets[axis]) + face_value(0) * (0.5 + offsets[axis]))
    return components


def stop_at_coasts(position, fields, cell):
    """Move positions (north, east), up to 1.5 cells from the centres of `cell`, back to the first closed face passed.

    A drifter passes first to the next column, then to the next row. NaN in `fields` marks closed faces.
    """
    north, east = position
    min_offset, max_offset = offset_limits(east.dtype)
    (row, column), (north_displacement, east_displacement) = cell, fields
    east = jnp.where(jnp.isnan(east_displacement[row, column - 1]), jnp.maximum(east, min_offset), east)
    east = jnp.where(jnp.isnan(east_displacement[row, column]), jnp.minimum(east, max_offset), east)
    column = column + jnp.floor(east + 0.5).astype(jnp.int32)
    north = jnp.where(jnp.isnan(north_displacement[row - 1, column]), jnp.maximum(north, min_offset), north)
    north = jnp.where(jnp.isnan(north_displacement[row, column]), jnp.minimum(north, max_offset), north)
    return north, east


class DrifterAccumulator(Accumulator):
    """The drifters of a run: their cells and offsets from the centres, the same on all blocks; see `make_drift`."""

    def __init__(self, simulation):
        super().__init__(simulation)
        setup, transport = simulation.setup, simulation.transport
        self._scheme = setup.scheme if setup.scheme.has_diagnosed_velocity else None
        self.update = make_drift, *setup.shape, self._scheme
        self.summary: dict = {}

        def static(block):
            grid, dt = setup.grid(block, HALO_WIDTH), setup.dtype.type(setup.dt)
            return {
                "open_u": grid.open_u + grid.open_boundary_u != 0,
                "open_v": grid.open_v + grid.open_boundary_v != 0,
                "wet": grid.wet != 0,
                "dt_over_dx": grid.rdx.u * dt,
                "dt_over_dy": grid.rdy.v * dt,
            }

        self._static = transport.make_arrays(static, HALO_WIDTH)

    def inputs(self) -> dict:
        """See `Accumulator`. Computes the displacements anew, because a user may have set the state."""
        simulation = self.simulation
        program_inputs = self._static
        if self._scheme:
            program_inputs = program_inputs | {"grid": simulation.grid, "params": simulation.params}
        program = cached_jit(make_displacements, self._scheme, simulation.transport)
        self.summary |= program(program_inputs, simulation.carry.state, jnp.asarray(simulation.step, jnp.int32))
        return program_inputs

    def start(self, restart_fields: dict) -> None:
        if FIELD_NAMES[0] in restart_fields:
            self.summary = {name: restart_fields[name] for name in FIELD_NAMES}
        else:
            positions = initial_drifters(self.simulation.config)
            self.summary = self.simulation.transport.make_arrays(lambda block: positions)

    def restart_fields(self) -> dict[str, np.ndarray]:
        """See `Accumulator`; NumPy arrays [n], the same on all processes."""
        pieces = self.simulation.transport.get_blocks({name: self.summary[name] for name in FIELD_NAMES}, None)
        return pieces[0]

    def values(self) -> dict[str, np.ndarray]:
        """The present positions, by the names of their coordinates: see `drifter_positions`."""
        return drifter_positions(self.simulation.config.grid, self.restart_fields())
