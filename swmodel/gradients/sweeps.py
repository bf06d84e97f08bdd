"""Trajectories swept forward and backward: the compiled pieces from which gradients at bounded memory are made."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from .trajectory import Trajectory


class Cotangents(NamedTuple):
    """Derivatives of a number with respect to a carry and to the active fields."""

    carry: Any
    active: Any


class Sweeps:
    """Jitted sweeps over a trajectory.

    Args:
        trajectory: a Trajectory.
        transport: compiles the sweeps for all blocks.
        steps: number of steps.
        every: steps between observations; those at 0, every, 2 every, ... up to `steps` are made.

    Attributes:
        samples: number of observations.
    """

    def __init__(self, trajectory: Trajectory, transport, steps: int, every: int):
        self.trajectory, self.transport, self.steps, self.every = trajectory, transport, steps, every
        jit, self._workspaces = transport.jit, {}
        self.samples = steps // every + 1
        self.start = jit(trajectory.start)
        self.blank = jit(self._blank)
        self.advance = jit(self._advance)
        self.forward = jit(self._forward)
        self.record = jit(self._record, static_argnames="length")
        self.observe_last = jit(self._observe_last, donate_argnames="series")
        self.seed = jit(self._seed)
        self.pull = jit(self._pull, donate_argnames="cotangents")
        self.finish = jit(self._finish)

    def prepare(self, x, fixed, length: int) -> int:
        """Compile everything, for segments of `length` steps; the bytes that going back takes for itself."""
        if length not in self._workspaces:
            self._workspaces[length] = self._compile(x, fixed, length)
        return self._workspaces[length]

    def _compile(self, x, fixed, length: int) -> int:
        none = jnp.int32(0)
        carry, active = self.start(x, fixed)
        series = self.blank(carry, active, fixed)
        carry, series = self.forward(carry, active, series, none, none, fixed)
        carry = self.advance(carry, active, none, none, fixed)
        stack, carry, series = self.record(carry, active, series, none, none, True, fixed, length)
        series = self.observe_last(carry, active, series, fixed)
        cotangents = self.seed(carry, active, series, fixed)
        program = self.pull.lower(stack, active, cotangents, series, none, none, fixed).compile()
        # Called by way of jit, which has it now: a compiled program loses the token of its messages in JAX 0.10.
        self.finish(x, self.pull(stack, active, cotangents, series, none, none, fixed), fixed)
        return program.memory_analysis().temp_size_in_bytes * self.transport.devices

    def _blank(self, carry, active, fixed):
        """Room for all samples, zero."""
        sample = jax.eval_shape(self.trajectory.observe, carry, active, jnp.int32(0), fixed)
        return jax.tree.map(lambda s: jnp.zeros((self.samples, *s.shape), s.dtype), sample)

    def _advance(self, carry, active, first, last, fixed):
        """The carry at step `last` from that at step `first`."""
        return self.trajectory.run(carry, self.trajectory.prepare(active, fixed), first, last)

    def _forward(self, carry, active, series, first, last, fixed):
        """The carry at step `last` from that at `first`, and the series with the samples before `last` filled in."""
        static = self.trajectory.prepare(active, fixed)

        def turn(state):
            n, carry, series = state
            series = self._sample(carry, active, series, n, fixed)
            to = jnp.minimum((n // self.every + 1) * self.every, last)
            return to, self.trajectory.run(carry, static, n, to), series

        return jax.lax.while_loop(lambda state: state[0] < last, turn, (first, carry, series))[1:]

    def _sample(self, carry, active, series, n, fixed, fresh=True):
        """The series with the sample of step n in its place, if there is one and it is fresh."""

        def look(series):
            sample = self.trajectory.observe(carry, active, n // self.every, fixed)
            return jax.tree.map(lambda all_, one: all_.at[n // self.every].set(one), series, sample)

        return jax.lax.cond((n % self.every == 0) & fresh, look, lambda series: series, series)

    def _observe_last(self, carry, active, series, fixed):
        """The series with the sample of the last step, if there is one."""
        return self._sample(carry, active, series, jnp.int32(self.steps), fixed)

    def _record(self, carry, active, series, first, last, fresh, fixed, length: int):
        """The carries at steps first, ..., last - 1, stacked with room for `length`; that at `last`; the series.

        The series has the samples of these steps filled in if they are `fresh`.
        """
        static = self.trajectory.prepare(active, fixed)
        stack = jax.tree.map(lambda x: jnp.zeros((length, *x.shape), x.dtype), carry)

        def turn(n, state):
            stack, carry, series = state
            series = self._sample(carry, active, series, n, fixed, fresh)
            stack = jax.tree.map(lambda all_, one: all_.at[n - first].set(one), stack, carry)
            return stack, self.trajectory.run(carry, static, n, n + 1), series

        return jax.lax.fori_loop(first, last, turn, (stack, carry, series))

    def _seed(self, carry, active, series_bar, fixed):
        """The Cotangents at the last step, from those of the samples."""
        zero = jax.tree.map(jnp.zeros_like, Cotangents(carry, active))
        return self._pull_sample(carry, active, zero, series_bar, jnp.int32(self.steps), fixed)

    def _pull_sample(self, carry, active, cotangents, series_bar, n, fixed):
        """The Cotangents with the share of the sample of step n, if there is one."""

        def pull(cotangents):
            k = n // self.every
            _, back = jax.vjp(lambda c, a: self.trajectory.observe(c, a, k, fixed), carry, active)
            return jax.tree.map(jnp.add, cotangents, Cotangents(*back(jax.tree.map(lambda s: s[k], series_bar))))

        return jax.lax.cond(n % self.every == 0, pull, lambda cotangents: cotangents, cotangents)

    def _pull(self, stack, active, cotangents, series_bar, first, last, fixed):
        """The Cotangents at step `first` from those at `last`, of the trajectory recorded in `stack`; uses them up."""

        def turn(i, cotangents):
            n = last - 1 - i
            carry = jax.tree.map(lambda all_: all_[n - first], stack)
            _, back = jax.vjp(lambda c, a: self.trajectory.step(c, a, n, fixed), carry, active)
            carry_bar, active_bar = back(cotangents.carry)
            summed = jax.tree.map(jnp.add, cotangents.active, active_bar)
            return self._pull_sample(carry, active, Cotangents(carry_bar, summed), series_bar, n, fixed)

        return jax.lax.fori_loop(0, last - first, turn, cotangents)

    def _finish(self, x, cotangents, fixed):
        """The cotangents of the controls, those of numbers summed over all blocks."""
        _, back = jax.vjp(partial(self.trajectory.start, fixed=fixed), x)
        shares = back(tuple(cotangents))[0]
        return jax.tree.map(lambda bar: self.transport.sum(bar) if bar.ndim == 0 else bar, shares)
