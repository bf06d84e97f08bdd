"""The steps of a trajectory by the native step and its derivatives: adjoint, tangent, the adjoint of the tangent."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from ..executors.native import tape
from ..executors.native.compile import obstacle
from ..executors.native.kernel import Kernel, register
from ..executors.native.tape import StepDirection
from ..executors.native.trace import kinds_of
from ..model.resolve import say_slower
from ..parallel.transport.halo import surround_named, within
from .controls import replace
from .steps import Cotangents


class Native:
    """The native step and its adjoint, or, for pairs, its tangent and the adjoint of the tangent.

    Derivatives treat a control that is a number as one number in each row; its adjoint is summed over the steps in
    each cell.

    Args:
        kernel: that of the step forward.
        transport: for messages.
        controls: names of those that are no initial fields, in order.
        pairs: whether carry and active fields are pairs of a value and its tangent.
    """

    def __init__(self, kernel: Kernel, transport, controls: tuple[str, ...], pairs: bool = False):
        register()
        self.kernel, self.transport, self.controls, self.pairs = kernel, transport, controls, pairs
        self.margin, self.wide = kernel.scheme.margin, reach_back(kernel.scheme)
        self._available: dict[tuple, bool] = {}
        self._kernels_of: dict[tuple, list] = {}
        forward = kernel._replace(derivative=("tangent",), controls=controls) if pairs else kernel
        derivative = (*forward.derivative, "adjoint")
        self.inner = tuple(slice(self.margin, self.margin + length) for length in transport.shape)
        self.forward = forward
        self.back = forward._replace(margin=self.wide, derivative=derivative, controls=controls)

    def tangent(self) -> Native:
        """That of pairs."""
        return Native(self.kernel, self.transport, self.controls, pairs=True)

    def settle(self, active, fixed, back: bool) -> None:
        """Agree with all processes whether they take native steps, `back` too; called before a program is traced."""
        shapes = tuple(leaf.shape for leaf in jax.tree.leaves(active))
        if shapes not in self._kernels_of:

            def look(active, fixed):  # traced, as arrays in a program are those of a block
                self._kernels_of[shapes] = self._both(active, fixed)
                return fixed.dt

            jax.eval_shape(self.transport.jit(look), active, fixed)
        for key in self._kernels_of[shapes][: 1 + back]:
            if key not in self._available:
                missing = self._missing(*key, fixed.dt.dtype)
                self._available[key] = not self.transport.any(bool(missing))
                if not self._available[key]:
                    say_slower(missing or "another process has none for these derivatives")

    def available(self, active, fixed, back: bool) -> bool:
        """Whether all processes have native steps forward and, if `back`, those too."""
        return all(self._available[key] for key in self._both(active, fixed)[: 1 + back])

    def named(self, active) -> list:
        """The active fields by name, their tangents as "d." + name; in the order of their leaves."""
        parts = zip(("", "d."), active, strict=True) if self.pairs else [("", active)]
        return [(prefix + name, field) for prefix, of in parts for name, field in sorted(of.items())]

    def steps(self, active, fixed, recorded: bool, back: bool) -> NativeSteps:
        """The steps forward; if `recorded`, those that one can go back along; if `back`, also these steps back."""
        named, least, behind = dict(self.named(active)), 0, None
        if recorded or back:  # in one memory: both have as many columns on either side
            both = self._both(active, fixed)
            least = max(kernel.lead(kernel.made(kinds, fixed.dt.dtype)) for kernel, kinds in both)
        if back:
            fields = {name: field[self.inner] for name, field in named.items() if field.shape != (1, 1)}
            lined = {name: self._lined(field, self.wide) for name, field in named.items()}
            widened = lined | surround_named(fields, self.wide, self.transport)
            behind = self._direction(self.back, least, replace(*fixed.wide, widened), fixed.dt)
        if self.pairs:
            named = {name: self._lined(field, self.margin) for name, field in named.items()}
        ahead = self._direction(self.forward, least, replace(fixed.grid, fixed.params, named), fixed.dt)
        return NativeSteps(self, active, ahead, behind)

    def _direction(self, kernel, least: int, static, dt) -> StepDirection:
        kernel = kernel._replace(least=least)
        return StepDirection(kernel, kernel.static_of(*static, self.transport.shape, jnp), dt, self.transport)

    def _lined(self, field, margin: int):
        """A number as a line: one number in each row."""
        return jnp.broadcast_to(field, (self.transport.shape[0] + 2 * margin, 1)) if field.shape == (1, 1) else field

    def _both(self, active, fixed) -> list:
        """The kernels forward and back, each with the kinds of its static fields."""

        def kinds(lined: bool):
            named = {name: self._lined(field, 1) if lined else field for name, field in self.named(active)}
            return kinds_of(*replace(fixed.grid, fixed.params, named))

        return [(self.forward, kinds(self.pairs)), (self.back, kinds(True))]

    def _missing(self, kernel, kinds, dtype) -> str:
        """Why there is no such native step here, or not for blocks so small; empty if there is."""
        if found := obstacle(kernel.request(kinds, dtype)):
            return found
        made, smallest = kernel.made(kinds, dtype), min(self.transport.smallest)
        if made.width <= smallest and made.margin <= kernel.margin:
            return ""
        way = "back " if "adjoint" in kernel.derivative else ""
        return f"a step {way}reads {made.width} cells away, and a block has {smallest} rows or columns"


class NativeSteps(NamedTuple):
    """Native Steps by the calls `ahead` and, where they go back, `behind`."""

    native: Native
    active: Any
    ahead: StepDirection
    behind: StepDirection | None

    def run(self, carry, first, last):
        return self.ahead.run(carry, first, last)

    def blank(self, carry, length: int):
        return tape.blank(self.ahead, self.behind, length)

    def record(self, stack, carry, first, last, origin):
        return self.ahead.record(stack, carry, first, last, origin)

    def recorded(self, stack, like, slot):
        known, (fields, tree) = tape.state(stack, self.ahead, slot), jax.tree.flatten(like)
        names = zip(self.ahead.names(), fields, strict=True)
        return tree.unflatten([known.get(name, jnp.zeros_like(field)) for name, field in names])

    def zero(self, carry) -> Cotangents:
        numbers = [name for name, field in self.native.named(self.active) if field.shape == (1, 1)]
        spread = {name: jnp.zeros(self.native.transport.shape, self.ahead.dt.dtype) for name in numbers}
        return Cotangents(*jax.tree.map(jnp.zeros_like, (carry, self.active)), spread)

    def pull(self, stack, cotangents, first, last, origin):
        transport, inner = self.native.transport, self.native.inner
        bars = dict(self.native.named(cotangents.active))
        sums = {name: bar[inner] for name, bar in bars.items() if name not in cotangents.spread} | cotangents.spread
        stack, carry, sums = tape.pull(stack, self.behind, cotangents.carry, sums, (first, last, origin))
        spread = {name: sums.pop(name) for name in cotangents.spread}
        ours = within(jnp.ones(transport.shape), transport.extent()) > 0  # the halo may begin beyond it
        bars |= {name: bars[name].at[inner].set(jnp.where(ours, sums[name], bars[name][inner])) for name in sums}
        leaves = jax.tree.structure(cotangents.active).unflatten(list(bars.values()))
        return stack, Cotangents(carry, leaves, spread)


def reach_back(scheme) -> int:
    """How many cells around a block the static fields need for the way back: the reach of all that reads a cell."""
    return scheme.margin_of(2)
