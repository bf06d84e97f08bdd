"""Which terms of the equations a run computes, and how far they reach."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from .reach import reach
from .state import State, state_type
from .terms import TERMS


@dataclass(frozen=True)
class Scheme:
    """What is computed: chosen when a step is built, so that what is switched off costs nothing.

    Attributes:
        vorticity_flux: discretisation of the flux of potential vorticity, one of VORTICITY_FLUXES.
        terms: names of the terms that are switched on, in the order of TERMS.
    """

    vorticity_flux: str = "energy"
    terms: tuple[str, ...] = ()

    def with_terms(self, names) -> Scheme:
        """The scheme with these terms switched on too."""
        wanted = {*self.terms, *names}
        return Scheme(self.vorticity_flux, tuple(name for name in TERMS if name in wanted))

    @property
    def state(self) -> type[State]:
        """The State of its prognostic fields."""
        more = (row.name for name in self.terms for row in TERMS[name].prognostic)
        return state_type((*State._fields, *more))

    @cached_property
    def width(self) -> int:
        """Rows of neighbours that the tendency of a cell needs on each side."""
        return reach(self)
