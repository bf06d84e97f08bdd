"""A trajectory recorded in the memory of native steps, and the way back along it.

The memory has a slot for the state before each step and one for the last state. Behind the slots are planes for what
the steps remember on the way forward, and for adjoints on the way back. A step forward reads a slot and writes the next
one, so recording copies nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from .calls import Calls, Static
from .kernel import Kernel
from .trace import carried


class Places(NamedTuple):
    """Where the fields are in the memory of a tape.

    Attributes:
        recorded: names of the fields that have slots.
        slots: how many there are.
    """

    recorded: tuple[str, ...]
    slots: int

    def of(self, fields, read=0, written=0, given=0):
        """[3, fields]: the planes where each field is read, written and handed to the neighbours, in these slots."""
        others = [name for name in fields if name not in self.recorded]
        behind = self.slots * len(self.recorded)
        fixed = [self.recorded.index(n) if n in self.recorded else behind + others.index(n) for n in fields]
        steps = np.array([len(self.recorded) if name in self.recorded else 0 for name in fields], np.int32)
        return jnp.stack([jnp.asarray(fixed, jnp.int32) + slot * steps for slot in (read, written, given)])

    def planes(self, *fields) -> int:
        """How many planes hold the slots and the longest of several lists of fields."""
        behind = max(sum(name not in self.recorded for name in names) for names in fields)
        return self.slots * len(self.recorded) + behind


@partial(jax.tree_util.register_dataclass, meta_fields=("places",), data_fields=("memory",))
@dataclass
class Tape:
    """The memory of a trajectory."""

    places: Places
    memory: Any


class StepDirection(NamedTuple):
    """Steps on a block in one direction: forward or back.

    Attributes:
        kernel: its calls, with one step in a sweep.
        static: the static fields of the kernel.
        dt: time step, s.
        transport: what brings the halos.
    """

    kernel: Kernel
    static: Static
    dt: Any
    transport: Any

    def calls(self) -> Calls:
        """Its foreign calls."""
        to = self.transport
        return Calls(self.kernel, self.static, self.dt, to.shape, to.shift, to.extent())

    def names(self) -> tuple[str, ...]:
        """The names of the fields of a carry."""
        return carried(self.kernel.scheme, self.kernel.method, self.kernel.derivative)

    def run(self, carry, first, last):
        """The carry at step `last`, from the one at step `first`."""
        fields, tree = jax.tree.flatten(carry)
        shift, extent = self.transport.shift, self.transport.extent()
        return tree.unflatten(self.kernel.run(fields, self.static, self.dt, shift, first, last - first, extent)[0])

    def record(self, stack: Tape, carry, first, last, origin):
        """The tape with the steps from `first` to `last`, and the carry after them; slot 0 holds step `origin`."""
        call = self.calls()
        made, places = call.made, stack.places
        fields, tree = jax.tree.flatten(carry)
        given, at = dict(zip(self.names(), fields, strict=True)), jnp.array(call.numbers_of(self.names()))

        def planes_at(n):
            slot = n - origin
            return places.of(made.fields, slot, slot + 1, slot + 1)

        memory, flags = call.put(planes_at(first)[0][at], fields, stack.memory), call.flags()
        edges = call.edges([given[name] for name in made.programs[0].reads])

        def step(n, now):
            return call.step(*now, n, flags, planes=lambda number: planes_at(n))

        memory, _ = jax.lax.fori_loop(first, last, step, (memory, edges))
        return Tape(places, memory), tree.unflatten(call.get(memory, planes_at(last)[0][at]))


def blank(forward: StepDirection, back: StepDirection, length: int) -> Tape:
    """An empty tape for `length` steps."""
    call, behind = forward.calls(), back.calls().made
    places = Places(call.made.programs[0].reads, length + 1)
    made = {*places.recorded, *(name for program in behind.programs for name in program.outputs)}
    assert all(name in made or name.startswith(("bar.", "grad.")) for name in behind.fields), "what is not recorded"
    return Tape(places, call.put((), (), most=places.planes(call.made.fields, behind.fields)))


def state(tape: Tape, way: StepDirection, slot) -> dict:
    """The fields in a slot, by name; `way` is the one forward."""
    names = tape.places.recorded
    return dict(zip(names, way.calls().get(tape.memory, tape.places.of(names, slot)[0]), strict=True))


def pull(tape: Tape, way: StepDirection, bars, sums: dict, span):
    """The adjoints before the first step of a span, from those after its last one, along the tape.

    Args:
        way: the one back.
        bars: adjoint of the carry, a pytree like it.
        sums: the sum for each control so far, [ny, nx], by name.
        span: the first step, the one after the last, and the one in slot 0.

    Returns:
        The tape, bars, sums.
    """
    first, last, origin = span
    call = way.calls()
    made, places, names = call.made, tape.places, way.names()
    fields, tree = jax.tree.flatten(bars)
    every = {f"bar.{name}": field for name, field in zip(names, fields, strict=True)}
    every |= {f"grad.{name}": field for name, field in sums.items()}
    given = {name: field for name, field in every.items() if name in made.fields}  # the others stay as they are
    at, reads = (jnp.array(call.numbers_of(some)) for some in (given, made.programs[0].reads))

    def planes_at(n, handed):
        return places.of(made.fields, n - origin, n - origin, jnp.maximum(handed - origin, 0))

    memory, flags = call.put(planes_at(last, last)[0][at], list(given.values()), tape.memory), call.flags()
    edges = call.edges(call.get(memory, planes_at(last - 1, last)[0][reads]))

    def step(i, now):
        n = last - 1 - i
        return call.step(*now, n, flags, planes=lambda number: planes_at(n, n - int(number == len(made.programs) - 1)))

    memory, _ = jax.lax.fori_loop(0, last - first, step, (memory, edges))
    every |= dict(zip(given, call.get(memory, planes_at(last, last)[0][at]), strict=True))
    bars = tree.unflatten([every[f"bar.{name}"] for name in names])
    return Tape(places, memory), bars, {name: every[f"grad.{name}"] for name in sums}
