"""Known answers that hold for every configuration: conservation, Parseval, bits, exact derivatives."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ...config import load
from ...gradients.check import Checks, controls_of
from ...gradients.problem import Problem
from ...model.simulation import Simulation
from .answer import Answer, flat, known, largest, simulate

BASIN = {"grid.nx": 30, "grid.ny": 40, "grid.dx": 4e4, "grid.dy": 4e4, "physics.viscosity": 500.0}


def rough(at) -> np.ndarray:
    """A floor of ridges and seamounts, m."""
    return 100.0 + 30.0 * np.sin(at.x / 3e4) * np.cos(at.y / 2e4)


def island(at) -> np.ndarray:
    """Water, with an island."""
    return 1.0 - ((at.i - 12) ** 2 + (at.j - 9) ** 2 < 9)


@known("the divergence of the transports sums to zero", quick=False)
def mass_is_conserved() -> Iterator[Answer]:
    """A thousand steps over a rough floor round an island keep the mass to round-off."""
    fields = {"depth": rough, "mask": island, "eta": lambda at: np.sin(at.x / 4e4) * np.cos(at.y / 5e4)}
    simulation = flat(36, 28, 1e4, fields, physics__f0=1e-4)
    before = simulation.diagnostics()["mass"]
    simulation.advance(1000)
    yield Answer("relative change of the mass", simulation.diagnostics()["mass"] / before - 1, 0.0, 1e-13)


@known("Sadourny (1975); Arakawa and Lamb (1981): order four in the time step with rk4", quick=False)
def energy_is_conserved() -> Iterator[Answer]:
    """With energy-conserving fluxes only the time stepper changes the energy, to its order or better."""
    fields = {"depth": rough, "mask": island, "eta": lambda at: np.sin(at.x / 4e4) * np.cos(at.y / 5e4)}
    for flux in ("energy", "arakawa_lamb"):
        changes = []
        for dt in (160.0, 80.0):
            options = {"scheme__vorticity_flux": flux, "time__stepper": "rk4", "time__dt": dt, "physics__f0": 1e-4}
            simulation = flat(36, 28, 1e4, fields, **options)
            before = simulation.diagnostics()["energy"]
            simulation.advance(round(16000 / dt))
            changes.append(abs(simulation.diagnostics()["energy"] / before - 1))
        yield Answer(f"{flux}: order of the relative change", np.log2(changes[0] / changes[1]), 4.5, 0.6)


@known("Parseval's theorem")
def parseval() -> Iterator[Answer]:
    """The sum of a spectrum is the mean of the squares."""
    fields = {"eta": lambda at: 0.1 * np.random.default_rng(1).standard_normal((48, 64))[at.j, at.i]}
    simulation = flat(64, 48, 1e4, fields)
    physics = simulation.config.physics
    mean = float(np.mean(physics.gravity * simulation.field("eta") ** 2 / (2 * physics.depth)))
    spacing = 2 * np.pi / (64 * 1e4)
    added = float(simulation.spectra()["potential_energy_x"].sum()) * spacing
    yield Answer("sum over the spectrum, relative difference", added / mean - 1, 0.0, 1e-12)


@known("well-balanced pressure and transports")
def lake_at_rest() -> Iterator[Answer]:
    """Water at rest over a ridge and round an island stays at rest."""
    simulation = simulate("rest")
    simulation.advance(200)
    yield Answer("largest current, m s-1", largest(simulation.field("speed")), 0.0, 1e-12)


@known("a program is deterministic")
def restart_bits() -> Iterator[Answer]:
    """A run that continues from a restart file has the same bits as an uninterrupted one."""
    config = load("double_gyre", BASIN | {"run.steps": 40, "run.days": None}, environ={})
    whole = Simulation(config)
    whole.advance(40)
    first = Simulation(config)
    first.advance(17)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "restart.nc"
        first.write_restart(path)
        second = Simulation.from_restart(path)
    second.advance(23)
    different = sum(int((a != b).sum()) for a, b in zip(whole.state, second.state, strict=True))
    yield Answer("numbers that differ", different, 0, 0.5)


@known("an independent program of the same equations")
def reference_agrees() -> Iterator[Answer]:
    """Twenty steps of the fastest executor agree with the reference in NumPy."""
    runs = []
    for executor in ("auto", "reference"):
        options = BASIN | {"run.executor": executor, "run.dtype": "float64", "physics.slip": "no"}
        simulation = simulate("double_gyre", options | {"physics.quadratic_drag": 1e-3})
        simulation.advance(20)
        runs.append(simulation.state)
    error = max(largest(a - b) / largest(b) for a, b in zip(*runs, strict=True))
    yield Answer("largest relative difference", error, 0.0, 1e-12)


@known("Taylor's theorem; the definition of the transpose", quick=False)
def exact_derivatives() -> Iterator[Answer]:
    """The gradient of a run leaves a Taylor remainder of second order; tangent and adjoint agree."""
    config = load("double_gyre", BASIN | {"run.steps": 50, "run.days": None, "run.dtype": "float64"}, environ={})
    problem = Problem(config, controls_of(config), lambda view, k: view.state)
    problem.prepare(problem.first_guess(), curvature=True)
    checks = Checks(problem)
    yield Answer("slope of the Taylor remainder", checks.taylor()["taylor_slope"], 2.0, 0.02)
    yield Answer("tangent and adjoint, relative difference", checks.dot_product_error(), 0.0, 1e-12)
    yield Answer("symmetry of the Hessian, relative difference", checks.hessian_symmetry(), 0.0, 1e-10)
