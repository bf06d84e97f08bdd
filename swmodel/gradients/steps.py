"""The steps of a trajectory forward and back, and how they are made in JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp


class Cotangents(NamedTuple):
    """Derivatives of a number with respect to a carry and to the active fields.

    Attributes:
        carry, active: like these.
        spread: by the name of a control that is a number, [ny, nx], of which its derivative is the sum.
    """

    carry: Any
    active: Any
    spread: dict


class Steps(Protocol):
    """Functions of the arrays of a block; carry, active and fixed as in `trajectory`, n the number of a step."""

    def settle(self, active, fixed, back=False) -> None:
        """Agree with all processes on who computes the steps ahead, and those `back`; before a program is traced."""

    def prepare(self, active, fixed, recording=False):
        """What `run`, or `record`, needs of the fields."""

    def prepare_back(self, active, fixed):
        """What `pull` and `recorded` need of them."""

    def run(self, carry, static, first, last):
        """The carry at step `last` from that at `first`."""

    def blank(self, carry, active, fixed, length: int):
        """What `length` steps are recorded in."""

    def record(self, stack, carry, static, first, last, origin):
        """The stack, whose first step is `origin`, with the steps from `first` to `last`, and the carry after them."""

    def zero(self, carry, active, fixed) -> Cotangents:
        """Cotangents that are zero."""

    def pull(self, stack, cotangents, static, first, last, origin):
        """The stack, and the Cotangents at step `first` from those at `last`."""

    def recorded(self, stack, like, static, slot):
        """The carry in a slot of the stack, like another one; what a stepper remembers may be zero."""


class InJax(NamedTuple):
    """Steps as a function step(carry, active, n, fixed) -> carry."""

    step: Callable

    def settle(self, active, fixed, back=False) -> None:
        pass

    def prepare(self, active, fixed, recording=False):
        return active, fixed

    prepare_back = prepare

    def run(self, carry, static, first, last):
        active, fixed = static
        return jax.lax.fori_loop(first, last, lambda n, c: self.step(c, active, n, fixed), carry)

    def blank(self, carry, active, fixed, length: int):
        return jax.tree.map(lambda x: jnp.zeros((length, *x.shape), x.dtype), carry)

    def record(self, stack, carry, static, first, last, origin, run=None):
        run = run or self.run

        def turn(n, state):
            stack, carry = state
            stack = jax.tree.map(lambda all_, one: all_.at[n - origin].set(one), stack, carry)
            return stack, run(carry, static, n, n + 1)

        return jax.lax.fori_loop(first, last, turn, (stack, carry))

    def zero(self, carry, active, fixed) -> Cotangents:
        return Cotangents(*jax.tree.map(jnp.zeros_like, (carry, active)), {})

    def pull(self, stack, cotangents, static, first, last, origin):
        active, fixed = static

        def turn(i, cotangents):
            n = last - 1 - i
            carry = jax.tree.map(lambda all_: all_[n - origin], stack)
            _, back = jax.vjp(lambda c, a: self.step(c, a, n, fixed), carry, active)
            carry_bar, active_bar = back(cotangents.carry)
            return Cotangents(carry_bar, jax.tree.map(jnp.add, cotangents.active, active_bar), cotangents.spread)

        return stack, jax.lax.fori_loop(0, last - first, turn, cotangents)

    def recorded(self, stack, like, static, slot):
        return jax.tree.map(lambda all_: all_[slot], stack)
