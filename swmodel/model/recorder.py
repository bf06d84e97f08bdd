"""Values at points of the grid after each few steps, kept by the compiled loop until the host asks for them."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from ..parallel.transport.programs import jitted
from .padded import make_padded

#: Most bytes of the values that are kept, and most times; with fewer the host would have to ask more often.
KEPT_BYTES, MOST_TIMES = 4 << 20, 4096


def make_look(every: int, scheme, transport):
    """The function look(kept, given, state, step) -> kept of one block, with the values after `step` in their row.

    kept = values [times points], steps [times]. Row 0 belongs to the first multiple of `every` after given["handed"],
    and each step writes into the row of the next multiple: the last values there are those of the multiple itself.

    Args:
        scheme: that of the run, if some of the points are faces of open sides; None: none is.
    """
    padded, shape = scheme and make_padded(scheme, transport), transport.shape

    def look(kept, given, state, step):
        if padded:
            patches, _ = padded(state, given["grid"], given["params"], step)
            state = [patch.on(shape) for patch in patches]
        fields = jnp.stack(state)  # never written out: XLA reads points only
        values = fields[given["field"], given["row"], given["column"]]
        values = jnp.where(given["ours"], values, 0)
        (rows, steps), step = kept, jnp.asarray(step, jnp.int32)
        row = -(-step // every) - given["handed"] // every - 1
        rows = jax.lax.dynamic_update_slice_in_dim(rows, values, row * len(values), 0)
        return rows, jax.lax.dynamic_update_slice_in_dim(steps, step[None], row, 0)

    return look


class Recorder:
    """The values of a simulation's state at points, after each `every` steps; see `watching.Watching`.

    Args:
        points: `setup.positions.gauges.Points`, the same on all processes.
        every: steps between values.

    Attributes:
        seen: the values kept, and the step of each row, on the devices.
        handed: the step up to which the host has the values. Rows are counted from it, however steps are cut.
    """

    def __init__(self, points, every: int, simulation):
        self.every, self._transport, self._count = every, simulation.transport, len(points.fields)
        self._simulation, self._at_sides = simulation, points.at_sides
        self.look = make_look, every, simulation.scheme if points.at_sides else None
        dtype, self.handed = np.dtype(simulation.config.run.dtype), simulation.step
        times = self.times = max(1, min(MOST_TIMES, KEPT_BYTES // (self._count * dtype.itemsize)))
        blank = np.zeros(times * self._count, dtype), np.full(times, -1, np.int32)
        self.seen = self._transport.make(lambda block: blank)
        self._places = self._transport.make(lambda block: places(points, block))

    def given(self) -> dict:
        """The argument `given` of `look`."""
        simulation, found = self._simulation, self._places | {"handed": jnp.asarray(self.handed, jnp.int32)}
        return found | ({"grid": simulation.grid, "params": simulation.params} if self._at_sides else {})

    def present(self, carry) -> np.ndarray:
        """The values [1, points] of all blocks now, where recording begins."""
        step = int(carry.step)
        self.handed = step - 1
        look = jitted(*self.look, self._transport, donate_argnums=0)
        self.seen = look(self.seen, self.given(), carry.state, carry.step)
        return self.taken(step, last=True)[1]

    def most(self, step: int) -> int:
        """How many steps can be taken after `step` before the host must ask for the values."""
        return (self.handed // self.every + self.times) * self.every - step

    def taken(self, step: int, last: bool) -> tuple[np.ndarray, np.ndarray]:
        """The multiples of `every` after what was handed up to `step`, and the values [k, points] of all blocks then.

        Args:
            last: `step` is the last of the run, and counts as well.

        Raises:
            RuntimeError: a step was taken without being recorded.
        """
        steps = np.arange(self.handed // self.every + 1, step // self.every + 1) * self.every
        if last and step % self.every:
            steps = np.append(steps, step)
        pieces, self.handed = self._transport.pieces(self.seen, None), step
        for _, recorded in pieces:
            if not np.array_equal(recorded[: len(steps)], steps):
                raise RuntimeError(f"the values of some of the steps {steps} were not recorded")
        rows = np.sum([each[: len(steps) * self._count] for each, _ in pieces], axis=0, dtype=pieces[0][0].dtype)
        rows = self._transport.reduce(rows.reshape(len(steps), self._count), "sum")
        return steps, rows + rows.dtype.type(0)  # -0 becomes 0, however many blocks there are


def places(points, block) -> dict[str, np.ndarray]:
    """The indices of the points in the fields of a block, and which points lie in it."""
    rows, columns = points.rows - block.y.start, points.columns - block.x.start
    ours = (rows >= 0) & (rows < block.shape[0]) & (columns >= 0) & (columns < block.shape[1])
    index = {"field": points.fields, "row": np.where(ours, rows, 0), "column": np.where(ours, columns, 0)}
    return {name: values.astype(np.int32) for name, values in index.items()} | {"ours": ours}
