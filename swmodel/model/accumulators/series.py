"""Time series at grid points: values every few steps, kept on the devices until the host writes them."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np

from ...errors import shorten
from ...ocean.evaluation import flow_at_step, with_boundary_velocity
from ...ocean.grid import as_patches
from ...ocean.patch import Patch
from ...parallel.transport.halo import add_halo
from .accumulator import Accumulator

if TYPE_CHECKING:
    from ...ocean.scheme import Scheme
    from ...parallel.transport.transport import Transport

log = logging.getLogger(__name__)

#: Largest number of bytes, and of times, kept on the devices; smaller numbers make transfers to the host more frequent.
MAX_BYTES, MAX_TIMES = 4 << 20, 4096


def make_series(every: int, scheme: Scheme | None, transport: Transport):
    """The update function of values at points.

    Its summary is (values [times * points], steps [times]). Row 0 belongs to the first multiple of `every` after
    inputs["host_step"]. A step between two multiples writes into the row of the next one, which later steps overwrite;
    so a row finally has the values of its own step.

    Args:
        every: steps between rows.
        scheme: the Scheme of the run if some points are faces of open boundaries, or if faces may close; else None.
    """

    def update(summary, inputs, state, step):
        if scheme:
            # XLA compiles a branch separately, so that its bits do not depend on the code around it.
            with_current_of_step = partial(fields_with_current, scheme, transport.shape, inputs, type(state), step)
            state = jax.lax.cond(
                step >= 0,
                with_current_of_step,
                lambda _: list(state),
                list(add_halo(state, scheme.halo_width, transport)),
            )
        fields = jnp.stack(state)  # not written to memory: XLA only reads the points
        values = fields[inputs["field"], inputs["row"], inputs["column"]]
        values = jnp.where(inputs["in_block"], values, 0)
        (rows, steps), step = summary, jnp.asarray(step, jnp.int32)
        row = -(-step // every) - inputs["host_step"] // every - 1
        rows = jax.lax.dynamic_update_slice_in_dim(rows, values, row * len(values), 0)
        return rows, jax.lax.dynamic_update_slice_in_dim(steps, step[None], row, 0)

    return update


def fields_with_current(scheme: Scheme, shape, inputs, state_class, step, fields) -> list:
    """The fields [ny, nx] of a State from `fields` with a halo; u and v are those of `with_boundary_velocity`."""
    state = state_class._make(Patch(field, (-scheme.halo_width, -scheme.halo_width)) for field in fields)
    grid, params = (as_patches(inputs[name], scheme.static_halo) for name in ("grid", "params"))
    with_velocity, _ = with_boundary_velocity(flow_at_step(state, grid, params, scheme, step))
    return [jnp.broadcast_to(patch.block_values(shape), shape) for patch in with_velocity]


class SeriesAccumulator(Accumulator):
    """Values of a run's state at points, every `every` steps and at the last step, which `collect` writes into a file.

    Args:
        positions: `setup.positions.gauges.Gauges` or `cross_sections.CrossSections`, which convert the values.
        every: steps between values.
        file: an open file of `files.output`.

    Attributes:
        summary: the values that are not yet written, and the step of each row, on the devices.
        host_step: the step up to which the host has the values; rows count from it.
        is_always_dry: whether each position has been dry so far, and thus has had no sea level.
    """

    def __init__(self, simulation, positions, every: int, file):
        super().__init__(simulation)
        self.positions, self.every, self.file = positions, every, file
        points, transport = positions.points, simulation.transport
        scheme = simulation.scheme
        closes_faces = scheme.drying or bool(scheme.barrier_terms)
        self._n_points, self._with_current = len(points.fields), points.at_open_boundary or closes_faces
        self.update = make_series, every, simulation.scheme if self._with_current else None
        dtype, self.host_step = np.dtype(simulation.config.run.dtype), simulation.step
        n_times = self.n_times = max(1, min(MAX_TIMES, MAX_BYTES // (self._n_points * dtype.itemsize)))
        initial_values = np.zeros(n_times * self._n_points, dtype), np.full(n_times, -1, np.int32)
        self.summary = transport.make_arrays(lambda block: initial_values)
        self.is_always_dry = np.ones(len(positions.names), bool)
        self._indices = transport.make_arrays(lambda block: point_indices(points, block))

    def inputs(self) -> dict:
        simulation, inputs = self.simulation, self._indices | {"host_step": jnp.asarray(self.host_step, jnp.int32)}
        return inputs | ({"grid": simulation.grid, "params": simulation.params} if self._with_current else {})

    def next_collection(self, max_step: int) -> int:
        return min(max_step, (self.host_step // self.every + self.n_times) * self.every)

    def write_present_values(self) -> None:
        """Write the values at the present step, with which the series starts."""
        self.host_step = self.simulation.step - 1
        self.add_state(self.simulation.carry.state)
        self.collect(is_last=True)

    def collect(self, is_last: bool = False) -> None:
        """Write all values since the last call. RuntimeError: a step was computed without this accumulator."""
        simulation, step, every = self.simulation, self.simulation.step, self.every
        steps = np.arange(self.host_step // every + 1, step // every + 1) * every
        if step % every and (is_last or step == simulation.config.run.steps):
            steps = np.append(steps, step)
        pieces, self.host_step = simulation.transport.get_blocks(self.summary, None), step
        for _, recorded_steps in pieces:
            if not np.array_equal(recorded_steps[: len(steps)], steps):
                raise RuntimeError(f"the values of some of the steps {steps} were not recorded")
        rows = np.sum([each[: len(steps) * self._n_points] for each, _ in pieces], axis=0, dtype=pieces[0][0].dtype)
        rows = simulation.transport.reduce(rows.reshape(len(steps), self._n_points), "sum")
        values = self.positions.values(rows + rows.dtype.type(0), steps)  # -0 becomes 0 for any number of blocks
        self.file.write(steps, steps * simulation.dt, values)
        if "eta" in values:
            self.is_always_dry &= np.isnan(values["eta"]).all(axis=0)
            if step == simulation.config.run.steps and self.is_always_dry.any() and simulation.transport.rank == 0:
                names = [name for name, dry in zip(self.positions.names, self.is_always_dry, strict=True) if dry]
                log.warning("stations without sea level, because they were always dry: %s", shorten(", ".join(names)))


def point_indices(points, block) -> dict[str, np.ndarray]:
    """The indices of the points in the fields of a block, and whether each point lies in it."""
    rows, columns = points.rows - block.y.start, points.columns - block.x.start
    in_block = (rows >= 0) & (rows < block.shape[0]) & (columns >= 0) & (columns < block.shape[1])
    index = {"field": points.fields, "row": np.where(in_block, rows, 0), "column": np.where(in_block, columns, 0)}
    return {name: values.astype(np.int32) for name, values in index.items()} | {"in_block": in_block}
