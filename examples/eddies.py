"""Eddies without viscosity: pictures of the jet, and of spectra at three resolutions.

    python examples/eddies.py         # takes some minutes on two cores; writes pictures into outputs/eddies

The first picture shows the jet after ten days without viscosity, with the flux of vorticity that conserves energy and
with `weno5`. The second one shows spectra of decaying turbulence, with `weno5` without viscosity, and with the flux
`energy` and biharmonic viscosity.
"""

from __future__ import annotations

import sys
from pathlib import Path

import cmocean
import matplotlib.pyplot as plt
import numpy as np

import swmodel

FOLDER = Path("outputs/eddies")
JET_DAYS, TURBULENCE_DAYS, DOMAIN_WIDTH = 10, 15, 1280e3  # width of the domain of the turbulence, m
#: {spacing, km: biharmonic viscosity that removes enstrophy there, m4 s-1}; it grows as the cube of the spacing.
BIHARMONIC_VISCOSITIES = {20: 6.4e10, 10: 8e9, 5: 1e9}


def draw_jet(log) -> None:
    figure, axes = plt.subplots(2, 1, figsize=(9, 8.4), layout="constrained")
    for panel, flux in zip(axes, ("energy", "weno5"), strict=True):
        model = swmodel.Simulation("jet", {"scheme.vorticity_flux": flux, "physics.viscosity": 0})
        model.advance(days=JET_DAYS)
        zeta, grid = model.field("zeta"), model.config.grid
        extent = [0, grid.nx * grid.dx / 1e3, 0, grid.ny * grid.dy / 1e3]
        style = {"origin": "lower", "extent": extent, "cmap": cmocean.cm.balance, "vmin": -2e-4, "vmax": 2e-4}
        picture = panel.imshow(zeta, **style)
        panel.set(title=f"scheme.vorticity_flux = {flux}", ylabel="y (km)")
        roughness = np.mean(np.diff(zeta, 2, axis=1) ** 2) / np.mean(zeta**2)
        log(f"jet, {flux}: mean square of second differences of vorticity over that of vorticity {roughness:.3f}")
    axes[1].set_xlabel("x (km)")
    figure.colorbar(picture, ax=axes, label="vorticity after ten days (s⁻¹)")
    figure.savefig(FOLDER / "jet_fluxes.png", dpi=100, bbox_inches="tight")


def draw_spectra(log) -> None:
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.2), sharex=True, sharey=True, layout="constrained")
    overrides_of_closure = {
        "weno5, no viscosity": lambda friction: {"scheme.vorticity_flux": "weno5", "physics.biharmonic_viscosity": 0},
        "energy, biharmonic viscosity": lambda friction: {
            "scheme.vorticity_flux": "energy",
            "physics.biharmonic_viscosity": friction,
        },
    }
    for panel, (title, make_overrides) in zip(axes, overrides_of_closure.items(), strict=True):
        for spacing, friction in BIHARMONIC_VISCOSITIES.items():
            cells = round(DOMAIN_WIDTH / spacing / 1e3)
            grid = {"grid.nx": cells, "grid.ny": cells, "grid.dx": spacing * 1e3, "grid.dy": spacing * 1e3}
            model = swmodel.Simulation("turbulence", grid | make_overrides(friction))
            initial_spectra = model.spectra()
            model.advance(days=TURBULENCE_DAYS)
            final_spectra, k = model.spectra(), 2 * np.pi / DOMAIN_WIDTH * np.arange(1, cells // 2)
            panel.loglog(k * 1e3, final_spectra["kinetic_energy"][1 : cells // 2], label=f"{spacing} km")
            remaining = [
                final_spectra[name].sum() / initial_spectra[name].sum() for name in ("kinetic_energy", "enstrophy")
            ]
            log(f"{title}, {spacing} km: remaining kinetic energy {remaining[0]:.4f}, enstrophy {remaining[1]:.4f}")
        panel.loglog(k[8:] * 1e3, final_spectra["kinetic_energy"][9] * (k[8:] / k[8]) ** -3.0, "k:", lw=1)
        panel.set(title=title, xlabel="wavenumber (rad km⁻¹)", ylim=(1e-3, None))
    axes[0].set_ylabel("kinetic energy (m³ s⁻²)")
    axes[0].legend(frameon=False)
    figure.savefig(FOLDER / "eddies_spectra.png", dpi=100)


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    draw_jet(lambda words: sys.stdout.write(words + "\n"))
    draw_spectra(lambda words: sys.stdout.write(words + "\n"))
