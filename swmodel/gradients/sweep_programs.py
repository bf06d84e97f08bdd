"""The compiled functions that a sweep over a trajectory calls; they work on the arrays of a block."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp

from .jax_steps import Cotangents
from .trajectory import Trajectory

if TYPE_CHECKING:
    from ..parallel.transport.transport import Transport


class SweepPrograms:
    """Jitted functions of controls x, `trajectory.FixedInputs`, carries, active fields, series and stacks.

    The transport compiles them for all blocks. Samples are observed every `steps_per_sample` steps from 0 to `steps`.
    """

    def __init__(self, trajectory: Trajectory, transport: Transport, steps: int, steps_per_sample: int):
        self.trajectory, self.transport = trajectory, transport
        self.steps, self.steps_per_sample = steps, steps_per_sample
        jit = transport.jit
        self.start = jit(trajectory.start)
        self.empty_series = jit(self._empty_series)
        self.advance = jit(self._advance)
        self.empty_stack = jit(self._empty_stack, static_argnames="length")
        self.record = jit(self._record, donate_argnames="stack")
        self.observe_last = jit(self._observe_last, donate_argnames="series")
        self.seed = jit(self._seed)
        self.pull_back = jit(self._pull_back, donate_argnames=("stack", "cotangents"))
        self.control_cotangents = jit(self._control_cotangents)

    def prepare(self, x, fixed, stack_steps: int, recompute: bool) -> int:
        """Compile the programs of a backward sweep; returns the bytes of temporary memory that the largest one needs.

        Args:
            stack_steps: number of steps in a stack.
            recompute: whether to compile the programs that advance without recording, too.
        """
        step_0 = jnp.int32(0)  # all programs run from step 0 to step 0, so their loops have no iterations
        carry, active = self.start(x, fixed)
        self.trajectory.agree_on_backend(active, fixed, with_adjoint=True)
        series = self.empty_series(carry, active, fixed)
        if recompute:
            _, carry, series = self.record(None, carry, active, series, step_0, step_0, True, fixed)
            carry = self.advance(carry, active, step_0, step_0, fixed)
        stack = self.empty_stack(carry, active, fixed, stack_steps)
        compiled_record = self.record.lower(stack, carry, active, series, step_0, step_0, True, fixed).compile()
        stack, carry, series = self.record(stack, carry, active, series, step_0, step_0, True, fixed)
        series = self.observe_last(carry, active, series, fixed)
        cotangents = self.seed(carry, active, series, fixed)
        compiled_pull_back = self.pull_back.lower(stack, active, cotangents, series, step_0, step_0, fixed).compile()
        # Called through jit, because in JAX 0.10 a compiled program that is called directly loses its messages' token.
        self.control_cotangents(x, self.pull_back(stack, active, cotangents, series, step_0, step_0, fixed)[1], fixed)
        analyses = compiled_pull_back.memory_analysis(), compiled_record.memory_analysis()
        return max(each.temp_size_in_bytes for each in analyses if each is not None) * self.transport.devices

    def _expand_active(self, active, fixed):
        """The active fields of a step, and the vjp from their cotangents to those of `active`; None: the identity."""
        expand = self.trajectory.expand
        if not expand:
            return active, None
        return jax.vjp(lambda active: expand(active, fixed), active)

    def _empty_series(self, carry, active, fixed):
        active, _ = self._expand_active(active, fixed)
        sample = jax.eval_shape(self.trajectory.observe, carry, active, jnp.int32(0), fixed)
        return jax.tree.map(lambda s: jnp.zeros((self.steps // self.steps_per_sample + 1, *s.shape), s.dtype), sample)

    def _empty_stack(self, carry, active, fixed, length: int):
        active, _ = self._expand_active(active, fixed)
        return self.trajectory.make_steps(active, fixed, with_adjoint=True).empty_stack(carry, length)

    def _advance(self, carry, active, first, last, fixed):
        active, _ = self._expand_active(active, fixed)
        return self.trajectory.make_steps(active, fixed).run(carry, first, last)

    def _record(self, stack, carry, active, series, first, last, with_samples, fixed):
        """Take the steps from `first` to `last`.

        Returns the stack with these steps (None if there is none), the carry at `last`, and the series, with the
        samples before `last` if `with_samples`.
        """
        with_record, (active, _) = stack is not None, self._expand_active(active, fixed)
        steps = self.trajectory.make_steps(active, fixed, with_record)

        def iterate(loop_state):
            n, stack, carry, series = loop_state
            series = self._add_sample(carry, active, series, n, fixed, with_samples)
            next_stop = jnp.minimum((n // self.steps_per_sample + 1) * self.steps_per_sample, last)
            if with_record:
                stack, carry = steps.record(stack, carry, n, next_stop, first)
            else:
                carry = steps.run(carry, n, next_stop)
            return next_stop, stack, carry, series

        return jax.lax.while_loop(lambda loop_state: loop_state[0] < last, iterate, (first, stack, carry, series))[1:]

    def _add_sample(self, carry, active, series, n, fixed, with_samples=True):
        """The series with the sample of step n, if there is one and `with_samples` is true."""

        def write_sample(series):
            sample = self.trajectory.observe(carry, active, n // self.steps_per_sample, fixed)
            return jax.tree.map(
                lambda all_samples, x: all_samples.at[n // self.steps_per_sample].set(x), series, sample
            )

        return jax.lax.cond(
            (n % self.steps_per_sample == 0) & with_samples, write_sample, lambda series: series, series
        )

    def _observe_last(self, carry, active, series, fixed):
        """The series with the sample at the last step, if there is one."""
        active, _ = self._expand_active(active, fixed)
        return self._add_sample(carry, active, series, jnp.int32(self.steps), fixed)

    def _seed(self, carry, active, series_bar, fixed):
        """The Cotangents at the last step: zero, plus the contribution of a sample there, if there is one."""
        active, expand_vjp = self._expand_active(active, fixed)
        zero = self.trajectory.make_steps(active, fixed, with_record=True).zero_cotangents(carry)
        cotangents = self._pull_back_sample(lambda: carry, active, zero, series_bar, jnp.int32(self.steps), fixed)
        return cotangents._replace(active=expand_vjp(cotangents.active)[0]) if expand_vjp else cotangents

    def _pull_back(self, stack, active, cotangents, series_bar, first, last, fixed):
        """The stack, and the Cotangents at step `first` from those at `last`, along the trajectory in the stack."""
        (active, expand_vjp), active_bar = self._expand_active(active, fixed), cotangents.active
        steps = self.trajectory.make_steps(active, fixed, with_adjoint=True)
        if expand_vjp:
            cotangents = cotangents._replace(active=jax.tree.map(jnp.zeros_like, active))

        def iterate(loop_state):
            last, stack, cotangents = loop_state
            next_stop = jnp.maximum((last - 1) // self.steps_per_sample * self.steps_per_sample, first)
            stack, cotangents = steps.pull_back(stack, cotangents, next_stop, last, first)

            def read_carry():
                return steps.read_carry(stack, cotangents.carry, next_stop - first)

            return (
                next_stop,
                stack,
                self._pull_back_sample(read_carry, active, cotangents, series_bar, next_stop, fixed),
            )

        _, stack, first_cotangents = jax.lax.while_loop(
            lambda loop_state: loop_state[0] > first, iterate, (last, stack, cotangents)
        )
        if expand_vjp:
            first_cotangents = first_cotangents._replace(
                active=jax.tree.map(jnp.add, active_bar, expand_vjp(first_cotangents.active)[0])
            )
        return stack, first_cotangents

    def _pull_back_sample(self, read_carry, active, cotangents, series_bar, n, fixed):
        """The Cotangents plus the contribution of the sample at step n, if any; read_carry() is the carry there."""

        def add_sample_cotangents(cotangents):
            k = n // self.steps_per_sample
            _, observe_vjp = jax.vjp(lambda c, a: self.trajectory.observe(c, a, k, fixed), read_carry(), active)
            sample_cotangents = observe_vjp(jax.tree.map(lambda s: s[k], series_bar))
            carry_bar, active_bar = jax.tree.map(jnp.add, cotangents[:2], sample_cotangents)
            return Cotangents(carry_bar, active_bar, cotangents.per_cell_gradients)

        return jax.lax.cond(
            n % self.steps_per_sample == 0, add_sample_cotangents, lambda cotangents: cotangents, cotangents
        )

    def _control_cotangents(self, x, cotangents, fixed):
        """The cotangents of the controls, without the sums of `per_cell_gradients`.

        Those of numbers and vectors are summed over blocks.
        """
        _, start_vjp = jax.vjp(partial(self.trajectory.start, fixed=fixed), x)
        gradients = start_vjp((cotangents.carry, cotangents.active))[0]
        return jax.tree.map(lambda bar: self.transport.sum(bar) if bar.ndim < 2 else bar, gradients)
