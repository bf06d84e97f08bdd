"""The observation operator H: the model's values of observed quantities, as shares of each process."""

from __future__ import annotations

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np

from ..setup.positions.stencils import stencils


@dataclass(frozen=True, eq=False)
class Operator:
    """H for one block: bilinear in space, the nearest sample in time.

    H is a sum over the four points around a position; a process has those in its block. So `observe` returns the four
    products separately, zero for points of other blocks. A sum over processes then adds only zeros to each product, so
    the values have the same bits on every layout.

    Attributes:
        every: steps between samples; sample k is the state after step k * every.
        index: [K, M, 4] indices of the points in the block's fields eta, u, v, one after the other.
        weight: [K, M, 4], zero for points of other blocks, and beyond the data of a sample.
        sample, place: [n] indices along K and M of the n observations.
    """

    every: int
    index: np.ndarray
    weight: np.ndarray
    sample: np.ndarray
    place: np.ndarray

    def observe(self, view, k):
        """This process's share of sample k, [M, 4], of a view with the `state` and the resting `depth` of the block."""
        state = view.state
        # XLA never writes this array, as it reads points only.
        values = jnp.stack([state.h - view.depth, state.u, state.v]).reshape(-1)
        points = values.at[jnp.asarray(self.index)[k]].get(mode="promise_in_bounds")
        return points * jnp.asarray(self.weight, values.dtype)[k]

    def collect(self, series):
        """The observed quantities [n], in the observations' order, from shares [K, M, 4] summed over processes."""
        parts = series[self.sample, self.place]
        return (parts[:, 0] + parts[:, 1]) + (parts[:, 2] + parts[:, 3])


def operator(observations, config, block, every: int) -> Operator:
    """The observation operator of a block, for all Observations of the run and samples at steps 0, every, 2 every, ...

    An observation belongs to the sample nearest in time, at most half of `every` steps away if `every` divides the
    number of steps.
    """
    samples = config.run.steps // every + 1
    sample = np.floor(observations.time / (every * config.time.dt) + 0.5).astype(np.int64)
    sample = np.clip(sample, 0, samples - 1)
    place, most = places(sample, samples)
    found = stencils(config, observations.quantity, observations.x, observations.y)
    j, i = found.rows - block.y.start, found.columns - block.x.start
    (ny, nx), number = block.shape, observations.quantity.astype(np.int64)[:, None]
    ours = (j >= 0) & (j < ny) & (i >= 0) & (i < nx)
    index, weight = np.zeros((samples, most, 4), np.int32), np.zeros((samples, most, 4), config.run.dtype)
    index[sample, place] = np.where(ours, (number * ny + j) * nx + i, 0)
    weight[sample, place] = np.where(ours, found.weights, 0.0)
    return Operator(every, index, weight, sample, place)


def places(sample: np.ndarray, samples: int) -> tuple[np.ndarray, int]:
    """The index of each observation within its sample, and the largest number in a sample, at least 1."""
    counts = np.bincount(sample, minlength=samples)
    order = np.argsort(sample, kind="stable")
    place = np.empty_like(sample)
    place[order] = np.arange(len(sample)) - np.repeat(np.cumsum(counts) - counts, counts)
    return place, max(1, int(counts.max()))
