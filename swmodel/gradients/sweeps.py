"""Trajectories swept forward and backward: the compiled parts of gradients at bounded memory."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp

from .steps import Cotangents
from .trajectory import Trajectory


class Sweeps:
    """Jitted sweeps over a trajectory.

    Args:
        trajectory: a Trajectory.
        transport: compiles the sweeps for all blocks.
        steps: number of steps.
        every: steps between observations, which are made at steps 0, every, 2 every, ... up to `steps`.

    Attributes:
        samples: number of observations.
    """

    def __init__(self, trajectory: Trajectory, transport, steps: int, every: int):
        self.trajectory, self.transport, self.steps, self.every = trajectory, transport, steps, every
        self.stepping = trajectory.steps()
        jit, self._stacks, self._of = transport.jit, [], None
        self.samples = steps // every + 1
        self._start = jit(trajectory.start)
        self.blank = jit(self._blank)
        self.advance = jit(self._advance)
        self.forward = jit(self._forward)
        self._stack = jit(self._blank_stack, static_argnames="length")
        self._recording = jit(self._record, donate_argnames="stack")
        self.observe_last = jit(self._observe_last, donate_argnames="series")
        self.seed = jit(self._seed)
        self._pulling = jit(self._pull, donate_argnames=("stack", "cotangents"))
        self.finish = jit(self._finish)

    def start(self, x, fixed):
        """The carry before the first step, and the active fields."""
        self._renew(x)
        carry, active = self._start(x, fixed)
        self.stepping.settle(active, fixed)
        return carry, active

    def _renew(self, x) -> None:
        """Drop what was compiled for controls of other shapes."""
        shapes = tuple((leaf.shape, leaf.dtype) for leaf in jax.tree.leaves(x))
        if shapes != self._of:
            self._of, self._shapes, self._stack_bytes, self._workspaces = shapes, None, None, {}
            self.release()

    def shapes(self, x, fixed):
        """The shapes of a carry, the active fields and the series."""
        self._renew(x)
        if self._shapes is None:
            carry, active = jax.eval_shape(self._start, x, fixed)
            self._shapes = carry, active, jax.eval_shape(self.blank, carry, active, fixed)
        return self._shapes

    def stack_bytes(self, x, fixed) -> tuple[int, int]:
        """The memory of a stack, bytes: for each step, and for the rest."""
        if self._stack_bytes is None:
            carry, active = self.start(x, fixed)
            self.stepping.settle(active, fixed, back=True)
            one, two = (
                self.transport.held_bytes(jax.eval_shape(partial(self._stack, length=n), carry, active, fixed))
                for n in (1, 2)
            )
            self._stack_bytes = two - one, 2 * one - two
        return self._stack_bytes

    def prepare(self, x, fixed, length: int, segment: int | None = None) -> int:
        """Compile what derivatives need; returns the bytes that the way back takes for itself.

        Args:
            length: most steps that are recorded at a time.
            segment: steps of a segment of the Plan; None: `length`.
        """
        again = (segment or length) < self.steps  # else each step is recorded at once
        if (length, again) not in self._workspaces:
            self._workspaces[length, again] = self._compile(x, fixed, length, again)
        return self._workspaces[length, again]

    def _compile(self, x, fixed, length: int, again: bool) -> int:
        none = jnp.int32(0)
        self.release()
        carry, active = self.start(x, fixed)
        series = self.blank(carry, active, fixed)
        if again:
            carry, series = self.forward(carry, active, series, none, none, fixed)
            carry = self.advance(carry, active, none, none, fixed)
        self.stepping.settle(active, fixed, back=True)
        stack = self._stack(carry, active, fixed, length)
        recording = self._recording.lower(stack, carry, active, series, none, none, True, fixed).compile()
        stack, carry, series = self._recording(stack, carry, active, series, none, none, True, fixed)
        series = self.observe_last(carry, active, series, fixed)
        cotangents = self.seed(carry, active, series, fixed)
        program = self._pulling.lower(stack, active, cotangents, series, none, none, fixed).compile()
        # Called through jit, which keeps it: called directly, a compiled program loses its messages' token in JAX 0.10.
        self.finish(x, self.pull(stack, active, cotangents, series, none, none, fixed), fixed)
        needed = max(p.memory_analysis().temp_size_in_bytes for p in (program, recording))
        return needed * self.transport.devices

    def _blank(self, carry, active, fixed):
        """A series of zeros for all samples."""
        sample = jax.eval_shape(self.trajectory.observe, carry, active, jnp.int32(0), fixed)
        return jax.tree.map(lambda s: jnp.zeros((self.samples, *s.shape), s.dtype), sample)

    def _blank_stack(self, carry, active, fixed, length: int):
        """An empty stack that can record `length` steps."""
        return self.stepping.back(active, fixed).blank(carry, length)

    def _advance(self, carry, active, first, last, fixed):
        """The carry at step `last`, from the one at step `first`."""
        return self.stepping.ahead(active, fixed).run(carry, first, last)

    def _forward(self, carry, active, series, first, last, fixed):
        """The carry at step `last`, from that at `first`; and the series with the samples before `last` filled in."""
        ahead = self.stepping.ahead(active, fixed)

        def turn(state):
            n, carry, series = state
            series = self._sample(carry, active, series, n, fixed)
            to = jnp.minimum((n // self.every + 1) * self.every, last)
            return to, ahead.run(carry, n, to), series

        return jax.lax.while_loop(lambda state: state[0] < last, turn, (first, carry, series))[1:]

    def _sample(self, carry, active, series, n, fixed, fresh=True):
        """The series with the sample of step n filled in, if there is one and it is fresh."""

        def look(series):
            sample = self.trajectory.observe(carry, active, n // self.every, fixed)
            return jax.tree.map(lambda all_, one: all_.at[n // self.every].set(one), series, sample)

        return jax.lax.cond((n % self.every == 0) & fresh, look, lambda series: series, series)

    def _observe_last(self, carry, active, series, fixed):
        """The series with the sample of the last step filled in, if there is one."""
        return self._sample(carry, active, series, jnp.int32(self.steps), fixed)

    def record(self, carry, active, series, first, last, fresh, fixed, length: int):
        """The steps from `first` to `last` in a stack for `length` of them; the carry after them; the series.

        The series has the samples before `last` filled in if they are `fresh`.
        """
        self.stepping.settle(active, fixed, back=True)
        self.release(length)
        stack = self._stacks.pop() if self._stacks else self._stack(carry, active, fixed, length)
        return self._recording(stack, carry, active, series, first, last, fresh, fixed)

    def pull(self, stack, active, cotangents, series_bar, first, last, fixed):
        """The Cotangents at step `first`, from those at `last`, used up; keeps the stack for the next steps."""
        stack, cotangents = self._pulling(stack, active, cotangents, series_bar, first, last, fixed)
        self._stacks.append(stack)
        return cotangents

    def release(self, length: int | None = None) -> None:
        """Drop the stacks that are kept, except those for `length` steps."""
        if length is None or length != self._length:
            self._stacks, self._length = [], length

    def kept_bytes(self) -> int:
        """Bytes of the stacks that are kept."""
        return self.transport.held_bytes(self._stacks)

    def _record(self, stack, carry, active, series, first, last, fresh, fixed):
        ahead = self.stepping.ahead(active, fixed, recording=True)

        def turn(state):
            n, stack, carry, series = state
            series = self._sample(carry, active, series, n, fixed, fresh)
            to = jnp.minimum((n // self.every + 1) * self.every, last)
            return to, *ahead.record(stack, carry, n, to, first), series

        return jax.lax.while_loop(lambda state: state[0] < last, turn, (first, stack, carry, series))[1:]

    def _seed(self, carry, active, series_bar, fixed):
        """The Cotangents at the last step, from those of its sample."""
        zero = self.stepping.zero(carry, active, fixed)
        return self._pull_sample(lambda: carry, active, zero, series_bar, jnp.int32(self.steps), fixed)

    def _pull_sample(self, carry, active, cotangents, series_bar, n, fixed):
        """The Cotangents with the share of the sample of step n, if there is one; carry() returns the step's carry."""

        def pull(cotangents):
            k = n // self.every
            _, back = jax.vjp(lambda c, a: self.trajectory.observe(c, a, k, fixed), carry(), active)
            shares = Cotangents(*back(jax.tree.map(lambda s: s[k], series_bar)), {})
            summed = jax.tree.map(jnp.add, cotangents._replace(spread={}), shares)
            return summed._replace(spread=cotangents.spread)

        return jax.lax.cond(n % self.every == 0, pull, lambda cotangents: cotangents, cotangents)

    def _pull(self, stack, active, cotangents, series_bar, first, last, fixed):
        """The stack, and the Cotangents at step `first`, from those at `last`, along the trajectory in the stack."""

        back = self.stepping.back(active, fixed)

        def turn(state):
            last, stack, cotangents = state
            to = jnp.maximum((last - 1) // self.every * self.every, first)
            stack, cotangents = back.pull(stack, cotangents, to, last, first)

            def carry():
                return back.recorded(stack, cotangents.carry, to - first)

            return to, stack, self._pull_sample(carry, active, cotangents, series_bar, to, fixed)

        return jax.lax.while_loop(lambda state: state[0] > first, turn, (last, stack, cotangents))[1:]

    def _finish(self, x, cotangents, fixed):
        """The cotangents of the controls; those in all blocks are summed, but for what is spread over cells."""
        _, back = jax.vjp(partial(self.trajectory.start, fixed=fixed), x)
        shares = back((cotangents.carry, cotangents.active))[0]
        return jax.tree.map(lambda bar: self.transport.sum(bar) if bar.ndim < 2 else bar, shares)
