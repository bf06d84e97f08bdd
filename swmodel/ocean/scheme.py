"""The terms of the equations that a run computes, and their reach."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from ..errors import UsageError
from . import weno
from .dynamics import tendency
from .grid import Grid, Places, as_patches
from .instant import Instant
from .patch import BeyondHalo, Patch
from .records import params_of
from .state import State, state_type
from .table import FORCING, INITIAL, VARIABLES
from .terms import TERMS, Term
from .timestep import Forward

#: Size of the block for the search of the reach, in cells: larger than the loss by the differences of any term.
CELLS = 64
#: Most rows of neighbours that a scheme may need.
WIDEST = 16


@dataclass(frozen=True)
class Scheme:
    """The terms to compute, a constant of compiled steps: inactive terms cost nothing."""

    vorticity_flux: str = "energy"  # one of VORTICITY_FLUXES
    terms: tuple[str, ...] = ()  # names of active terms, in the order of TERMS
    own: tuple[Term, ...] = ()  # user-defined terms, added after all others
    varying: tuple[str, ...] = ()  # names of the coefficients with records in time
    face_thickness: str = "centred"  # one of FACE_THICKNESS
    tracers: tuple[Term, ...] = ()
    forward: bool = False  # whether the pressure is that of the new thickness: `timestep.ForwardBackward`
    drying: bool = False  # whether land floods and sea falls dry: `drying`

    @property
    def acting(self) -> tuple[Term, ...]:
        """All terms, in the order in which their tendencies are added."""
        return (*(TERMS[name] for name in self.terms), *self.tracers, *self.own)

    @property
    def with_head(self) -> tuple[Term, ...]:
        """The terms that add to the pressure."""
        return tuple(term for term in self.acting if term.bernoulli_potential)

    @property
    def with_damping(self) -> tuple[Term, ...]:
        """The terms that damp currents at a rate."""
        return tuple(term for term in self.acting if term.damping)

    @property
    def with_sides(self) -> tuple[Term, ...]:
        """The terms with a flux through open sides."""
        return tuple(term for term in self.acting if term.boundary_flux)

    @property
    def with_current(self) -> bool:
        """Whether the current differs from u and v of the state: at open sides, or on faces that are closed."""
        return bool(self.with_sides) or self.drying

    @property
    def smooth(self) -> bool:
        """Whether the tendency has continuous derivatives; upwinding and limiters have kinks."""
        return self.vorticity_flux not in weno.FLUXES and not self.drying and all(term.smooth for term in self.acting)

    @property
    def forcing(self) -> tuple[str, ...]:
        """The names of the fields that drive the sea from above."""
        return tuple(row.name for term in self.acting for row in term.coefficients if row.name in FORCING)

    @property
    def initial(self) -> tuple[str, ...]:
        """The names of its initial fields, with the concentrations of the tracers."""
        return (*INITIAL, *(term.name for term in self.tracers))

    @property
    def written(self) -> tuple[str, ...]:
        """The names of the fields of terms in output: prognostic ones, and concentrations for contents."""
        return tuple(row.content or row.name for term in self.acting for row in term.prognostic)

    def with_terms(self, names) -> Scheme:
        """The scheme with these terms also switched on."""
        wanted = {*self.terms, *names}
        return replace(self, terms=tuple(name for name in TERMS if name in wanted))

    @property
    def state(self) -> type[State]:
        """The State of its prognostic fields."""
        more = (row.name for term in self.acting for row in term.prognostic)
        return state_type((*State._fields, *more))

    @property
    def at_begin(self) -> tuple[str, ...]:
        """The names of the fields that terms read at the begin of a forward-backward step."""
        names = [row.name for term in self.acting if term.over_step for row in term.prognostic]
        currents = ("u", "v") if self.drying else ()
        return ("h", *currents, *names) if names or currents else ()

    @cached_property
    def width(self) -> int:
        """Rows of neighbours that the tendency of a cell needs on each side."""
        return width_of(self)

    @property
    def margin(self) -> int:
        """Rows and columns of Grid and Params around a block."""
        return self.margin_of(1)

    def margin_of(self, steps: int) -> int:
        """The margin for this many steps without a halo exchange: one more row, for faces and corners."""
        return self.width * steps + 1


@lru_cache(maxsize=128)
def width_of(scheme: Scheme) -> int:
    """`Scheme.width`: the narrowest halo on which the tendency can be computed."""
    for width in range(1, WIDEST + 1):
        try:
            with np.errstate(all="ignore"):
                state, *others = small_block(scheme, width, np.ones)
                begin, one = {name: getattr(state, name) for name in scheme.at_begin}, np.ones(())
                forward = Forward(state.h, one, begin, one) if scheme.forward else None
                found = tendency(state, *others, scheme, forward)
            if all(field.on((CELLS, CELLS)).shape == (CELLS, CELLS) for field in found):
                return width
        except BeyondHalo:
            continue
    names = ", ".join(term.name for term in scheme.acting)
    raise UsageError(f"the terms {names} read cells further than {WIDEST} rows or columns away")


def small_block(scheme: Scheme, width: int, values) -> tuple:
    """Arguments of `tendency` on a block of CELLS by CELLS: State, Instant, Grid and params, of NumPy arrays.

    Args:
        width: cells of its halo.
        values: function of a shape that returns the array of a field.
    """
    shape, number = (CELLS + 2 * width + 2,) * 2, (1, 1)
    metrics = {name: Places(*[values(number)] * 4) for name in ("dx", "dy", "area", "rdx", "rdy", "rarea")}
    grid = Grid(**{name: metrics[name] if name in metrics else values(shape) for name in Grid._fields})
    rows = [VARIABLES["gravity"], *(row for term in scheme.acting for row in (*term.coefficients, *term.fields))]
    params = {row.name: values(shape if row.location else number) for row in rows} | {"density": values(number)}
    params |= {"drying_thickness": values(number)} if scheme.drying else {}
    params |= {name: values(shape if where else number) for name, where in params_of(scheme.varying).items()}
    params |= {term.name: values((term.parameters.size,)) for term in scheme.acting if term.parameters}
    state = scheme.state(*(Patch(values(shape)[1:-1, 1:-1], (-width, -width)) for _ in scheme.state._fields))
    return state, Instant(np.zeros((), np.int32)), as_patches(grid, width + 1), as_patches(params, width + 1)
