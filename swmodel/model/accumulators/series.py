"""Series at points of the grid: values every few steps, which the compiled loop keeps until the host writes them."""

from __future__ import annotations

import logging
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from ...errors import shortened
from ...ocean.evaluation import flow_through, seen
from ...ocean.grid import as_patches
from ...ocean.patch import Patch
from ...parallel.transport.halo import make_pad
from .accumulator import Accumulator

log = logging.getLogger(__name__)

#: Most bytes and most times in memory; smaller limits mean more frequent transfers to the host.
KEPT_BYTES, MOST_TIMES = 4 << 20, 4096


def make_series(every: int, scheme, transport):
    """The `update` of Series, of values at points: the function (kept, inputs, state, step) -> kept of one block.

    kept = values [times points], steps [times]. Row 0 belongs to the first multiple of `every` after
    inputs["host_step"]. Each step overwrites the row of the next multiple, so a row ends with its own step.

    Args:
        scheme: the Scheme of the run, if some points are faces of open sides or may close; else None.
    """
    with_halo, shape = scheme and make_pad(scheme.width, transport), transport.shape

    def update(kept, inputs, state, step):
        if scheme:
            # XLA compiles a branch by itself: so its bits do not depend on what surrounds it.
            through = partial(with_current, scheme, shape, inputs, type(state), step)
            state = jax.lax.cond(step >= 0, through, lambda _: list(state), list(with_halo(state)))
        fields = jnp.stack(state)  # never written out: XLA reads points only
        values = fields[inputs["field"], inputs["row"], inputs["column"]]
        values = jnp.where(inputs["ours"], values, 0)
        (rows, steps), step = kept, jnp.asarray(step, jnp.int32)
        row = -(-step // every) - inputs["host_step"] // every - 1
        rows = jax.lax.dynamic_update_slice_in_dim(rows, values, row * len(values), 0)
        return rows, jax.lax.dynamic_update_slice_in_dim(steps, step[None], row, 0)

    return update


def with_current(scheme, shape, inputs, kind, step, fields) -> list:
    """The fields [ny, nx] of a State of this kind with the current through open sides, from those with a halo."""
    state = kind._make(Patch(field, (-scheme.width, -scheme.width)) for field in fields)
    grid, params = (as_patches(inputs[name], scheme.margin) for name in ("grid", "params"))
    found, _ = seen(flow_through(state, grid, params, scheme, step))
    return [jnp.broadcast_to(patch.on(shape), shape) for patch in found]


class Series(Accumulator):
    """Values of a run's state at points, after each `every` steps and the last, written into a file.

    Args:
        places: `setup.positions.gauges.Gauges` or `crossings.Crossings`, which convert the values.
        every: steps between values.
        file: of `files.output`, open.

    Attributes:
        kept: the values in memory, and the step of each row, on the devices.
        host_step: the step up to which the host has the values; rows count from it.
        dry: which places have had no sea level yet, as their cells were dry.
    """

    def __init__(self, simulation, places, every: int, file):
        super().__init__(simulation)
        self.places, self.every, self.file = places, every, file
        points, transport = places.points, simulation.transport
        self._count, self._with_current = len(points.fields), points.at_sides or simulation.scheme.drying
        self.update = make_series, every, simulation.scheme if self._with_current else None
        dtype, self.host_step = np.dtype(simulation.config.run.dtype), simulation.step
        times = self.times = max(1, min(MOST_TIMES, KEPT_BYTES // (self._count * dtype.itemsize)))
        blank = np.zeros(times * self._count, dtype), np.full(times, -1, np.int32)
        self.kept = transport.make(lambda block: blank)
        self.dry = np.ones(len(places.names), bool)
        self._indices = transport.make(lambda block: indices(points, block))

    def inputs(self) -> dict:
        simulation, found = self.simulation, self._indices | {"host_step": jnp.asarray(self.host_step, jnp.int32)}
        return found | ({"grid": simulation.grid, "params": simulation.params} if self._with_current else {})

    def until(self, last: int) -> int:
        return min(last, (self.host_step // self.every + self.times) * self.every)

    def write_present(self) -> None:
        """Write the values at the present step, the begin of the recording."""
        self.host_step = self.simulation.step - 1
        self.add(self.simulation.carry.state)
        self.collect(last=True)

    def collect(self, last: bool = False) -> None:
        """Write the values at multiples of `every` since the last call, and at the last step of the run, or if `last`.

        RuntimeError: a step was taken without the accumulator.
        """
        simulation, step, every = self.simulation, self.simulation.step, self.every
        steps = np.arange(self.host_step // every + 1, step // every + 1) * every
        if step % every and (last or step == simulation.config.run.steps):
            steps = np.append(steps, step)
        pieces, self.host_step = simulation.transport.pieces(self.kept, None), step
        for _, recorded in pieces:
            if not np.array_equal(recorded[: len(steps)], steps):
                raise RuntimeError(f"the values of some of the steps {steps} were not recorded")
        rows = np.sum([each[: len(steps) * self._count] for each, _ in pieces], axis=0, dtype=pieces[0][0].dtype)
        rows = simulation.transport.reduce(rows.reshape(len(steps), self._count), "sum")
        values = self.places.values(rows + rows.dtype.type(0))  # -0 becomes 0 for any number of blocks
        self.file.write(steps, steps * simulation.dt, values)
        if "eta" in values:
            self.dry &= np.isnan(values["eta"]).all(axis=0)
            if step == simulation.config.run.steps and self.dry.any() and simulation.transport.rank == 0:
                names = [name for name, dry in zip(self.places.names, self.dry, strict=True) if dry]
                log.warning("stations without any eta, as they are dry all the time: %s", shortened(", ".join(names)))


def indices(points, block) -> dict[str, np.ndarray]:
    """The indices of the points in the fields of a block, and which points lie in it."""
    rows, columns = points.rows - block.y.start, points.columns - block.x.start
    ours = (rows >= 0) & (rows < block.shape[0]) & (columns >= 0) & (columns < block.shape[1])
    index = {"field": points.fields, "row": np.where(ours, rows, 0), "column": np.where(ours, columns, 0)}
    return {name: values.astype(np.int32) for name, values in index.items()} | {"ours": ours}
