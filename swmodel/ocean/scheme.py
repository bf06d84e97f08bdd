"""Which terms of the equations a run computes, and how far they reach."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from .reach import reach
from .state import State, state_type
from .table import FORCING, INITIAL
from .terms import TERMS, Term


@dataclass(frozen=True)
class Scheme:
    """The terms to compute, chosen when a step is built: what is switched off costs nothing.

    Attributes:
        vorticity_flux: discretisation of the flux of potential vorticity, one of VORTICITY_FLUXES.
        terms: names of the terms that are switched on, in the order of TERMS.
        own: terms of the user's own, added after all others.
        varying: names of the coefficients given by records in time.
        face_thickness: thickness of the layer on faces, one of FACE_THICKNESS.
        tracers: the Terms of the tracers.
    """

    vorticity_flux: str = "energy"
    terms: tuple[str, ...] = ()
    own: tuple[Term, ...] = ()
    varying: tuple[str, ...] = ()
    face_thickness: str = "centred"
    tracers: tuple[Term, ...] = ()

    @property
    def acting(self) -> tuple[Term, ...]:
        """All terms, in the order in which their tendencies are added."""
        return (*(TERMS[name] for name in self.terms), *self.tracers, *self.own)

    @property
    def with_head(self) -> tuple[Term, ...]:
        """The terms that add to the pressure."""
        return tuple(term for term in self.acting if term.bernoulli_potential)

    @property
    def with_sides(self) -> tuple[Term, ...]:
        """The terms that let water in through open sides."""
        return tuple(term for term in self.acting if term.boundary_flux)

    @property
    def forcing(self) -> tuple[str, ...]:
        """The names of the fields that drive the sea from above."""
        return tuple(row.name for term in self.acting for row in term.coefficients if row.name in FORCING)

    @property
    def initial(self) -> tuple[str, ...]:
        """The names of its initial fields: those of the equations, and the concentrations of the tracers."""
        return (*INITIAL, *(term.name for term in self.tracers))

    def with_terms(self, names) -> Scheme:
        """The scheme with these terms also switched on."""
        wanted = {*self.terms, *names}
        return replace(self, terms=tuple(name for name in TERMS if name in wanted))

    @property
    def state(self) -> type[State]:
        """The State of its prognostic fields."""
        more = (row.name for term in self.acting for row in term.prognostic)
        return state_type((*State._fields, *more))

    @cached_property
    def width(self) -> int:
        """Rows of neighbours that the tendency of a cell needs on each side."""
        return reach(self)

    @property
    def margin(self) -> int:
        """Rows and columns of Grid and Params around a block."""
        return self.margin_of(1)

    def margin_of(self, steps: int) -> int:
        """The same for so many steps without a halo exchange: a row more, for faces and corners of the last cells."""
        return self.width * steps + 1
