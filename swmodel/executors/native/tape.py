"""A trajectory recorded in the memory of native steps, and the way back along it.

The memory has slots, one for the state before each step and one for the last, and behind them room for what the steps
remember on the way forward, and for adjoints on the way back. A step forward reads a slot and writes the next one, so
that recording costs no copy.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ...parallel.transport.halo import within
from .calls import Calls, Static, edges_of, exchange
from .kernel import Kernel
from .trace import carried


@partial(jax.tree_util.register_dataclass, meta_fields=("length",), data_fields=("memory",))
@dataclass
class Tape:
    """The memory for `length` steps."""

    length: int
    memory: Any


class Way(NamedTuple):
    """Steps in one direction on a block.

    Attributes:
        kernel: one step in a sweep.
        static: its static fields.
        dt: time step, s.
        transport: for halos.
    """

    kernel: Kernel
    static: Static
    dt: Any
    transport: Any

    def calls(self) -> Calls:
        """Its foreign calls."""
        return Calls(self.kernel, self.static, *self.transport.shape, self.dt.dtype, self.transport.extent())


class Places(NamedTuple):
    """Where the fields are in the memory of a tape.

    Attributes:
        recorded: names of the fields that have slots.
        slots: how many there are.
    """

    recorded: tuple[str, ...]
    slots: int

    def of(self, fields, read=0, written=0, given=0):
        """The planes of fields by name, where they are read, written, and given from, each [3, fields]."""
        others = [name for name in fields if name not in self.recorded]
        behind = self.slots * len(self.recorded)
        fixed = [self.recorded.index(n) if n in self.recorded else behind + others.index(n) for n in fields]
        steps = np.array([len(self.recorded) if name in self.recorded else 0 for name in fields], np.int32)
        return jnp.stack([jnp.asarray(fixed, jnp.int32) + slot * steps for slot in (read, written, given)])

    def planes(self, *fields) -> int:
        """How many planes there are, for the longest of several lists of fields."""
        behind = max(sum(name not in self.recorded for name in names) for names in fields)
        return self.slots * len(self.recorded) + behind


def places_of(forward, length: int) -> Places:
    """Where the fields are for `length` steps; `forward` is the Generated step."""
    return Places(forward.programs[0].reads, length + 1)


def blank(forward: Way, back: Way, length: int) -> Tape:
    """A tape for `length` steps, not filled."""
    call, behind = forward.calls(), back.calls().made
    places = places_of(call.made, length)
    made = {*places.recorded, *(name for program in behind.programs for name in program.outputs)}
    assert all(name in made or name.startswith(("bar.", "grad.")) for name in behind.fields), "what is not recorded"
    return Tape(length, call.put((), (), most=places.planes(call.made.fields, behind.fields)))


def record(tape: Tape, way: Way, carry, first, last, origin):
    """The tape with the steps from `first` to `last`, and the carry after them; slot 0 is that of step `origin`."""
    call, shift, extent = way.calls(), way.transport.shift, way.transport.extent()
    made, places = call.made, places_of(call.made, tape.length)
    fields, tree = jax.tree.flatten(carry)
    names = carried(way.kernel.scheme, way.kernel.method, way.kernel.derivative)
    given = dict(zip(names, fields, strict=True))

    def planes_at(n):
        slot = n - origin
        return places.of(made.fields, slot, slot + 1, slot + 1)

    at = [made.fields.index(name) for name in names]
    memory, flags = call.put(planes_at(first)[0][jnp.array(at)], fields, tape.memory), call.flags()
    edges = edges_of([given[name] for name in made.programs[0].reads], call.width, extent)

    def step(n, now):
        memory, edges = now
        values, planes = way.kernel.values(way.static, n, way.dt), planes_at(n)
        for number in range(len(made.programs)):
            halos = exchange(edges, call.width, shift, extent)
            memory, edges = call.step(number, memory, halos, values, flags, planes)
        return memory, edges

    memory, _ = jax.lax.fori_loop(first, last, step, (memory, edges))
    found = call.get(memory, planes_at(last)[0][jnp.array(at)])
    return Tape(tape.length, memory), tree.unflatten([within(field, extent) for field in found])


def state(tape: Tape, way: Way, slot) -> dict:
    """The fields in a slot, by name; `way` is that forward."""
    call = way.calls()
    names = call.made.programs[0].reads
    planes = places_of(call.made, tape.length).of(names, slot)[0]
    return dict(zip(names, (within(f, way.transport.extent()) for f in call.get(tape.memory, planes)), strict=True))


def pull(tape: Tape, ahead: Way, way: Way, bars, sums: dict, span):
    """The adjoints before a step from those after a later one, of the trajectory on the tape.

    Args:
        ahead, way: the steps recorded, and those back.
        bars: adjoint of the carry, a pytree like it.
        sums: by name, what is accumulated for each control, [ny, nx].
        span: the first step, the one after the last, and that of slot 0.

    Returns:
        The tape, bars, sums.
    """
    first, last, origin = span
    call, shift, extent = way.calls(), way.transport.shift, way.transport.extent()
    made, places = call.made, places_of(ahead.calls().made, tape.length)
    fields, tree = jax.tree.flatten(bars)
    names = carried(way.kernel.scheme, way.kernel.method, way.kernel.derivative)
    every = {f"bar.{name}": field for name, field in zip(names, fields, strict=True)}
    every |= {f"grad.{name}": field for name, field in sums.items()}
    given = {name: field for name, field in every.items() if name in made.fields}  # the others stay as they are
    at = jnp.array([made.fields.index(name) for name in given])

    def planes_at(n, handed):
        return places.of(made.fields, n - origin, n - origin, jnp.maximum(handed - origin, 0))

    memory, flags = call.put(planes_at(last, last)[0][at], list(given.values()), tape.memory), call.flags()
    reads = jnp.array([made.fields.index(name) for name in made.programs[0].reads])
    edges = edges_of(call.get(memory, planes_at(last - 1, last)[0][reads]), call.width, extent)

    def step(i, now):
        memory, edges = now
        n = last - 1 - i
        values = way.kernel.values(way.static, n, way.dt)
        for number in range(len(made.programs)):
            planes = planes_at(n, n - int(number == len(made.programs) - 1))
            halos = exchange(edges, call.width, shift, extent)
            memory, edges = call.step(number, memory, halos, values, flags, planes)
        return memory, edges

    memory, _ = jax.lax.fori_loop(0, last - first, step, (memory, edges))
    found = [within(field, extent) for field in call.get(memory, planes_at(last, last)[0][at])]
    every |= dict(zip(given, found, strict=True))
    bars = tree.unflatten([every[f"bar.{name}"] for name in names])
    return Tape(tape.length, memory), bars, {name: every[f"grad.{name}"] for name in sums}
