"""The compiled parts of sweeps over a trajectory: functions of the arrays of a block."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp

from .steps import Cotangents
from .trajectory import Trajectory


class Programs:
    """Jitted functions of x (the controls), `trajectory.Fixed`, carries, active fields, series and stacks of steps.

    The transport compiles them for all blocks. Samples are observed at steps 0, every, 2 every, ... up to `steps`.
    """

    def __init__(self, trajectory: Trajectory, transport, steps: int, every: int):
        self.trajectory, self.transport, self.steps, self.every = trajectory, transport, steps, every
        jit = transport.jit
        self.start = jit(trajectory.start)
        self.blank = jit(self._blank)
        self.advance = jit(self._advance)
        self.stack = jit(self._stack, static_argnames="length")
        self.record = jit(self._record, donate_argnames="stack")
        self.observe_last = jit(self._observe_last, donate_argnames="series")
        self.seed = jit(self._seed)
        self.pull = jit(self._pull, donate_argnames=("stack", "cotangents"))
        self.finish = jit(self._finish)

    def prepare(self, x, fixed, length: int, again: bool) -> int:
        """Compile the programs of derivatives that record at most `length` steps at a time, with or without `again`.

        Returns the bytes for the way back.
        """
        none = jnp.int32(0)
        carry, active = self.start(x, fixed)
        self.trajectory.settle(active, fixed, back=True)
        series = self.blank(carry, active, fixed)
        if again:
            _, carry, series = self.record(None, carry, active, series, none, none, True, fixed)
            carry = self.advance(carry, active, none, none, fixed)
        stack = self.stack(carry, active, fixed, length)
        recording = self.record.lower(stack, carry, active, series, none, none, True, fixed).compile()
        stack, carry, series = self.record(stack, carry, active, series, none, none, True, fixed)
        series = self.observe_last(carry, active, series, fixed)
        cotangents = self.seed(carry, active, series, fixed)
        pulling = self.pull.lower(stack, active, cotangents, series, none, none, fixed).compile()
        # The call goes through jit, as a compiled program called directly loses its messages' token in JAX 0.10.
        self.finish(x, self.pull(stack, active, cotangents, series, none, none, fixed)[1], fixed)
        return max(p.memory_analysis().temp_size_in_bytes for p in (pulling, recording)) * self.transport.devices

    def _expanded(self, active, fixed):
        """The active fields of steps, and from their cotangents those of `active`; None if both are the same."""
        if not self.trajectory.expand:
            return active, None
        return jax.vjp(lambda active: self.trajectory.expand(active, fixed), active)

    def _blank(self, carry, active, fixed):
        """A series of zeros for all samples."""
        active, _ = self._expanded(active, fixed)
        sample = jax.eval_shape(self.trajectory.observe, carry, active, jnp.int32(0), fixed)
        return jax.tree.map(lambda s: jnp.zeros((self.steps // self.every + 1, *s.shape), s.dtype), sample)

    def _stack(self, carry, active, fixed, length: int):
        """An empty stack that can record `length` steps."""
        active, _ = self._expanded(active, fixed)
        return self.trajectory.steps(active, fixed, back=True).blank(carry, length)

    def _advance(self, carry, active, first, last, fixed):
        """The carry at step `last`, from the one at step `first`."""
        active, _ = self._expanded(active, fixed)
        return self.trajectory.steps(active, fixed).run(carry, first, last)

    def _record(self, stack, carry, active, series, first, last, fresh, fixed):
        """The stack, if any, with the steps from `first` to `last`, the carry after them, and the series.

        If `fresh`, the series gets the samples before `last`.
        """
        recorded, (active, _) = stack is not None, self._expanded(active, fixed)
        steps = self.trajectory.steps(active, fixed, recorded)

        def turn(state):
            n, stack, carry, series = state
            series = self._sample(carry, active, series, n, fixed, fresh)
            to = jnp.minimum((n // self.every + 1) * self.every, last)
            if recorded:
                stack, carry = steps.record(stack, carry, n, to, first)
            else:
                carry = steps.run(carry, n, to)
            return to, stack, carry, series

        return jax.lax.while_loop(lambda state: state[0] < last, turn, (first, stack, carry, series))[1:]

    def _sample(self, carry, active, series, n, fixed, fresh=True):
        """The series with the sample of step n, if any and fresh."""

        def look(series):
            sample = self.trajectory.observe(carry, active, n // self.every, fixed)
            return jax.tree.map(lambda all_, one: all_.at[n // self.every].set(one), series, sample)

        return jax.lax.cond((n % self.every == 0) & fresh, look, lambda series: series, series)

    def _observe_last(self, carry, active, series, fixed):
        """The series with the sample of the last step, if any."""
        active, _ = self._expanded(active, fixed)
        return self._sample(carry, active, series, jnp.int32(self.steps), fixed)

    def _seed(self, carry, active, series_bar, fixed):
        """The Cotangents at the last step, from those of its sample."""
        active, back = self._expanded(active, fixed)
        zero = self.trajectory.steps(active, fixed, recorded=True).zero(carry)
        found = self._pull_sample(lambda: carry, active, zero, series_bar, jnp.int32(self.steps), fixed)
        return found._replace(active=back(found.active)[0]) if back else found

    def _pull(self, stack, active, cotangents, series_bar, first, last, fixed):
        """The stack, and the Cotangents at step `first`, from those at `last`, along the trajectory in the stack."""
        (active, back), later = self._expanded(active, fixed), cotangents.active
        steps = self.trajectory.steps(active, fixed, back=True)
        if back:
            cotangents = cotangents._replace(active=jax.tree.map(jnp.zeros_like, active))

        def turn(state):
            last, stack, cotangents = state
            to = jnp.maximum((last - 1) // self.every * self.every, first)
            stack, cotangents = steps.pull(stack, cotangents, to, last, first)

            def carry():
                return steps.recorded(stack, cotangents.carry, to - first)

            return to, stack, self._pull_sample(carry, active, cotangents, series_bar, to, fixed)

        _, stack, found = jax.lax.while_loop(lambda state: state[0] > first, turn, (last, stack, cotangents))
        if back:
            found = found._replace(active=jax.tree.map(jnp.add, later, back(found.active)[0]))
        return stack, found

    def _pull_sample(self, carry, active, cotangents, series_bar, n, fixed):
        """The Cotangents with the share of the sample of step n, if any; carry() returns the step's carry."""

        def pull(cotangents):
            k = n // self.every
            _, back = jax.vjp(lambda c, a: self.trajectory.observe(c, a, k, fixed), carry(), active)
            shares = back(jax.tree.map(lambda s: s[k], series_bar))
            return Cotangents(*jax.tree.map(jnp.add, cotangents[:2], shares), cotangents.spread)

        return jax.lax.cond(n % self.every == 0, pull, lambda cotangents: cotangents, cotangents)

    def _finish(self, x, cotangents, fixed):
        """The cotangents of the controls; those of numbers are summed over blocks, unless spread over cells."""
        _, back = jax.vjp(partial(self.trajectory.start, fixed=fixed), x)
        shares = back((cotangents.carry, cotangents.active))[0]
        return jax.tree.map(lambda bar: self.transport.sum(bar) if bar.ndim < 2 else bar, shares)
