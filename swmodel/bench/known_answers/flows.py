"""Known answers of flows on a plane: gyres, vortices, adjustment, inertial motion, instability."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.linalg

from ...cases import adjustment, inertial, munk, stommel
from .answer import Answer, flat, known, largest, order, refined, simulate, whole

DAY = 86400.0


def streamfunction(simulation) -> np.ndarray:
    """Transport streamfunction over the resting depth, m2 s-1, at corners: the sum of h v dx from the western wall."""
    h, v = simulation.state.h, simulation.state.v
    flux = 0.5 * (h + np.roll(h, -1, axis=0)) * v
    return np.cumsum(flux, axis=1) * simulation.config.grid.dx / simulation.config.physics.depth


@known("Stommel (1948), Trans. Am. Geophys. Union 29, 202-206")
def stommel_gyre(overrides: dict | None = None) -> Iterator[Answer]:
    """The wind-driven gyre with linear drag approaches Stommel's streamfunction."""
    basin = {"grid.nx": 50, "grid.ny": 50, "grid.dx": 2e4, "grid.dy": 2e4, "physics.linear_drag": 1.6e-6}
    simulation = simulate("stommel", basin | (overrides or {"physics.f0": -5e-5, "case.wind": -0.01}), 60 * DAY)
    corners, grid = whole(simulation.config, "corner"), simulation.config.grid
    exact = stommel.streamfunction(simulation.config, (corners.i + 1) * grid.dx, (corners.j + 1) * grid.dy)
    error = largest(streamfunction(simulation) - exact) / largest(exact)
    yield Answer("largest error of the streamfunction, of its maximum", error, 0.0, 0.01)


@known("Munk (1950), J. Meteorol. 7, 79-93", quick=False)
def munk_gyre() -> Iterator[Answer]:
    """The wind-driven gyre with viscosity and no slip approaches Munk's boundary current."""
    long = {"grid.nx": 120, "grid.ny": 20, "grid.dx": 20e3, "grid.dy": 50e3, "physics.f0": 5e-5}
    simulation = simulate("munk", long, 110 * DAY)
    config, row = simulation.config, simulation.config.grid.ny // 2 - 1
    x, middle = whole(config, "corner").x[0], config.grid.ny * config.grid.dy / 2
    psi, v = streamfunction(simulation)[row], simulation.state.v[row]
    exact = munk.streamfunction(config, x, middle)
    yield Answer("largest error of the streamfunction, of its maximum", largest(psi - exact) / exact.max(), 0.0, 0.025)
    first = np.flatnonzero((v[:-1] > 0) & (v[1:] <= 0))[0]
    zero = x[first] - config.grid.dx * (0.5 - v[first] / (v[first] - v[first + 1]))
    expected = 2 * np.pi / np.sqrt(3) * munk.boundary_layer_width(config)
    yield Answer(
        "distance from the coast where the current turns, km", zero / 1e3, expected / 1e3, 0.03 * expected / 1e3
    )


@known("Carton (2001), Surv. Geophys. 22, 179-263: cyclogeostrophic balance", quick=False)
def vortex_balance() -> Iterator[Answer]:
    """A balanced vortex is steady, to second order."""
    grid, errors = {"nx": 48, "ny": 48, "dx": 13e3, "dy": 13e3}, []
    for factor in (1, 2):
        simulation = simulate("vortex", refined(grid, factor))
        before = simulation.field("u").copy()
        simulation.advance(round(DAY / 2 / simulation.dt))
        errors.append(largest(simulation.field("u") - before) / largest(before))
    yield Answer("largest change of u in half a day, of its maximum", errors[1], 0.0, 0.01)
    yield Answer("order of the error", order(*errors), 2.0, 0.2)


@known("Gill (1982), section 7.2")
def geostrophic_adjustment(overrides: dict | None = None) -> Iterator[Answer]:
    """A step of sea level adjusts to rotation; a third of the released energy stays in the current."""
    grid = {"grid.nx": 360, "grid.ny": 3, "grid.dx": 4e4, "grid.dy": 4e4}
    simulation = simulate("adjustment", grid | (overrides or {}), 4 * adjustment.PERIOD)
    config, steps, eta, v = simulation.config, round(adjustment.PERIOD / simulation.dt), 0.0, 0.0
    for _ in range(steps):
        simulation.advance(1)
        eta, v = eta + simulation.field("eta")[1] / steps, v + simulation.state.v[1] / steps
    x = whole(config).x[0]
    near = np.abs(x) < 5 * adjustment.radius(config)
    level, current = adjustment.adjusted_level(config, x)[near], adjustment.adjusted_v(config, x)[near]
    yield Answer("largest error of sea level, of the step", largest(eta[near] - level) / config.case.step, 0.0, 0.005)
    yield Answer(
        "largest error of the current, of its maximum", largest(v[near] - current) / largest(current), 0.0, 0.01
    )
    physics, dx = config.physics, config.grid.dx
    kinetic = 0.5 * physics.density * physics.depth * (v[near] ** 2).sum() * dx
    potential = 0.5 * physics.density * physics.gravity * (config.case.step**2 - eta[near] ** 2).sum() * dx
    yield Answer("kinetic energy over the potential energy released", kinetic / potential, 1 / 3, 0.02 / 3)


@known("Gill (1982), section 8.3; linear and quadratic drag laws", quick=False)
def inertial_circle() -> Iterator[Answer]:
    """A uniform current turns with the period 2 pi/f, and drag slows it by its law."""
    grid = {"grid.nx": 5, "grid.ny": 3, "grid.dx": 1e6, "grid.dy": 1e6, "time.dt": inertial.PERIOD / 100}
    for name, drag in {
        "without drag": {},
        "linear drag": {"physics.linear_drag": 3e-5},
        "quadratic drag": {"physics.quadratic_drag": 0.01},
    }.items():
        simulation = simulate("inertial", grid | drag, inertial.PERIOD)
        u, v = inertial.velocity(simulation.config, simulation.time)
        error = max(largest(simulation.state.u - u), largest(simulation.state.v - v)) / simulation.config.case.speed
        yield Answer(f"{name}: error after one period, of the speed", error, 0.0, 1e-6)


@known("Drazin and Howard (1966), Adv. Appl. Mech. 9; Rayleigh's equation solved as a matrix eigenproblem", quick=False)
def bickley_growth() -> Iterator[Answer]:
    """The most unstable wave of the jet U sech²(y/L) has the growth rate of Rayleigh's equation."""
    speed, width, number = 1.0, 10e3, 0.9
    nx, ny, dx = 70, 120, 2 * np.pi * width / number / 70
    y = (np.arange(1, 4 * ny) / (4 * ny) - 0.5) * ny * dx
    growth, mode = rayleigh(speed, width, number / width, y)

    def streamfunction_at(x, at_y):
        shape = np.interp(at_y, y, mode.real) + 1j * np.interp(at_y, y, mode.imag)
        return 1e-4 * speed * width * (shape * np.exp(1j * number / width * x)).real

    half = dx / 2

    def u(at):
        across = at.y - ny * dx / 2
        jet = speed / np.cosh(across / width) ** 2
        return jet - (streamfunction_at(at.x, across + half) - streamfunction_at(at.x, across - half)) / dx

    def v(at):
        across = at.y - ny * dx / 2
        return (streamfunction_at(at.x + half, across) - streamfunction_at(at.x - half, across)) / dx

    fields = {"u": u, "v": v}
    options = {"grid__periodic_y": False, "grid__ny": ny, "time__stepper": "rk4", "physics__depth": 100.0}
    simulation, seconds, sizes = flat(nx, ny, dx, fields, **options), width / speed, []
    for _ in range(2):
        simulation.advance(round(8 * seconds / simulation.dt))
        sizes.append((simulation.time, float(np.sqrt(np.mean(simulation.field("v") ** 2)))))
    (first, small), (second, large) = sizes
    measured = np.log(large / small) / (second - first)
    yield Answer("growth rate, of U/L", measured * seconds, growth * seconds, 0.02 * growth * seconds)


def rayleigh(speed: float, width: float, k: float, y: np.ndarray) -> tuple[float, np.ndarray]:
    """The growth rate, s-1, and the streamfunction at y of the most unstable mode of U sech²(y/L) between walls.

    (U - c)(phi'' - k² phi) - U'' phi = 0, by differences of second order.
    """
    d, n = y[1] - y[0], y.size
    U = speed / np.cosh(y / width) ** 2
    curvature = U * (4 - 6 / np.cosh(y / width) ** 2) / width**2
    laplacian = (np.diag(np.full(n - 1, 1.0), -1) + np.diag(np.full(n - 1, 1.0), 1) - 2 * np.eye(n)) / d**2
    operator = laplacian - k**2 * np.eye(n)
    c, modes = scipy.linalg.eig(U[:, None] * operator - np.diag(curvature), operator)
    most = int(np.argmax(c.imag))
    mode = modes[:, most]
    return k * float(c[most].imag), mode / np.abs(mode).max()
