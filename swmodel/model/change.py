"""Set the state of a model, to initial fields or to arrays."""

from __future__ import annotations

from dataclasses import replace

import jax
import numpy as np

from ..config import ConfigError
from ..config.loading.python_inputs import add_python_inputs
from ..errors import SetupError, UsageError
from ..ocean.grid import as_patches
from ..ocean.state import Carry, State
from ..ocean.table import INPUT_FIELDS
from ..ocean.terms.tracer import concentration_of
from ..ocean.timestep import ForwardBackward, Leapfrog
from ..setup import fields
from ..setup.fields.record_notes import field_checksum
from ..setup.setup import Setup, rows_and_columns, setup_of
from .domain import gather_local_fields, run_on_all
from .validate import survey_fields


def state_with_fields(model, values: dict) -> State:
    """The model's state with the initial fields `values`, in the form of `transport.make_arrays`; see `Simulation.set`.

    Thickness follows from sea level, h = depth + eta on water; concentrations that are not in `values` do not change.
    """
    transport = model.transport

    def check_values(setup: Setup) -> None:
        if problems := survey_fields(setup)[1]:
            raise ConfigError([f"set: {problem}" for problem in problems])

    config = run_on_all(transport.allgather, lambda: config_with_fields(model, values))
    config = gather_local_fields(config, transport.allgather)
    setup = replace(setup_of(config), scheme=model.scheme)
    run_on_all(transport.allgather, lambda: check_values(setup))
    shared_names = values if transport.size > 1 else ()
    digests = {name: field_checksum(config, name, config.python._sources[name]) for name in shared_names}
    for rank, other in enumerate(digests_of_ranks := transport.allgather(digests)):
        for name in (first := digests_of_ranks[0]) | other:
            if other.get(name) != first.get(name):
                raise SetupError(f"set: {name} differs between ranks 0 and {rank}; it must be the same on all ranks")
    pieces = zip(transport.blocks, transport.get_blocks(model.carry.state), strict=True)
    state_of_block = {block: block_state_with_fields(setup, values, block, state) for block, state in pieces}
    return transport.make_arrays(state_of_block.__getitem__)


def config_with_fields(model, values: dict):
    """The configuration of the model with these initial fields.

    ConfigError: a field does not exist, is constant during a run, or does not fit the grid.
    """
    initial_fields = model.scheme.initial_fields
    for name in values:
        if name not in initial_fields:
            fixed = "is constant during a run: pass it to Simulation as fields={...}"
            reason = fixed if name in INPUT_FIELDS else "no such field"
            raise ConfigError([f"set: {name}: {reason}; fields that can be set: {', '.join(initial_fields)}"])
    inputs = model.config.input.model_copy(update=dict.fromkeys((*values, "state"), ""))
    return add_python_inputs(model.config.model_copy(update={"input": inputs}), values)


def block_state_with_fields(setup: Setup, names, block, state: State) -> State:
    """The state of a block, NumPy arrays, in which the fields `names` are the initial fields of the configuration."""
    config, dtype, (rows, columns) = setup.config, state.h.dtype, rows_and_columns(block, 0)
    new_state, wet = setup.state(block), fields.wet_mask(config, rows, columns) > 0
    new_fields = {name: getattr(new_state, name) for name in ("u", "v") if name in names}
    if "eta" in names:
        new_fields["h"] = new_state.h
    h = new_fields.get("h", state.h)
    for term in setup.scheme.active_terms:
        needed = {"eta", *(row.name for row in term.initial)}
        if not term.to_prognostic:
            continue
        if needed <= set(names):
            new_fields |= {row.name: getattr(new_state, row.name) for row in term.prognostic}
        elif needed & set(names):
            values = {"h": h}
            for name in (row.name for row in term.initial):
                is_new = name in names
                values[name] = fields.evaluate(config, name, rows, columns) if is_new else concentration_of(name, state)
            new_fields |= {name: np.where(wet, value, 0) for name, value in term.to_prognostic(values).items()}
    broadcast = {name: np.broadcast_to(value, block.shape).astype(dtype) for name, value in new_fields.items()}
    return state._replace(**{name: np.ascontiguousarray(value) for name, value in broadcast.items()})


def state_from_arrays(model, state) -> State:
    """`state`, NumPy arrays [y, x] of this process's part, in the form of `transport.make_arrays`.

    UsageError: fields, shapes or precision are not those of the model, or values cannot be used.
    """
    names, shape, dtype = model.scheme.state_type._fields, model.block.shape, np.dtype(model.config.run.dtype)
    halo, transport = model.scheme.static_halo, model.transport
    if getattr(state, "_fields", None) != names:
        raise UsageError(f"Simulation.state: needs a State of {', '.join(names)}, as from state._replace(h=...)")
    parts = zip(transport.get_blocks(model.grid.wet, halo), transport.blocks, strict=True)
    wet = [np.broadcast_to(as_patches(part, halo).block_values(block.shape), block.shape) for part, block in parts]
    for name, field in zip(names, state, strict=True):
        actual = np.shape(field), getattr(field, "dtype", None)
        if actual != (shape, dtype):
            raise UsageError(f"Simulation.state: {name} is {actual[1]} {actual[0]}; it must be {dtype} {shape}")
        values = np.asarray(field)
        is_too_low = values < 0 if model.scheme.drying else values <= 0
        bad = ~np.isfinite(values) | (is_too_low & (transport.join_blocks(wet) > 0) if name == "h" else False)
        if bad.any():
            row, column = np.argwhere(bad)[0]
            comparison = "at least" if model.scheme.drying else "above"
            bound = f"finite, and {comparison} 0 m on water" if name == "h" else "finite"
            location = f"row {row + model.block.y.start}, column {column + model.block.x.start}"
            raise UsageError(f"Simulation.state: {name} must be {bound}, but is {values[row, column]} at {location}")
    return transport.put(jax.tree.map(np.asarray, state))


def carry_with_state(model, executor, state: State) -> Carry:
    """The carry of the model with another state.

    At step 0 the memory of the stepper starts anew. At later steps the earlier states in it change by as much as the
    present one, and the earlier tendencies do not change.
    """
    if model.step == 0:
        return executor.start(state)
    carry = model.carry
    memory = carry.memory
    if isinstance(model.setup.method, Leapfrog | ForwardBackward):
        difference = jax.tree.map(lambda new, old: new - old, state, carry.state)
        memory = tuple(jax.tree.map(lambda old, change: old + change, past, difference) for past in memory)
    return executor.resume(Carry(state, memory, carry.step))


def require_same_shapes(carry, present: Carry) -> None:
    """Raise UsageError unless a carry has the shapes and the precision of the present one."""

    def shapes_of(carry: Carry):
        fields, structure = jax.tree.flatten((carry.state, carry.memory))
        return structure, [(field.shape, field.dtype) for field in fields]

    if not (isinstance(carry, Carry) and shapes_of(carry) == shapes_of(present)):
        raise UsageError("Simulation.carry: needs a Carry with the shapes and the precision of the present one")
