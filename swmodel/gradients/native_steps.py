"""The steps of a trajectory by the native step and its derivatives: adjoint, tangent, the adjoint of the tangent."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

from ..executors.native import tape as tapes
from ..executors.native.compile import obstacle
from ..executors.native.kernel import Kernel, register
from ..executors.native.trace import kinds_of
from ..model.resolve import say_slower
from ..parallel.transport.halo import surround_named, within
from .controls import replace
from .steps import Cotangents, InJax


class Native:
    """The native step and its adjoint, or, for pairs, its tangent and the adjoint of the tangent.

    If some process lacks one of them, all processes take the steps in JAX instead. Derivatives treat a control that is
    a number as one number in each row; its adjoint is summed over the steps in each cell.

    Args:
        slow: the steps InJax.
        kernel: that of the step forward.
        transport: for messages.
        pairs: whether carry and active fields are pairs of a value and its tangent.
    """

    def __init__(self, slow: InJax, kernel: Kernel, transport, controls, pairs: bool):
        register()
        self.slow, self.transport, self.pairs = slow, transport, pairs
        self.margin, self.wide = kernel.scheme.margin, reach_back(kernel.scheme)
        self._there: dict[tuple, bool] = {}
        self._seen: dict[tuple, list] = {}
        tangent = {"derivative": ("tangent",), "controls": tuple(controls)}
        self.forth = kernel._replace(**tangent) if pairs else kernel
        back = {"derivative": (*self.forth.derivative, "adjoint"), "controls": tuple(controls)}
        self.behind = self.forth._replace(margin=self.wide, **back)

    def settle(self, active, fixed, back=False):
        shapes = tuple(leaf.shape for leaf in jax.tree.leaves(active))
        if shapes not in self._seen:

            def look(active, fixed):  # traced, as arrays in a program are those of a block
                self._seen[shapes] = self._both(active, fixed)
                return fixed.dt

            jax.eval_shape(self.transport.jit(look), active, fixed)
        for key in self._seen[shapes][: 1 + back]:
            if key not in self._there:
                missing = self._missing(*key, fixed.dt.dtype)
                self._there[key] = not self.transport.any(bool(missing))
                if not self._there[key]:
                    say_slower(missing or "another process has none for these derivatives")

    def ahead(self, active, fixed, recording=False):
        if not self._has(active, fixed, back=recording):
            return self.slow.ahead(active, fixed, recording)
        named = dict(self.named(active))
        if self.pairs:
            named = {name: self._lined(field, self.margin) for name, field in named.items()}
        kernel = self.forth._replace(least=self._lead(active, fixed)) if recording else self.forth
        return self._way(kernel, replace(fixed.grid, fixed.params, named), fixed.dt)

    def back(self, active, fixed):
        if not self._has(active, fixed, back=True):
            return self.slow.back(active, fixed)
        static = replace(*fixed.wide, self._widened(dict(self.named(active))))
        way = self._way(self.behind._replace(least=self._lead(active, fixed)), static, fixed.dt)
        return WayBack(self, self.ahead(active, fixed, recording=True), way)

    def zero(self, carry, active, fixed) -> Cotangents:
        found = self.slow.zero(carry, active, fixed)
        if not self._has(active, fixed, back=True):
            return found
        numbers = [name for name, field in self.named(active) if field.shape == (1, 1)]
        return found._replace(spread={name: jnp.zeros(self.transport.shape, fixed.dt.dtype) for name in numbers})

    def _way(self, kernel, static, dt) -> tapes.StepDirection:
        """The steps of a kernel with Grid and Params `static`."""
        return tapes.StepDirection(kernel, kernel.static_of(*static, self.transport.shape, jnp), dt, self.transport)

    def named(self, active) -> list:
        """The active fields by name, their tangents as "d." + name; in the order of their leaves."""
        parts = zip(("", "d."), active, strict=True) if self.pairs else [("", active)]
        return [(prefix + name, field) for prefix, of in parts for name, field in sorted(of.items())]

    def _lined(self, field, margin: int):
        """A number as a line: one number in each row."""
        return jnp.broadcast_to(field, (self.transport.shape[0] + 2 * margin, 1)) if field.shape == (1, 1) else field

    def _widened(self, named) -> dict:
        """Active fields by name, with the margin that the way back needs."""
        inner = tuple(slice(self.margin, self.margin + length) for length in self.transport.shape)
        fields = {name: field[inner] for name, field in named.items() if field.shape != (1, 1)}
        lined = {name: self._lined(field, self.wide) for name, field in named.items()}
        return lined | surround_named(fields, self.wide, self.transport)

    def _kinds(self, active, fixed, lined: bool):
        """The kinds of static fields; if `lined`, numbers that are controls count as lines."""
        named = {name: self._lined(field, 1) if lined else field for name, field in self.named(active)}
        return kinds_of(*replace(fixed.grid, fixed.params, named))

    def _both(self, active, fixed) -> list:
        """The kernels forward and back, each with the kinds of its static fields."""
        ways = (self.forth, self.pairs), (self.behind, True)
        return [(kernel, self._kinds(active, fixed, lined)) for kernel, lined in ways]

    def _has(self, active, fixed, back: bool) -> bool:
        """Whether all processes have native steps forward and, if asked, `back`."""
        return all(self._there[key] for key in self._both(active, fixed)[: 1 + back])

    def _lead(self, active, fixed) -> int:
        """Columns on either side that steps forward and back both have."""
        both = self._both(active, fixed)
        return max(kernel.lead(kernel.made(kinds, fixed.dt.dtype)) for kernel, kinds in both)

    def _missing(self, kernel, kinds, dtype) -> str:
        """Why there is no such native step here, or not for blocks so small; empty if there is."""
        if found := obstacle(kernel.request(kinds, dtype)):
            return found
        made, smallest = kernel.made(kinds, dtype), min(self.transport.smallest)
        if made.width <= smallest and made.margin <= kernel.margin:
            return ""
        way = "back " if "adjoint" in kernel.derivative else ""
        return f"a step {way}reads {made.width} cells away, and a block has {smallest} rows or columns"


class WayBack(NamedTuple):
    """The `way` back along native steps that were recorded by those `ahead`."""

    steps: Native
    ahead: tapes.StepDirection
    way: tapes.StepDirection

    def blank(self, carry, length: int):
        return tapes.blank(self.ahead, self.way, length)

    def pull(self, stack, cotangents, first, last, origin):
        margin, shape = self.steps.margin, self.way.transport.shape
        inner = tuple(slice(margin, margin + length) for length in shape)
        bars = dict(self.steps.named(cotangents.active))
        sums = {name: bar[inner] for name, bar in bars.items() if name not in cotangents.spread} | cotangents.spread
        stack, carry, sums = tapes.pull(stack, self.way, cotangents.carry, sums, (first, last, origin))
        spread = {name: sums.pop(name) for name in cotangents.spread}
        ours = within(jnp.ones(shape), self.way.transport.extent()) > 0  # the halo may begin beyond it
        bars |= {name: bars[name].at[inner].set(jnp.where(ours, sums[name], bars[name][inner])) for name in sums}
        leaves = jax.tree.structure(cotangents.active).unflatten(list(bars.values()))
        return stack, Cotangents(carry, leaves, spread)

    def recorded(self, stack, like, slot):
        known, (fields, tree) = tapes.state(stack, self.ahead, slot), jax.tree.flatten(like)
        names = zip(self.ahead.names(), fields, strict=True)
        return tree.unflatten([known.get(name, jnp.zeros_like(field)) for name, field in names])


def reach_back(scheme) -> int:
    """How many cells around a block the static fields need for the way back: the reach of all that reads a cell."""
    return scheme.margin_of(2)
