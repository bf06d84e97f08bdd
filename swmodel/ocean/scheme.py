"""The terms of the equations that a run computes, and the width of the halo that they need."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from ..errors import UsageError
from . import weno
from .dynamics import tendency
from .grid import Grid, Metric, as_patches
from .instant import Instant
from .patch import BeyondHalo, Patch
from .records import record_param_kinds
from .state import State, state_type
from .table import FORCING, INITIAL_FIELDS, VARIABLES
from .terms import TERMS, Term
from .timestep import ForwardBackwardInputs

#: Rows and columns of the block on which `find_halo_width` tests a halo; more than the stencil of any term spans.
TEST_BLOCK_CELLS = 64
MAX_HALO_WIDTH = 16


@dataclass(frozen=True)
class Scheme:
    """What a step computes; a constant of compiled steps, so that inactive terms cost nothing."""

    vorticity_flux: str = "energy"  # one of VORTICITY_FLUXES
    term_names: tuple[str, ...] = ()  # names of active terms, in the order of TERMS
    user_terms: tuple[Term, ...] = ()  # user-defined terms, added after all others
    varying: tuple[str, ...] = ()  # names of the coefficients with records in time
    tracers: tuple[Term, ...] = ()  # the Terms of the tracers
    is_forward_backward: bool = False  # whether the pressure is that of the new thickness: `timestep.ForwardBackward`
    drying: bool = False  # whether there is wetting and drying (module `drying`)

    @property
    def active_terms(self) -> tuple[Term, ...]:
        """All terms, in the order in which their tendencies are added."""
        return (*(TERMS[name] for name in self.term_names), *self.tracers, *self.user_terms)

    @property
    def damping_terms(self) -> tuple[Term, ...]:
        """The terms whose tendency is - k u, with a rate k."""
        return tuple(term for term in self.active_terms if term.damping)

    @property
    def open_boundary_terms(self) -> tuple[Term, ...]:
        return tuple(term for term in self.active_terms if term.boundary_flux)

    @property
    def barrier_terms(self) -> tuple[Term, ...]:
        return tuple(term for term in self.active_terms if term.barrier_flux)

    @property
    def has_diagnosed_velocity(self) -> bool:
        """Whether the current differs from u and v of the State: at open boundaries and barriers, or with drying."""
        return bool(self.open_boundary_terms) or bool(self.barrier_terms) or self.drying

    @property
    def is_smooth(self) -> bool:
        """Whether the tendency has continuous derivatives; upwinding and limiters have kinks."""
        return (
            self.vorticity_flux not in weno.FLUXES
            and not self.drying
            and all(term.is_smooth for term in self.active_terms)
        )

    @property
    def forcing(self) -> tuple[str, ...]:
        """The names of its forcing fields, such as wind."""
        return tuple(row.name for term in self.active_terms for row in term.coefficients if row.name in FORCING)

    @property
    def initial_fields(self) -> tuple[str, ...]:
        """The names of its initial fields, including the concentrations of tracers."""
        return (*INITIAL_FIELDS, *(term.name for term in self.tracers))

    @property
    def output_fields(self) -> tuple[str, ...]:
        """The names of the fields that terms add to output: prognostic ones, or concentrations in place of contents."""
        return tuple(row.concentration_name or row.name for term in self.active_terms for row in term.prognostic)

    def with_terms(self, names) -> Scheme:
        """The Scheme with further terms of TERMS."""
        names_to_use = {*self.term_names, *names}
        return replace(self, term_names=tuple(name for name in TERMS if name in names_to_use))

    @property
    def state_type(self) -> type[State]:
        """The class of its State, with the prognostic fields of all terms."""
        names = (row.name for term in self.active_terms for row in term.prognostic)
        return state_type((*State._fields, *names))

    @property
    def step_start_fields(self) -> tuple[str, ...]:
        """The names of the fields that terms read at the start of a forward-backward step."""
        names = [row.name for term in self.active_terms if term.rate_over_step for row in term.prognostic]
        currents = ("u", "v") if self.drying else ()
        return ("h", *currents, *names) if names or currents else ()

    @cached_property
    def halo_width(self) -> int:
        """Number of neighbours in each direction that the tendency of a cell needs."""
        return find_halo_width(self)

    @property
    def static_halo(self) -> int:
        """Number of rows and columns of Grid and params around a block."""
        return self.static_halo_of(1)

    @property
    def adjoint_static_halo(self) -> int:
        """The `static_halo` that adjoint steps need: they read all cells whose tendency reads a cell of the block."""
        return self.static_halo_of(2)

    def static_halo_of(self, steps: int) -> int:
        """The `static_halo` for this many steps without an exchange: their halo, and one cell for faces and corners."""
        return self.halo_width * steps + 1


@lru_cache(maxsize=128)
def find_halo_width(scheme: Scheme) -> int:
    """`Scheme.halo_width`: the narrowest halo that suffices for the tendency. UsageError: MAX_HALO_WIDTH does not."""
    for halo_width in range(1, MAX_HALO_WIDTH + 1):
        try:
            with np.errstate(all="ignore"):
                state, now, grid, params = make_test_block(scheme, halo_width, np.ones)
                step_start = {name: getattr(state, name) for name in scheme.step_start_fields}
                dt = np.ones(())  # s
                gfb_inputs = ForwardBackwardInputs(state.h, dt, step_start, dt) if scheme.is_forward_backward else None
                rates = tendency(state, now, grid, params, scheme, gfb_inputs)
            shape = TEST_BLOCK_CELLS, TEST_BLOCK_CELLS
            if all(field.block_values(shape).shape == shape for field in rates):
                return halo_width
        except BeyondHalo:
            continue
    names = ", ".join(term.name for term in scheme.active_terms)
    raise UsageError(f"the terms {names} read cells further than {MAX_HALO_WIDTH} rows or columns away")


def make_test_block(scheme: Scheme, halo_width: int, make_values) -> tuple[State, Instant, Grid, dict[str, Patch]]:
    """Arguments of `tendency` on a block of TEST_BLOCK_CELLS rows and columns: State, Instant, Grid and params.

    Args:
        halo_width: cells around the block.
        make_values: function of a shape that returns the array of a field.
    """
    shape, scalar = (TEST_BLOCK_CELLS + 2 * halo_width + 2,) * 2, (1, 1)
    metrics = {name: Metric(*[make_values(scalar)] * 4) for name in ("dx", "dy", "area", "rdx", "rdy", "rarea")}
    grid = Grid(**{name: metrics[name] if name in metrics else make_values(shape) for name in Grid._fields})
    rows = [VARIABLES["gravity"], *(row for term in scheme.active_terms for row in (*term.coefficients, *term.fields))]
    params = {row.name: make_values(shape if row.location else scalar) for row in rows}
    params |= {"density": make_values(scalar)}
    params |= {"drying_thickness": make_values(scalar)} if scheme.drying else {}
    kinds = record_param_kinds(scheme.varying)
    params |= {name: make_values(shape if is_field else scalar) for name, is_field in kinds.items()}
    params |= {term.name: make_values((term.parameters.size,)) for term in scheme.active_terms if term.parameters}
    fields = (Patch(make_values(shape)[1:-1, 1:-1], (-halo_width, -halo_width)) for _ in scheme.state_type._fields)
    state = scheme.state_type(*fields)
    return state, Instant(np.zeros((), np.int32)), as_patches(grid, halo_width + 1), as_patches(params, halo_width + 1)
