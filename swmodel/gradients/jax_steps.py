"""The steps of a trajectory forward and back, in JAX; `native_steps` has them by the native step.

Active fields are those of `trajectory`; `first`, `last` and `stack_start` are numbers of steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp


class Cotangents(NamedTuple):
    """Derivatives of a number with respect to a carry and to the active fields."""

    carry: Any
    active: Any
    per_cell_gradients: dict  # {name of a control that is a number: field [ny, nx] whose sum is the derivative}


class JaxSteps(NamedTuple):
    """Steps by step(carry, active, n, fixed) -> carry, back by its derivative; a stack has the carry before each."""

    step: Callable
    active: Any
    fixed: Any

    def run(self, carry, first, last):
        """The carry at step `last`, from the one at `first`."""
        return jax.lax.fori_loop(first, last, lambda n, c: self.step(c, self.active, n, self.fixed), carry)

    def empty_stack(self, carry, length: int):
        """An empty stack that can record `length` steps."""
        return jax.tree.map(lambda x: jnp.zeros((length, *x.shape), x.dtype), carry)

    def record(self, stack, carry, first, last, stack_start):
        """The stack, which begins at step `stack_start`, with the steps from `first` to `last`, and the carry after
        them.
        """

        def iterate(n, state):
            stack, carry = state
            stack = jax.tree.map(lambda all_, one: all_.at[n - stack_start].set(one), stack, carry)
            return stack, self.step(carry, self.active, n, self.fixed)

        return jax.lax.fori_loop(first, last, iterate, (stack, carry))

    def read_carry(self, stack, template, slot):
        """The carry in a slot of the stack, in the structure of `template`; the stepper's memory may be zero."""
        return jax.tree.map(lambda all_: all_[slot], stack)

    def zero_cotangents(self, carry) -> Cotangents:
        """Cotangents that are zero."""
        return Cotangents(*jax.tree.map(jnp.zeros_like, (carry, self.active)), {})

    def pull_back(self, stack, cotangents, first, last, stack_start):
        """The stack, and the Cotangents at step `first`, from those at `last`, along the recorded steps."""

        def iterate(i, cotangents):
            n = last - 1 - i
            carry = self.read_carry(stack, cotangents.carry, n - stack_start)
            _, step_vjp = jax.vjp(lambda c, a: self.step(c, a, n, self.fixed), carry, self.active)
            carry_bar, active_bar = step_vjp(cotangents.carry)
            return Cotangents(
                carry_bar, jax.tree.map(jnp.add, cotangents.active, active_bar), cotangents.per_cell_gradients
            )

        return stack, jax.lax.fori_loop(0, last - first, iterate, cotangents)
