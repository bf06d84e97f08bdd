"""The controls of derivatives: initial state, fields of the ocean and its forcing, coefficients and parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import jax.numpy as jnp
import numpy as np

from ..errors import UsageError
from ..ocean.grid import Grid
from ..ocean.records import CORRECTION_SUFFIX
from ..ocean.scheme import Scheme
from ..ocean.state import State
from ..ocean.table import CORRECTIONS, variable_of
from ..ocean.terms import TERM_OF_COEFFICIENT
from ..ocean.terms.tracer import concentration_of
from ..parallel.transport.halo import exchange_named_halos, zero_beyond
from ..setup import fields
from ..setup.setup import Setup, rows_and_columns
from . import corrections

if TYPE_CHECKING:
    from ..parallel.transport.transport import Transport


def scheme_factory(names) -> Callable[[Setup], Scheme]:
    """A function of a Setup that returns its scheme with all terms that the controls `names` need, active or not."""

    def make_scheme(setup: Setup) -> Scheme:
        coefficients = [name for name in names if name.removesuffix(CORRECTION_SUFFIX) in TERM_OF_COEFFICIENT]
        scheme = setup.scheme_with_coefficients(coefficients)
        return replace(scheme, varying=tuple(sorted({*scheme.varying, *(CORRECTIONS.keys() & {*names})})))

    return make_scheme


def first_guess(setup: Setup, names, block) -> dict:
    """The controls' values in the configuration, by name: a field [ny, nx] of the block, a number, or a vector.

    Controls with records in time have the shape [records, ny, nx] or [records]. UsageError: a control that must be a
    number is a field.
    """
    config, dtype, (rows, columns) = setup.config, setup.dtype, rows_and_columns(block, 0)

    def value(name):
        if name in setup.parameters:
            return setup.parameters[name].astype(dtype)
        if name in corrections.RECORD_CONTROLS:
            return corrections.first_guess_records(setup, name, block.shape).astype(dtype)
        if name == "gravity":
            return np.asarray(config.physics.gravity, dtype)
        if not variable_of(name).control_location:
            if fields.has_field_source(config, name):
                raise UsageError(f"{name} is a field in this run; derivatives with respect to {name} need a number")
            return np.asarray(fields.uniform_value(config, name), dtype)
        return np.broadcast_to(fields.evaluate(config, name, rows, columns), block.shape).astype(dtype)

    return {name: value(name) for name in names}


def apply_controls(
    controls: dict, state: State, grid: Grid, scheme: Scheme, transport: Transport
) -> tuple[State, dict]:
    """The initial state, and the static fields that depend on the controls, by name.

    On water h is depth + eta, but at least zero if cells can dry. u and v are zero on closed faces. The fields of terms
    follow from their initial values.

    A control is a field [ny, nx] of this block, records in time, a number for a uniform field, or the vector of a
    term's parameters. All other values come from state and grid. The static fields, those of Grid and Params, have a
    halo of `Scheme.static_halo` cells, as do records that are fields; numbers become [1, 1], and vectors do not change.
    """
    static_halo, shape, extent = scheme.static_halo, state.h.shape, transport.extent()
    inner = slice(static_halo, -static_halo)

    def on_block(field):
        rows, columns = (inner if length > 1 else slice(None) for length in field.shape)
        return jnp.broadcast_to(field[rows, columns], shape)

    coefficients = {name: value for name, value in controls.items() if name not in scheme.initial_fields}
    active = {name: jnp.reshape(value, (1, 1)) if value.ndim == 0 else value for name, value in coefficients.items()}
    active |= exchange_named_halos(
        {name: value for name, value in coefficients.items() if value.ndim == 2}, static_halo, transport
    )
    for name, value in coefficients.items():
        if value.ndim == 3:
            active |= exchange_named_halos({name: value}, static_halo, transport)
    h, wet = state.h, on_block(grid.wet)
    if "eta" in controls or "depth" in controls:
        eta = controls.get("eta", h - on_block(grid.depth))
        h = on_block(active.get("depth", grid.depth)) + wet * eta
        h = jnp.where((wet > 0) & (h < 0), 0, h) if scheme.drying else h
    u, v = controls.get("u", state.u), controls.get("v", state.v)
    initial_fields = {"h": h, "u": on_block(grid.open_u) * u, "v": on_block(grid.open_v) * v}
    for term in scheme.active_terms:
        if term.to_prognostic:
            names = (variable.name for variable in term.initial)
            values = {name: controls.get(name, concentration_of(name, state)) for name in names}
            initial_fields |= {name: wet * field for name, field in term.to_prognostic(values | {"h": h}).items()}
    return type(state)._make(zero_beyond(initial_fields[name], extent) for name in state._fields), active


def replace_fields(grid: Grid, params: dict, active: dict) -> tuple[Grid, dict]:
    """Grid and params in which the active fields replace fields of the same names."""
    grid_fields = {name: field for name, field in active.items() if name in Grid._fields}
    other_fields = {name: field for name, field in active.items() if name not in grid_fields}
    return grid._replace(**grid_fields), params | other_fields


class TermParameters:
    """The controls of a Problem that are parameters of terms: pytrees for users, vectors for the compiled programs."""

    def __init__(self, domain, names):
        self.transport, self.dtype = domain.transport, np.dtype(domain.config.run.dtype)
        terms = (term for term in domain.scheme.user_terms if term.name in names and term.parameters)
        self.layouts = {term.name: term.parameters for term in terms}

    def vector(self, name: str, tree) -> np.ndarray:
        """A pytree of parameters, or of derivatives, as a vector. UsageError: its arrays do not fit the term."""
        return self.layouts[name].to_vector(name, tree, np, self.dtype)

    def to_vectors(self, x: dict) -> dict:
        """Controls, or derivatives with respect to them, as the compiled programs take them."""
        vectors = {name: self.vector(name, tree) for name, tree in x.items() if name in self.layouts}
        return x | {
            name: self.transport.make_arrays(lambda block, vector=vector: vector) for name, vector in vectors.items()
        }

    def to_pytrees(self, x: dict, derivative: bool = True) -> dict:
        """The inverse of `to_vectors`; in a `derivative`, leaves that are not arrays of numbers become None."""
        vectors = {name: self.transport.get_blocks(x[name])[0] for name in x if name in self.layouts}
        return x | {
            name: self.layouts[name].to_pytree(jnp.asarray(vector), derivative) for name, vector in vectors.items()
        }
