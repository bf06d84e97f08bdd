"""Which terms of the equations a run computes, and how far they reach."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Scheme:
    """What is computed: chosen when a step is built, so that what is switched off costs nothing."""

    vorticity_flux: str = "energy"
    viscosity: bool = False
    biharmonic_viscosity: bool = False
    linear_drag: bool = False
    quadratic_drag: bool = False
    wind: bool = False
    sponge: bool = False

    @property
    def width(self) -> int:
        """Rows of neighbours that the tendency of a cell needs on each side."""
        return 2 if self.biharmonic_viscosity or self.vorticity_flux == "arakawa_lamb" else 1
