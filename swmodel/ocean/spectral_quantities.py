"""The quantities that have spectra: means of squares of fields, and the rates of change of these fields.

Each quantity is the mean over the domain of the sum of the squares of its fields. H is the mean resting depth, and h^x
the mean of h in x:

    kinetic_energy    sqrt(h^x / 2H) u on east faces, sqrt(h^y / 2H) v on north faces
    potential_energy  sqrt(g / 2H) eta at centres
    enstrophy         zeta / sqrt(2) at corners, except on walls
    dye_variance      c of the tracer dye at centres; wavenumber zero holds the square of its mean

So kinetic and potential energy are per mass of the layer at rest, and their sum is the `energy` of diagnostics.nc
divided by this mass. If u replaced sqrt(h^x / H) u, this would hold only for uniform thickness.

Reference: docs/numerics-spectral.md, "Spectra".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .grid import Grid
from .operators import curl, mx_f, my_f
from .patch import Patch
from .state import State
from .terms.tracer import CONTENT_SUFFIX, concentration_of, tracers_in

VARIANCE_SUFFIX = "_variance"


class RestingLayer(NamedTuple):
    """Constants of the layer at rest: gravity, m s-2, and the mean depth, m."""

    gravity: float
    depth: float


class SpectralQuantity(NamedTuple):
    """A quantity that is the mean of the squares of fields.

    Attributes:
        units: the units of its spectral density, of the density's rate of change, and of the spectral flux.
        fields: function (State, Grid, RestingLayer) -> {location: Patch}. The State consists of Patches whose velocity
            on closed faces is zero.
        rates: function (State, rates, Grid, RestingLayer) -> d/dt of the fields; `rates` is d/dt of the State.
        transfer_part: the part of `dynamics.budget` that moves the quantity between wavenumbers; "" if there is none.
        includes_continuity: whether this part includes continuity.
        sources: the fields of `table.OUTPUT_FIELDS` from which the quantity is computed.
    """

    long_name: str
    units: tuple[str, str, str]
    fields: Callable[[State, Grid, RestingLayer], dict[str, Patch]]
    rates: Callable[[State, State, Grid, RestingLayer], dict[str, Patch]]
    transfer_part: str = ""
    includes_continuity: bool = False
    sources: tuple[str, ...] = ("h", "u", "v")


def weighted_current(state, grid, layer) -> dict[str, Patch]:
    """sqrt(h / 2H) u and sqrt(h / 2H) v, with h on the faces."""
    factor = 0.5 / layer.depth
    return {"u": np.sqrt(factor * mx_f(state.h)) * state.u, "v": np.sqrt(factor * my_f(state.h)) * state.v}


def weighted_current_rate(state, rates, grid, layer) -> dict[str, Patch]:
    """sqrt(h / 2H) (du/dt + u dh/dt / 2h), likewise for v."""
    factor, rates_by_location = 0.5 / layer.depth, {}
    for name, mean in (("u", mx_f), ("v", my_f)):
        h, velocity, rate = mean(state.h), getattr(state, name), getattr(rates, name)
        rates_by_location[name] = np.sqrt(factor * h) * (rate + velocity * (0.5 * mean(rates.h) / h))
    return rates_by_location


#: The `units` of energies.
ENERGY_UNITS = "m3 s-2", "m3 s-3", "m2 s-3"
SPECTRAL_QUANTITIES = {
    "kinetic_energy": SpectralQuantity(
        "kinetic energy per mass of the layer at rest",
        ENERGY_UNITS,
        weighted_current,
        weighted_current_rate,
        transfer_part="advection",
        includes_continuity=True,
    ),
    "potential_energy": SpectralQuantity(
        "available potential energy per mass of the layer at rest",
        ENERGY_UNITS,
        lambda state, grid, layer: {"centre": (0.5 * layer.gravity / layer.depth) ** 0.5 * (state.h - grid.depth)},
        lambda state, rates, grid, layer: {"centre": (0.5 * layer.gravity / layer.depth) ** 0.5 * rates.h},
        sources=("h",),
    ),
    "enstrophy": SpectralQuantity(
        "enstrophy",
        ("m s-2", "m s-3", "s-3"),
        lambda state, grid, layer: {"corner": 0.5**0.5 * curl(state.u, state.v, grid)},
        lambda state, rates, grid, layer: {"corner": 0.5**0.5 * curl(rates.u, rates.v, grid)},
        transfer_part="advection",
        sources=("u", "v"),
    ),
}


def tracer_variance(tracer: str) -> SpectralQuantity:
    """The SpectralQuantity of a tracer's concentration, c = C/h."""

    def concentration(state, grid, layer):
        return {"centre": concentration_of(tracer, state)}

    def change(state, rates, grid, layer):
        """dc/dt = (dC/dt - c dh/dt) / h."""
        if tracer in state._fields:
            return {"centre": getattr(rates, tracer)}
        c = concentration_of(tracer, state)
        return {"centre": (getattr(rates, tracer + CONTENT_SUFFIX) - c * rates.h) / state.h}

    long_name, units = f"square of the concentration of {tracer}", ("m", "m s-1", "s-1")
    return SpectralQuantity(
        long_name, units, concentration, change, transfer_part=tracer, includes_continuity=True, sources=("h", tracer)
    )


def spectral_quantity(name: str) -> SpectralQuantity:
    """The quantity called `name`: one of SPECTRAL_QUANTITIES, or the variance of a tracer."""
    return SPECTRAL_QUANTITIES.get(name) or tracer_variance(name.removesuffix(VARIANCE_SUFFIX))


def spectral_quantities_in(names) -> list[str]:
    """The spectral quantities among the names of a file's variables."""
    return [
        *(name for name in SPECTRAL_QUANTITIES if name in names),
        *(name for name in names if name.endswith(VARIANCE_SUFFIX)),
    ]


def spectral_quantities_of(names) -> dict[str, SpectralQuantity]:
    """The spectral quantities of a State with these fields."""
    return SPECTRAL_QUANTITIES | {name + VARIANCE_SUFFIX: tracer_variance(name) for name in tracers_in(names)}


#: The axes, as endings of names and of long names: the total wavenumber, its component in x, and in y.
SPECTRUM_AXES = {"": "", "_x": " in x", "_y": " in y"}


class WavenumberAxis(NamedTuple):
    """Wavenumbers 0, spacing, 2 spacing, ..., rad m-1."""

    n_wavenumbers: int
    spacing: float
    last_resolved: int  # index of the last wavenumber that the grid resolves in every direction

    @property
    def wavenumbers(self) -> np.ndarray:
        return self.spacing * np.arange(self.n_wavenumbers)


def radial_bin(ratio):
    """The bin nearest to wavenumber / spacing; of two equally near ones always the larger, despite rounding."""
    return np.floor(ratio + (0.5 + 1e-9)).astype(np.intp)


def wavenumber_axes(grid) -> dict[str, WavenumberAxis]:
    """The axes of the spectra of a sea with this section [grid], by SPECTRUM_AXES.

    In x and y the spacing is 2 pi / length on a periodic axis, and pi / length between walls. That of the total
    wavenumber is the larger of both; its last bins lie in the corners of the wavenumber plane.
    """
    axes = {}
    for ending, n_cells, size, is_periodic in (
        ("_x", grid.nx, grid.dx, grid.periodic_x),
        ("_y", grid.ny, grid.dy, grid.periodic_y),
    ):
        n = n_cells // 2 + 1 if is_periodic else n_cells
        axes[ending] = WavenumberAxis(n, (2 if is_periodic else 1) * np.pi / (n_cells * size), n - 1)
    axes_with_waves = [axis for axis in axes.values() if axis.n_wavenumbers > 1] or [axes["_x"]]
    spacing = max(axis.spacing for axis in axes_with_waves)
    ends = [axis.spacing * (axis.n_wavenumbers - 1) for axis in axes_with_waves]
    last_resolved = int(min(ends) / spacing - 0.5 + 1e-9)
    return {
        "": WavenumberAxis(
            int(radial_bin(np.sqrt(sum(end**2 for end in ends)) / spacing)) + 1, spacing, max(last_resolved, 0)
        )
    } | axes
