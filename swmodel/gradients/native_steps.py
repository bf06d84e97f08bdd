"""The steps of a trajectory by the native step and its derivatives: adjoint, tangent, the adjoint of the tangent.

The memory of the native calls (the stack) records a trajectory: it has a slot for the state before each step and one
for the last state. Further planes hold the stepper's memory on the way forward, and adjoints on the way back. A step
forward reads a slot and writes the next one, so recording needs no copies.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..executors.availability import GENERATED
from ..executors.native.calls import Calls, Edges, Rotation
from ..executors.native.kernel import Kernel
from ..executors.native.trace import kinds_of
from ..executors.targets import TARGETS
from ..model.resolve import say_slower
from ..parallel.transport.halo import surround_named, within
from .controls import replace
from .steps import Cotangents


class Native:
    """The native step and its adjoint, or, for pairs, its tangent and the adjoint of the tangent.

    Derivatives treat a control that is a number as one number in each row; its adjoint is a sum over the steps in each
    cell.

    Args:
        kernel: the Kernel of the step forward.
        transport: the transport for messages.
        controls: names of the controls that are no initial fields, in order.
        executor: whose machine code computes them, "native" or "cuda".
        pairs: whether carry and active fields are pairs of a value and its tangent.
    """

    def __init__(self, kernel: Kernel, transport, controls: tuple[str, ...], executor: str, pairs: bool = False):
        self.target, self.executor = TARGETS[executor], executor
        self.target.register()
        self.kernel, self.transport, self.controls, self.pairs = kernel, transport, controls, pairs
        self.margin, self.wide = kernel.scheme.margin, reach_back(kernel.scheme)
        self.inner = tuple(slice(self.margin, self.margin + length) for length in transport.shape)
        self.forward = kernel._replace(derivative=("tangent",), controls=controls) if pairs else kernel
        derivative = (*self.forward.derivative, "adjoint")
        self.back = self.forward._replace(margin=self.wide, derivative=derivative, controls=controls)
        self._available: dict[tuple, bool] = {}

    def tangent(self) -> Native:
        """The Native of pairs."""
        return Native(self.kernel, self.transport, self.controls, self.executor, pairs=True)

    def settle(self, active, fixed, back: bool) -> None:
        """Agree with all processes on native steps, also `back`, before a program is traced."""
        both = []

        def look(active, fixed):  # traced, as a program has the arrays of a block
            both.extend(self._both(active, fixed))
            return fixed.dt

        jax.eval_shape(self.transport.jit(look), active, fixed)
        for key in both[: 1 + back]:
            if key not in self._available:
                missing = self._missing(*key, fixed.dt.dtype)
                self._available[key] = not self.transport.any(bool(missing))
                if not self._available[key]:
                    say_slower(missing or "another process cannot use it for these derivatives")

    def available(self, active, fixed, back: bool) -> bool:
        """Whether all processes have native steps forward and, if `back`, back."""
        return all(self._available[key] for key in self._both(active, fixed)[: 1 + back])

    def named(self, active) -> dict:
        """The active fields by name, tangents as "d." + name, in the order of their leaves."""
        parts = zip(("", "d."), active, strict=True) if self.pairs else [("", active)]
        return {prefix + name: field for prefix, of in parts for name, field in sorted(of.items())}

    def steps(self, active, fixed, recorded: bool, back: bool) -> NativeSteps:
        """The steps forward, with a record if `recorded`, and with steps back along it if `back`."""
        named, least, behind = self.named(active), 0, None
        if recorded or back:  # one memory, with the same number of columns on either side
            both = self._both(active, fixed)
            least = max(kernel.lead(kernel.made(kinds, fixed.dt.dtype)) for kernel, kinds in both)
        if back:
            fields = {name: field[self.inner] for name, field in named.items() if field.shape != (1, 1)}
            lined = {name: self._lined(field, self.wide) for name, field in named.items()}
            widened = lined | surround_named(fields, self.wide, self.transport)
            behind = self._calls(self.back, least, replace(*fixed.wide, widened), fixed.dt)
        if self.pairs:
            named = {name: self._lined(field, self.margin) for name, field in named.items()}
        ahead = self._calls(self.forward, least, replace(fixed.grid, fixed.params, named), fixed.dt)
        return NativeSteps(self, active, ahead, behind)

    def _calls(self, kernel, least: int, static, dt) -> Calls:
        kernel = kernel._replace(least=least)
        return self.target.calls(kernel, kernel.static_of(*static, self.transport.shape, jnp), dt, self.transport)

    def _lined(self, field, margin: int):
        """A number as a line: one number in each row."""
        return jnp.broadcast_to(field, (self.transport.shape[0] + 2 * margin, 1)) if field.shape == (1, 1) else field

    def _both(self, active, fixed) -> list:
        """The kernels forward and back, each with the kinds of its static fields."""

        def kinds(lined: bool):
            named = {name: self._lined(field, 1) if lined else field for name, field in self.named(active).items()}
            return kinds_of(*replace(fixed.grid, fixed.params, named))

        return [(self.forward, kinds(self.pairs)), (self.back, kinds(True))]

    def _missing(self, kernel, kinds, dtype) -> str:
        """Why this native step is not available here, or for such small blocks; empty if it is."""
        if found := GENERATED[self.executor].by_compiler(kernel.request(kinds, dtype)):
            return found
        made, smallest = kernel.made(kinds, dtype), min(self.transport.smallest)
        if made.width <= smallest and made.margin <= kernel.margin:
            return ""
        way = "back " if "adjoint" in kernel.derivative else ""
        return f"a step {way}reads {made.width} cells away, but a block has {smallest} rows or columns"


@partial(jax.tree_util.register_dataclass, meta_fields=("recorded", "slots"), data_fields=("memory",))
@dataclass
class Tape:
    """The memory of a trajectory, with `slots` of `recorded` fields."""

    recorded: tuple[str, ...]
    slots: int
    memory: Any = None

    def planes(self, fields, others: Rotation, turn, number: int, slots):
        """[3, fields]: the planes where a pass reads each field, writes it, and hands it to the neighbours.

        Args:
            others: the planes of the fields that are not recorded; `turn` is the number of the step since the first.
            number: the number of the pass.
            slots: those of the recorded fields, to read, to write and to hand on.
        """
        recorded = np.array([[name in self.recorded for name in fields]])
        own = np.array([[self.recorded.index(name) if name in self.recorded else 0 for name in fields]], np.int32)
        slots = jnp.stack([jnp.asarray(slot, jnp.int32) for slot in slots])[:, None]
        behind = self.slots * len(self.recorded) + others.at(turn, number)
        return jnp.where(recorded, own + slots * len(self.recorded), behind)

    def recorded_at(self, slot):
        """[fields]: the planes of the recorded fields in a slot."""
        return jnp.arange(len(self.recorded), dtype=jnp.int32) + slot * len(self.recorded)


class NativeSteps(NamedTuple):
    """As `steps.InJax`, by the calls `ahead`, and `behind` for steps back; the stack is a Tape."""

    native: Native
    active: Any
    ahead: Calls
    behind: Calls | None

    def run(self, carry, first, last):
        fields, tree = jax.tree.flatten(carry)
        return tree.unflatten(self.ahead.run(fields, first, last - first)[0])

    def blank(self, carry, length: int) -> Tape:
        ahead = self.ahead.made
        tape = Tape(ahead.programs[0].reads, length + 1)
        others = max(call.planes_in_turn(tape.recorded).count for call in (self.ahead, self.behind))
        most = tape.slots * len(tape.recorded) + others
        return Tape(tape.recorded, tape.slots, self.ahead.put((), (), most=most))

    def record(self, stack: Tape, carry, first, last, origin):
        call, fields = self.ahead, call_fields(self.ahead, carry)
        at, others = jnp.array(call.numbers_of(call.names)), call.planes_in_turn(stack.recorded)

        def planes_at(n, number=0, later=0):
            slot, turn = n - origin, n - first
            return stack.planes(call.made.fields, others, turn, number, (slot, slot + 1, slot + 1))

        memory, flags = call.put(planes_at(first)[0][at], list(fields.values()), stack.memory), call.flags()
        edges = Edges.of([fields[name] for name in call.made.programs[0].reads], call.width, call.extent)

        def step(n, now):
            return call.step(*now, n, flags, 1, partial(planes_at, n))

        memory, _ = jax.lax.fori_loop(first, last, step, (memory, edges))
        later = jax.tree.structure(carry).unflatten(call.get(memory, planes_at(last)[0][at]))
        return Tape(stack.recorded, stack.slots, memory), later

    def recorded(self, stack: Tape, like, slot):
        fields = self.ahead.get(stack.memory, stack.recorded_at(slot))
        known = call_fields(self.ahead, jax.tree.map(jnp.zeros_like, like))
        known |= zip(stack.recorded, fields, strict=True)
        return jax.tree.structure(like).unflatten([known[name] for name in self.ahead.names])

    def zero(self, carry) -> Cotangents:
        numbers = [name for name, field in self.native.named(self.active).items() if field.shape == (1, 1)]
        spread = {name: jnp.zeros(self.native.transport.shape, self.ahead.dt.dtype) for name in numbers}
        return Cotangents(*jax.tree.map(jnp.zeros_like, (carry, self.active)), spread)

    def pull(self, stack: Tape, cotangents: Cotangents, first, last, origin):
        call, made, inner = self.behind, self.behind.made, self.native.inner
        active_bars, spread = self.native.named(cotangents.active), cotangents.spread
        sums = {name: bar[inner] for name, bar in active_bars.items() if name not in spread} | spread
        every = {f"bar.{name}": field for name, field in call_fields(call, cotangents.carry).items()}
        every |= {f"grad.{name}": field for name, field in sums.items()}
        given = {name: field for name, field in every.items() if name in made.fields}  # others do not change
        at, reads = (jnp.array(call.numbers_of(some)) for some in (given, made.programs[0].reads))
        others, latest = call.planes_in_turn(stack.recorded), len(made.programs) - 1

        def planes_at(n, turn, number=0, later=0):
            slot = n - origin  # what the last pass hands on is what the step before reads
            handed = jnp.maximum(slot - int(number == latest), 0)
            return stack.planes(made.fields, others, turn, number, (slot, slot, handed))

        memory, flags = call.put(planes_at(last, 0)[0][at], list(given.values()), stack.memory), call.flags()
        edges = Edges.of(call.get(memory, planes_at(last - 1, 0)[0][reads]), call.width, call.extent)

        def step(i, now):
            n = last - 1 - i
            return call.step(*now, n, flags, 1, partial(planes_at, n, i))

        memory, _ = jax.lax.fori_loop(0, last - first, step, (memory, edges))
        every |= zip(given, call.get(memory, planes_at(last, last - first)[0][at]), strict=True)
        carry = jax.tree.structure(cotangents.carry).unflatten([every[f"bar.{name}"] for name in call.names])
        ours = within(jnp.ones(call.shape), call.extent) > 0  # the halo may begin beyond it
        for name in [name for name in sums if name not in spread]:
            bar = active_bars[name]
            active_bars[name] = bar.at[inner].set(jnp.where(ours, every[f"grad.{name}"], bar[inner]))
        active = jax.tree.structure(cotangents.active).unflatten(list(active_bars.values()))
        spread = {name: every[f"grad.{name}"] for name in spread}
        return Tape(stack.recorded, stack.slots, memory), Cotangents(carry, active, spread)


def call_fields(call: Calls, carry) -> dict:
    """The fields of a carry by their names in a call."""
    return dict(zip(call.names, jax.tree.leaves(carry), strict=True))


def reach_back(scheme) -> int:
    """The cells around a block that static fields need for the way back: the reach of all readers of a cell."""
    return scheme.margin_of(2)
