"""Verification tests of general properties: conservation, Parseval's theorem, identical bits, derivatives."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..config import load
from ..gradients.check import Checks, controls_of
from ..gradients.problem import Problem
from ..model.simulation import Simulation
from .comparison import Comparison, grid_points, max_abs, simulate, simulate_flat_bottom, verification_test

BASIN = {"grid.nx": 30, "grid.ny": 40, "grid.dx": 4e4, "grid.dy": 4e4, "physics.viscosity": 500.0}


def rough_floor(at) -> np.ndarray:
    """The depth, m, of a floor with hollows and seamounts."""
    return 100.0 + 30.0 * np.sin(at.x / 3e4) * np.cos(at.y / 2e4)


def island_mask(at) -> np.ndarray:
    return 1.0 - ((at.i - 12) ** 2 + (at.j - 9) ** 2 < 9)


@verification_test("the divergence of the transports sums to zero", quick=False)
def mass_is_conserved() -> Iterator[Comparison]:
    """The mass stays constant to round-off for a thousand steps over a rough floor around an island."""
    fields = {"depth": rough_floor, "mask": island_mask, "eta": lambda at: np.sin(at.x / 4e4) * np.cos(at.y / 5e4)}
    simulation = simulate_flat_bottom(36, 28, 1e4, fields, physics__f0=1e-4)
    initial_mass = simulation.diagnostics()["mass"]
    simulation.advance(1000)
    yield Comparison("relative change of the mass", simulation.diagnostics()["mass"] / initial_mass - 1, 0.0, 1e-13)


@verification_test("Sadourny (1975); Arakawa and Lamb (1981): order four in the time step with rk4", quick=False)
def energy_is_conserved() -> Iterator[Comparison]:
    """With energy-conserving fluxes only the time stepper changes the energy, to its order or better."""
    fields = {"depth": rough_floor, "mask": island_mask, "eta": lambda at: np.sin(at.x / 4e4) * np.cos(at.y / 5e4)}
    for flux in ("energy", "arakawa_lamb"):
        changes = []
        for dt in (160.0, 80.0):
            options: dict[str, Any] = {"scheme__vorticity_flux": flux, "time__stepper": "rk4", "time__dt": dt}
            simulation = simulate_flat_bottom(36, 28, 1e4, fields, physics__f0=1e-4, **options)
            initial_energy = simulation.diagnostics()["energy"]
            simulation.advance(round(16000 / dt))
            changes.append(abs(simulation.diagnostics()["energy"] / initial_energy - 1))
        yield Comparison(f"{flux}: order of the relative change", np.log2(changes[0] / changes[1]), 4.5, 0.6)


@verification_test("Parseval's theorem")
def parseval() -> Iterator[Comparison]:
    """The sum of the spectrum of potential energy over wavenumbers is its mean over the domain."""
    fields = {"eta": lambda at: 0.1 * np.random.default_rng(1).standard_normal((48, 64))[at.j, at.i]}
    simulation = simulate_flat_bottom(64, 48, 1e4, fields)
    physics = simulation.config.physics
    mean_square = float(np.mean(physics.gravity * simulation.field("eta") ** 2 / (2 * physics.depth)))
    wavenumber_step = 2 * np.pi / (64 * 1e4)
    spectrum_sum = float(simulation.spectra()["potential_energy_x"].sum()) * wavenumber_step
    yield Comparison("sum of the spectrum, relative difference", spectrum_sum / mean_square - 1, 0.0, 1e-12)


@verification_test("well-balanced pressure and transports")
def lake_at_rest() -> Iterator[Comparison]:
    """Water at rest over a ridge, around an island, and over a random relief of a sphere stays at rest."""
    simulation = simulate("rest")
    config, initial_eta = simulation.config, simulation.field("eta")
    is_water = config.case.mask(config, grid_points(config)) > 0
    simulation.advance(200)
    yield Comparison("largest current, m s-1", max_abs(simulation.field("speed")), 0.0, 1e-12)
    change = max_abs((simulation.field("eta") - initial_eta)[is_water])
    yield Comparison("largest change of sea level, m", change, 0.0, 1e-11)
    rng = np.random.default_rng(1)
    fields = {"depth": 10.0 + 5000.0 * rng.random((60, 120)), "mask": (rng.random((60, 120)) > 0.2) * 1.0}
    simulation = simulate("sea", fields=fields)
    simulation.advance(500)
    largest = max(max_abs(np.nan_to_num(simulation.field(name))) for name in ("eta", "u", "v"))
    yield Comparison("sphere: largest level or current", largest, 0.0, 1e-300)


@verification_test("a program is deterministic")
def restart_bits() -> Iterator[Comparison]:
    """A run that continues from a restart file has the same bits as an uninterrupted one."""
    config = load("double_gyre", BASIN | {"run.steps": 40, "run.days": None}, environ={})
    uninterrupted = Simulation(config)
    uninterrupted.advance(40)
    interrupted = Simulation(config)
    interrupted.advance(17)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "restart.nc"
        interrupted.write_restart(path)
        continued = Simulation.from_restart(path)
    continued.advance(23)
    n_different = sum(int((a != b).sum()) for a, b in zip(uninterrupted.state, continued.state, strict=True))
    yield Comparison("numbers that differ", n_different, 0, 0.5)


@verification_test("an independent program of the same equations")
def reference_agrees() -> Iterator[Comparison]:
    """Twenty steps of the executor `auto` agree with the reference executor (NumPy)."""
    states = []
    for executor in ("auto", "reference"):
        options = BASIN | {"run.executor": executor, "run.dtype": "float64", "physics.slip": "no"}
        simulation = simulate("double_gyre", options | {"physics.quadratic_drag": 1e-3})
        simulation.advance(20)
        states.append(simulation.state)
    error = max(max_abs(a - b) / max_abs(b) for a, b in zip(*states, strict=True))
    yield Comparison("largest relative difference", error, 0.0, 1e-12)


@verification_test("Taylor's theorem; the definition of the transpose", quick=False)
def exact_derivatives() -> Iterator[Comparison]:
    """The Taylor remainder of a run is of second order, tangent and adjoint agree, and the Hessian is symmetric."""
    config = load("double_gyre", BASIN | {"run.steps": 50, "run.days": None, "run.dtype": "float64"}, environ={})
    problem = Problem(config, controls_of(config), lambda view, k: view.state)
    problem.prepare(problem.first_guess(), curvature=True)
    checks = Checks(problem)
    yield Comparison("slope of the Taylor remainder", checks.taylor()["taylor_slope"], 2.0, 0.02)
    yield Comparison("tangent and adjoint, relative difference", checks.dot_product_error(), 0.0, 1e-12)
    yield Comparison("symmetry of the Hessian, relative difference", checks.hessian_symmetry(), 0.0, 1e-10)
