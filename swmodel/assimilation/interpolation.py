"""The observation operator H: the model's values of observed quantities, summed from the shares of all processes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import jax.numpy as jnp
import numpy as np

from ..setup.positions.stencils import bilinear_stencils

if TYPE_CHECKING:
    from ..config.options.model import Config


@dataclass(frozen=True, eq=False)
class ObservationOperator:
    """H for one block, with bilinear interpolation in space and the nearest sample in time.

    There are K samples, each with M slots for observations.

    H is a sum over the four points around a position, of which a process has those in its block. `observe` returns the
    four products separately, zero for points of other blocks. The sum over processes then adds only zeros to each
    product, so the values have the same bits on any layout.

    Attributes:
        index: [K, M, 4] indices of the four points in the block's fields eta, u, v, flattened one after the other.
        weight: [K, M, 4] weights of the points, zero for points of other blocks and in unused slots.
        sample, slot: [n] sample of each of the n observations, and its slot in this sample.
    """

    index: np.ndarray
    weight: np.ndarray
    sample: np.ndarray
    slot: np.ndarray

    def observe(self, view, k):
        """This process's share of sample k, [M, 4], from a view with `state` and resting `depth` of the block."""
        state = view.state
        # XLA never materialises this array, because only points of it are read.
        values = jnp.stack([state.h - view.depth, state.u, state.v]).reshape(-1)
        points = values.at[jnp.asarray(self.index)[k]].get(mode="promise_in_bounds")
        return points * jnp.asarray(self.weight, values.dtype)[k]

    def collect(self, series):
        """The values [n] in the order of the observations, from shares [K, M, 4] summed over processes."""
        parts = series[self.sample, self.slot]
        return (parts[:, 0] + parts[:, 1]) + (parts[:, 2] + parts[:, 3])


def make_operator(observations, config: Config, block, every_steps: int) -> ObservationOperator:
    """The operator of a block for all Observations of the run, and samples at steps 0, every_steps, 2 every_steps, ...

    An observation belongs to the sample nearest in time, at most half an interval away if `every_steps` divides the
    number of steps of the run.
    """
    n_samples = config.run.steps // every_steps + 1
    sample = np.floor(observations.time / (every_steps * config.time.dt) + 0.5).astype(np.int64)
    sample = np.clip(sample, 0, n_samples - 1)
    slot, max_per_sample = slots_in_samples(sample, n_samples)
    stencil = bilinear_stencils(config, observations.quantity, observations.x, observations.y)
    j, i = stencil.rows - block.y.start, stencil.columns - block.x.start
    (ny, nx), quantity = block.shape, observations.quantity.astype(np.int64)[:, None]
    in_block = (j >= 0) & (j < ny) & (i >= 0) & (i < nx)
    index = np.zeros((n_samples, max_per_sample, 4), np.int32)
    weight = np.zeros(index.shape, config.run.dtype)
    index[sample, slot] = np.where(in_block, (quantity * ny + j) * nx + i, 0)
    weight[sample, slot] = np.where(in_block, stencil.weights, 0.0)
    return ObservationOperator(index, weight, sample, slot)


def slots_in_samples(sample: np.ndarray, n_samples: int) -> tuple[np.ndarray, int]:
    """The slot of each observation within its sample, and the number of slots of the fullest sample, at least 1."""
    counts = np.bincount(sample, minlength=n_samples)
    order = np.argsort(sample, kind="stable")
    slot = np.empty_like(sample)
    slot[order] = np.arange(len(sample)) - np.repeat(np.cumsum(counts) - counts, counts)
    return slot, max(1, int(counts.max()))
