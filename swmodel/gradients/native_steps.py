"""The steps of a trajectory by the native step and what is made of it: adjoint, tangent, the adjoint of the tangent."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from ..executors.native import tape as tapes
from ..executors.native.compile import obstacle
from ..executors.native.kernel import Kernel, register
from ..executors.native.trace import carried, kinds_of
from ..parallel.transport.halo import surround_far, within
from .controls import replace
from .steps import Cotangents, InJax


class Native:
    """The native step, its adjoint, and for pairs its tangent and the adjoint of that.

    Where one of them cannot be had on some process, all take that in JAX. A control that is a number is to derivatives
    one of each row, and its adjoint is summed over the steps in each cell.

    Args:
        slow: the steps InJax.
        kernel: of the step forward.
        transport: for messages.
        pairs: whether carry and active fields are pairs, of the second the tangent.
    """

    def __init__(self, slow: InJax, kernel: Kernel, transport, controls, pairs: bool):
        register()
        self.slow, self.transport, self.pairs = slow, transport, pairs
        self.width, self.wide = kernel.scheme.width, reach_back(kernel.scheme)
        self._there: dict[tuple, bool] = {}
        self._seen: dict[tuple, list] = {}
        tangent = {"derivative": ("tangent",), "controls": tuple(controls)}
        self.ahead = kernel._replace(**tangent) if pairs else kernel
        back = {"derivative": (*self.ahead.derivative, "adjoint"), "controls": tuple(controls)}
        self.behind = self.ahead._replace(margin=self.wide, **back)

    def settle(self, active, fixed, back=False):
        shapes = tuple(leaf.shape for leaf in jax.tree.leaves(active))
        if shapes not in self._seen:

            def look(active, fixed):  # as the arrays of a block are seen in a program
                self._seen[shapes] = self._both(active, fixed)
                return fixed.dt

            jax.eval_shape(self.transport.jit(look), active, fixed)
        for key in self._seen[shapes][: 1 + back]:
            if key not in self._there:
                self._there[key] = not self.transport.any(self._missing(*key, fixed.dt.dtype))

    def prepare(self, active, fixed, recording=False):
        named = dict(self._named(active))
        if self.pairs:
            named = {name: self._lined(field, self.width + 1) for name, field in named.items()}
        static = replace(fixed.grid, fixed.params, named)
        if not self._there[self.ahead, kinds_of(*static)]:
            return self.slow.prepare(active, fixed)
        kernel = self.ahead
        if recording and self._back_there(active, fixed):
            kernel = kernel._replace(least=self._lead(active, fixed))
        return tapes.Way(kernel, kernel.static_of(*static, self.transport.shape, jnp), fixed.dt, self.transport)

    def prepare_back(self, active, fixed):
        if not self._back_there(active, fixed):
            return self.slow.prepare_back(active, fixed)
        static = replace(*fixed.wide, {name: self._widened(field) for name, field in self._named(active)})
        kernel = self.behind._replace(least=self._lead(active, fixed))
        back = tapes.Way(kernel, kernel.static_of(*static, self.transport.shape, jnp), fixed.dt, self.transport)
        return self.prepare(active, fixed, recording=True), back

    def run(self, carry, static, first, last):
        if not isinstance(static, tapes.Way):
            return self.slow.run(carry, static, first, last)
        fields, tree = jax.tree.flatten(carry)
        shift, extent = self.transport.shift, self.transport.extent()
        return tree.unflatten(static.kernel.run(fields, static.static, static.dt, shift, first, last - first, extent))

    def blank(self, carry, active, fixed, length: int):
        if not self._back_there(active, fixed):
            return self.slow.blank(carry, active, fixed, length)
        return tapes.blank(*self.prepare_back(active, fixed), length)

    def record(self, stack, carry, static, first, last, origin):
        if isinstance(stack, tapes.Tape):
            return tapes.record(stack, static, carry, first, last, origin)
        return self.slow.record(stack, carry, static, first, last, origin, self.run)

    def zero(self, carry, active, fixed) -> Cotangents:
        found = self.slow.zero(carry, active, fixed)
        if not self._back_there(active, fixed):
            return found
        numbers = [name for name, field in self._named(active) if field.shape == (1, 1)]
        return found._replace(spread={name: jnp.zeros(self.transport.shape, fixed.dt.dtype) for name in numbers})

    def pull(self, stack, cotangents, static, first, last, origin):
        if not isinstance(stack, tapes.Tape):
            return self.slow.pull(stack, cotangents, static, first, last, origin)
        margin, (rows, columns) = self.width + 1, self.transport.shape
        inner = slice(margin, margin + rows), slice(margin, margin + columns)
        bars = dict(self._named(cotangents.active))
        sums = {name: bar[inner] for name, bar in bars.items() if name not in cotangents.spread} | cotangents.spread
        stack, carry, sums = tapes.pull(stack, *static, cotangents.carry, sums, (first, last, origin))
        spread = {name: sums.pop(name) for name in cotangents.spread}
        ours = within(jnp.ones(self.transport.shape), self.transport.extent()) > 0  # the halo may begin beyond it
        bars |= {name: bars[name].at[inner].set(jnp.where(ours, sums[name], bars[name][inner])) for name in sums}
        leaves = jax.tree.structure(cotangents.active).unflatten(list(bars.values()))
        return stack, Cotangents(carry, leaves, spread)

    def recorded(self, stack, like, static, slot):
        if not isinstance(stack, tapes.Tape):
            return self.slow.recorded(stack, like, static, slot)
        names = carried(self.ahead.scheme, self.ahead.method, self.ahead.derivative)
        known = tapes.state(stack, static[0], slot)
        fields, tree = jax.tree.flatten(like)
        return tree.unflatten([known.get(name, jnp.zeros_like(x)) for name, x in zip(names, fields, strict=True)])

    def _named(self, active) -> list:
        """The active fields by name, tangents as "d." + name; in the order of their leaves."""
        parts = zip(("", "d."), active, strict=True) if self.pairs else [("", active)]
        return [(prefix + name, field) for prefix, of in parts for name, field in sorted(of.items())]

    def _lined(self, field, margin: int):
        """A number as one of each row."""
        return jnp.broadcast_to(field, (self.transport.shape[0] + 2 * margin, 1)) if field.shape == (1, 1) else field

    def _widened(self, field):
        """An active field with the margin of the way back."""
        if field.shape == (1, 1):
            return self._lined(field, self.wide)
        inner = tuple(slice(self.width + 1, self.width + 1 + length) for length in self.transport.shape)
        return surround_far(field[inner], self.wide, self.transport.shift, self.transport.extent())

    def _kinds(self, active, fixed, lined: bool):
        """How static fields are read, numbers that are controls as lines or not."""
        named = {name: self._lined(field, 1) if lined else field for name, field in self._named(active)}
        return kinds_of(*replace(fixed.grid, fixed.params, named))

    def _both(self, active, fixed) -> list:
        """The kernels of both ways, each with the kinds of its static fields."""
        ways = (self.ahead, self.pairs), (self.behind, True)
        return [(kernel, self._kinds(active, fixed, lined)) for kernel, lined in ways]

    def _back_there(self, active, fixed) -> bool:
        """Whether all processes have both ways."""
        return all(self._there[key] for key in self._both(active, fixed))

    def _lead(self, active, fixed) -> int:
        """Columns that both ways need on either side."""
        both = self._both(active, fixed)
        return max(kernel.lead(kernel.made(kinds, fixed.dt.dtype)) for kernel, kinds in both)

    def _missing(self, kernel, kinds, dtype) -> bool:
        """Whether a step cannot be had here, or reads further than the neighbouring blocks or static fields go."""
        if obstacle(kernel.request(kinds, dtype)):
            return True
        made = kernel.made(kinds, dtype)
        return made.width > min(self.transport.smallest) or made.margin > kernel.margin


def reach_back(scheme) -> int:
    """Cells around a block of whose static fields the way back depends: as far as what is read by what reads a cell."""
    return 2 * scheme.width + 1
