"""Setting the state of a model: to initial fields, or to arrays."""

from __future__ import annotations

from dataclasses import replace

import jax
import numpy as np

from ..config import ConfigError
from ..config.loading.python_inputs import python_inputs
from ..errors import SetupError, UsageError
from ..ocean.grid import as_patches
from ..ocean.state import Carry, State
from ..ocean.table import GIVEN
from ..ocean.terms.tracer import concentration_of
from ..ocean.timestep import ForwardBackward, Leapfrog
from ..setup import fields
from ..setup.fields.noted import digest
from ..setup.setup import Setup, rows_and_columns, setup_of
from .domain import assembled, on_all
from .validate import values_of


def state_with(model, values: dict) -> State:
    """The model's state with these initial fields, in the form of `transport.make`; all processes call it together.

    Thickness follows from sea level, h = depth + eta on water; concentrations do not change unless given.
    For errors see `Simulation.set`.
    """
    transport = model.transport

    def checked(setup: Setup) -> None:
        if problems := values_of(setup)[1]:
            raise ConfigError([f"set: {problem}" for problem in problems])

    config = assembled(on_all(transport.allgather, lambda: with_fields(model, values)), transport.allgather)
    setup = replace(setup_of(config), scheme=model.scheme)
    on_all(transport.allgather, lambda: checked(setup))
    own = {name: digest(config, name, config.python._sources[name]) for name in values} if transport.size > 1 else {}
    for rank, other in enumerate(everyone := transport.allgather(own)):
        for name in everyone[0] | other:
            if other.get(name) != everyone[0].get(name):
                raise SetupError(f"set: {name} differs between ranks 0 and {rank}; it must be the same on all")
    pieces = zip(transport.blocks, transport.pieces(model.carry.state), strict=True)
    made = {block: changed(setup, values, block, state) for block, state in pieces}
    return transport.make(made.__getitem__)


def with_fields(model, values: dict):
    """The configuration of the model with these initial fields. ConfigError: a field does not change during a run."""
    there = model.scheme.initial
    for name in values:
        if name not in there:
            fixed = "is constant during a run: give it to Simulation, as fields={...}"
            why = fixed if name in GIVEN else "no such field"
            raise ConfigError([f"set: {name}: {why}; those that change are {', '.join(there)}"])
    inputs = model.config.input.model_copy(update=dict.fromkeys((*values, "state"), ""))
    return python_inputs(model.config.model_copy(update={"input": inputs}), values)


def changed(setup: Setup, names, block, state: State) -> State:
    """The state of a block, NumPy arrays, with the initial fields `names` of the configuration."""
    config, dtype, (rows, columns) = setup.config, state.h.dtype, rows_and_columns(block, 0)
    made, wet = setup.state(block), fields.wet(config, rows, columns) > 0
    found = {name: getattr(made, name) for name in ("u", "v") if name in names}
    if "eta" in names:
        found["h"] = made.h
    h = found.get("h", state.h)
    for term in setup.scheme.acting:
        needed = {"eta", *(row.name for row in term.initial)}
        if not term.start:
            continue
        if needed <= set(names):
            found |= {row.name: getattr(made, row.name) for row in term.prognostic}
        elif needed & set(names):
            values = {
                row.name: fields.evaluate(config, row.name, rows, columns)
                if row.name in names
                else concentration_of(row.name, state)
                for row in term.initial
            }
            found |= {name: np.where(wet, value, 0) for name, value in term.start(values | {"h": h}).items()}
    shaped = {name: np.broadcast_to(value, block.shape).astype(dtype) for name, value in found.items()}
    return state._replace(**{name: np.ascontiguousarray(value) for name, value in shaped.items()})


def as_state(model, state) -> State:
    """A State of NumPy arrays [y, x] of this process's part, in the form of `transport.make`.

    UsageError: it has other fields, shapes or precision, or unusable values.
    """
    names, shape, dtype = model.scheme.state._fields, model.block.shape, np.dtype(model.config.run.dtype)
    margin, transport = model.scheme.margin, model.transport
    if getattr(state, "_fields", None) != names:
        raise UsageError(f"Simulation.state: needs a State of {', '.join(names)}, as from state._replace(h=...)")
    parts = zip(transport.pieces(model.grid.wet, margin), transport.blocks, strict=True)
    wet = [np.broadcast_to(as_patches(part, margin).on(block.shape), block.shape) for part, block in parts]
    for name, field in zip(names, state, strict=True):
        there = np.shape(field), getattr(field, "dtype", None)
        if there != (shape, dtype):
            raise UsageError(f"Simulation.state: {name} is {there[1]} {there[0]}; needs {dtype} {shape}")
        values = np.asarray(field)
        low = values < 0 if model.scheme.drying else values <= 0
        bad = ~np.isfinite(values) | (low & (transport.join(wet) > 0) if name == "h" else False)
        if bad.any():
            row, column = np.argwhere(bad)[0]
            least = "at least" if model.scheme.drying else "above"
            bound = f"finite, and {least} 0 m on water" if name == "h" else "finite"
            place = f"row {row + model.block.y.start}, column {column + model.block.x.start}"
            raise UsageError(f"Simulation.state: {name} must be {bound}, but is {values[row, column]} at {place}")
    return transport.put(jax.tree.map(np.asarray, state))


def carry_with(model, executor, state: State) -> Carry:
    """The carry of the model with another state. The stepper's memory does not change, except at the start.

    States in this memory change by as much as the present one.
    """
    if model.step == 0:
        return executor.start(state)
    carry = model.carry
    memory = carry.memory
    if isinstance(model.setup.method, Leapfrog | ForwardBackward):
        changed = jax.tree.map(lambda new, old: new - old, state, carry.state)
        memory = tuple(jax.tree.map(lambda x, by: x + by, past, changed) for past in memory)
    return executor.resume(Carry(state, memory, carry.step))


def require_alike(carry, present: Carry) -> None:
    """Raise UsageError unless a carry can replace the present one: same shapes, same precision."""

    def shapes_of(carry: Carry):
        fields, structure = jax.tree.flatten((carry.state, carry.memory))
        return structure, [(field.shape, field.dtype) for field in fields]

    if not (isinstance(carry, Carry) and shapes_of(carry) == shapes_of(present)):
        raise UsageError("Simulation.carry: needs a Carry with the shapes and the precision of the present one")
