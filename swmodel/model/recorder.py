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

    kept [times points] has a row for each time. The row of a step is (step / every, rounded up) - given["first"], so
    that the last values written there are those after a multiple of `every`.

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
        row = -(-step // every) - given["first"] - 1
        return jax.lax.dynamic_update_slice_in_dim(kept, values, row * len(values), 0)

    return look


class Recorder:
    """The values of a simulation's state at points, after each `every` steps; see `watching.Watching`.

    Args:
        points: `config.positions.gauges.Points`, the same on all processes.
        every: steps between values.

    Attributes:
        seen: the values kept, on the devices.
    """

    def __init__(self, points, every: int, simulation):
        self.every, self._transport, self._count = every, simulation.transport, len(points.fields)
        self._simulation, self._at_sides = simulation, points.at_sides
        self.look = make_look, every, simulation.scheme if points.at_sides else None
        dtype = np.dtype(simulation.config.run.dtype)
        self.times = max(1, min(MOST_TIMES, KEPT_BYTES // (self._count * dtype.itemsize)))
        self.seen = self._transport.make(lambda block: np.zeros(self.times * self._count, dtype))
        self._places = self._transport.make(lambda block: places(points, block))

    def given(self, step: int) -> dict:
        """The argument `given` of `look` for the steps after `step`."""
        return self._given(step // self.every)

    def _given(self, first: int) -> dict:
        simulation, found = self._simulation, self._places | {"first": jnp.asarray(first, jnp.int32)}
        return found | ({"grid": simulation.grid, "params": simulation.params} if self._at_sides else {})

    def present(self, carry) -> np.ndarray:
        """The values [1, points] of all blocks now."""
        look = jitted(*self.look, self._transport, donate_argnums=0)
        self.seen = look(self.seen, self._given(-(-int(carry.step) // self.every) - 1), carry.state, carry.step)
        return self._rows(1)

    def most(self, step: int) -> int:
        """How many steps can be taken after `step` before the host must ask for the values."""
        return (step // self.every + self.times) * self.every - step

    def taken(self, before: int, step: int, last: bool) -> tuple[np.ndarray, np.ndarray]:
        """The multiples of `every` after step `before` up to `step`, and the values [k, points] of all blocks then.

        Args:
            last: `step` is the last of the run, and counts as well.
        """
        steps = np.arange(before // self.every + 1, step // self.every + 1) * self.every
        if last and step % self.every:
            steps = np.append(steps, step)
        return steps, self._rows(len(steps))

    def _rows(self, times: int) -> np.ndarray:
        """The first values that are kept, [times, points], of all blocks."""
        pieces = self._transport.pieces(self.seen, None)
        rows = np.sum([each[: times * self._count] for each in pieces], axis=0, dtype=pieces[0].dtype)
        rows = self._transport.reduce(rows.reshape(times, self._count), "sum")
        return rows + rows.dtype.type(0)  # -0 becomes 0, however many blocks there are


def places(points, block) -> dict[str, np.ndarray]:
    """The indices of the points in the fields of a block, and which points lie in it."""
    rows, columns = points.rows - block.y.start, points.columns - block.x.start
    ours = (rows >= 0) & (rows < block.shape[0]) & (columns >= 0) & (columns < block.shape[1])
    index = {"field": points.fields, "row": np.where(ours, rows, 0), "column": np.where(ours, columns, 0)}
    return {name: values.astype(np.int32) for name, values in index.items()} | {"ours": ours}
