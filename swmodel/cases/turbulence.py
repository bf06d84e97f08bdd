"""Decaying turbulence: random eddies merge into fewer and larger ones.

Physics: an f plane without land, doubly periodic or between walls, is full of eddies with random phases, in balance
with sea level. The eddies have about the same size, or a spectrum with the slope `case.slope`. Energy hardly decays and
moves to larger scales. Enstrophy moves to smaller ones, where biharmonic viscosity removes it. `swmodel spectra` shows
both.

Reference: McWilliams, J. C. (1984), The emergence of isolated coherent vortices in turbulent flow, J. Fluid Mech. 146,
21-43.

Cost: 30 000 steps on 65 536 cells: about 20 s on two cores.

Theme: Eddies and gyres

Command: swmodel run turbulence

Plot: swmodel plot outputs/turbulence --field zeta

Verification: the initial flow has no divergence, and its mean square speed is exactly speed². Each band of wavenumbers
has the energy that the spectrum prescribes, on the grid and for any seed. With balance = "linear" sea level balances
the Coriolis force exactly. With "nonlinear" the tendency of the divergence vanishes, too, if thickness varies little.
Values do not depend on how the grid is divided. Energy decays, enstrophy decays faster, and the mean scale grows:
`swmodel verify decaying_turbulence`.
"""

from typing import Literal

import numpy as np

from ..config.options.case import Case, option
from ..ocean.random_flow import EnergySpectrum, RandomFlow, reuse_equal


class Turbulence(Case):
    speed: float = option(0.5, "m s-1", "root-mean-square speed of the initial flow", ge=0)
    wavenumber: float = option(10.0, "1", "number of main wavelengths in the domain's longer side", ge=1, le=100)
    slope: float = option(0.0, "1", "spectral slope of energy beyond the main eddies; 0: there are no others", le=0)
    balance: Literal["linear", "nonlinear"] = option(
        "linear", "", "sea level balances the Coriolis force, or inertia, too"
    )
    seed: int = option(1, "", "seed of the random phases", ge=0)

    grid_kinds = ("plane",)

    defaults = {
        "grid": {"nx": 256, "ny": 256, "dx": 5e3, "dy": 5e3, "periodic_x": True, "periodic_y": True},
        "physics": {"gravity": 9.81, "depth": 100.0, "f0": 1e-4, "biharmonic_viscosity": 1e9},
        "scheme": {"vorticity_flux": "arakawa_lamb"},
        "run": {"days": 20.0},
        "output": {"every": 86400.0},
    }

    def eta(self, config, at):
        flow, physics = make_flow(config), config.physics
        level = values_at(flow.geostrophic_eta(physics.f0, physics.gravity), at)
        if self.balance == "nonlinear":
            level += values_at(flow.nonlinear_balance.scale(1 / physics.gravity), at)
        return level

    def u(self, config, at):
        return values_at(make_flow(config).u, at)

    def v(self, config, at):
        return values_at(make_flow(config).v, at)


def make_flow(config) -> RandomFlow:
    case = config.case
    return reuse_equal(RandomFlow(config.grid, EnergySpectrum(case.wavenumber, case.slope), case.speed, case.seed))


def values_at(waves, at) -> np.ndarray:
    """The values of Waves at Points, [rows, columns]."""
    return waves.evaluate(at.j[:, 0], at.i[0])
