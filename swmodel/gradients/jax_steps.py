"""Forward and adjoint steps of a trajectory in JAX; `native_steps` computes them with generated C++.

Active fields are those of `trajectory`; `first`, `last` and `stack_start` are step numbers.
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
    #: {name of an active field that is a number: field [ny, nx] whose sum is the contribution of native steps}.
    per_cell_gradients: dict


class JaxSteps(NamedTuple):
    """Steps by step(carry, active, n, fixed) -> carry, and adjoint steps by its transpose.

    A stack [slots, ...] holds the carry before each recorded step.
    """

    step: Callable
    active: Any
    fixed: Any

    def run(self, carry, first, last):
        """The carry at step `last`, from the one at `first`."""
        return jax.lax.fori_loop(first, last, lambda n, c: self.step(c, self.active, n, self.fixed), carry)

    def empty_stack(self, carry, length: int):
        return jax.tree.map(lambda x: jnp.zeros((length, *x.shape), x.dtype), carry)

    def record(self, stack, carry, first, last, stack_start):
        """The stack with the carries before the steps from `first` to `last` - 1, and the carry at `last`.

        Slot 0 of the stack belongs to step `stack_start`.
        """

        def iterate(n, loop_state):
            stack, carry = loop_state
            stack = jax.tree.map(lambda slots, value: slots.at[n - stack_start].set(value), stack, carry)
            return stack, self.step(carry, self.active, n, self.fixed)

        return jax.lax.fori_loop(first, last, iterate, (stack, carry))

    def read_carry(self, stack, template, slot):
        """The carry in a slot of the stack, with the structure of `template`.

        The stepper's memory in it may be zero, because the stack of NativeSteps holds only states, except with `gfb`.
        """
        return jax.tree.map(lambda slots: slots[slot], stack)

    def zero_cotangents(self, carry) -> Cotangents:
        carry_bar, active_bar = jax.tree.map(jnp.zeros_like, (carry, self.active))
        return Cotangents(carry_bar, active_bar, {})

    def pull_back(self, stack, cotangents, first, last, stack_start):
        """The stack, and the Cotangents at step `first` from those at `last`, by adjoint steps along the stack."""

        def iterate(i, cotangents):
            n = last - 1 - i
            carry = self.read_carry(stack, cotangents.carry, n - stack_start)
            _, step_vjp = jax.vjp(lambda c, a: self.step(c, a, n, self.fixed), carry, self.active)
            carry_bar, active_bar = step_vjp(cotangents.carry)
            return Cotangents(
                carry_bar, jax.tree.map(jnp.add, cotangents.active, active_bar), cotangents.per_cell_gradients
            )

        return stack, jax.lax.fori_loop(0, last - first, iterate, cotangents)
