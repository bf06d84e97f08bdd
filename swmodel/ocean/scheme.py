"""Which terms of the equations a run computes, and how far they reach."""

from __future__ import annotations

from dataclasses import dataclass

from ..config import fields


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


def scheme_of(config) -> Scheme:
    """Which terms the configuration switches on."""
    physics = config.physics
    return Scheme(
        vorticity_flux=config.scheme.vorticity_flux,
        viscosity=physics.viscosity > 0,
        biharmonic_viscosity=physics.biharmonic_viscosity > 0,
        linear_drag=physics.linear_drag > 0 or fields.given(config, "linear_drag"),
        quadratic_drag=physics.quadratic_drag > 0,
        wind=fields.given(config, "wind_x") or fields.given(config, "wind_y"),
        sponge=config.sponge.rate > 0 and config.sponge.width > 0,
    )
