"""Verification tests of flows on a plane: gyres, vortices, adjustment, inertial motion, instability, and a weir."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.linalg

from ..cases import adjustment, inertial, munk, stommel
from .comparison import (
    Comparison,
    convergence_order,
    grid_points,
    max_abs,
    refine_grid,
    root_mean_square,
    simulate,
    simulate_flat_bottom,
    verification_test,
)

DAY = 86400.0


def model_streamfunction(simulation) -> np.ndarray:
    """Transport streamfunction / resting depth H, m2 s-1, at corners: the sum of h v dx / H from the west."""
    h, v = simulation.state.h, simulation.state.v
    transport_y = 0.5 * (h + np.roll(h, -1, axis=0)) * v
    return np.cumsum(transport_y, axis=1) * simulation.config.grid.dx / simulation.config.physics.depth


@verification_test("Stommel (1948), Trans. Am. Geophys. Union 29, 202-206")
def stommel_gyre() -> Iterator[Comparison]:
    """The wind-driven gyre with linear drag approaches Stommel's streamfunction."""
    basin = {"grid.nx": 50, "grid.ny": 50, "grid.dx": 2e4, "grid.dy": 2e4, "physics.linear_drag": 1.6e-6}
    simulation = simulate("stommel", basin | {"physics.f0": -5e-5, "case.wind": -0.01}, 60 * DAY)
    corner_points, grid = grid_points(simulation.config, "corner"), simulation.config.grid
    exact = stommel.streamfunction(simulation.config, (corner_points.i + 1) * grid.dx, (corner_points.j + 1) * grid.dy)
    error = max_abs(model_streamfunction(simulation) - exact) / max_abs(exact)
    yield Comparison("largest error of the streamfunction / largest streamfunction", error, 0.0, 0.01)


@verification_test("Munk (1950), J. Meteorol. 7, 79-93", quick=False)
def munk_gyre() -> Iterator[Comparison]:
    """The wind-driven gyre with viscosity and no slip approaches Munk's boundary current."""
    basin = {"grid.nx": 120, "grid.ny": 20, "grid.dx": 20e3, "grid.dy": 50e3, "physics.f0": 5e-5}
    simulation = simulate("munk", basin, 110 * DAY)
    config, row = simulation.config, simulation.config.grid.ny // 2 - 1
    x, middle_y = grid_points(config, "corner").x[0], config.grid.ny * config.grid.dy / 2
    psi, v = model_streamfunction(simulation)[row], simulation.state.v[row]
    exact = munk.streamfunction(config, x, middle_y)
    yield Comparison(
        "largest error of the streamfunction / largest streamfunction", max_abs(psi - exact) / exact.max(), 0.0, 0.025
    )
    last_northward_column = np.flatnonzero((v[:-1] > 0) & (v[1:] <= 0))[0]
    zero_x = x[last_northward_column] - config.grid.dx * (
        0.5 - v[last_northward_column] / (v[last_northward_column] - v[last_northward_column + 1])
    )
    expected = 2 * np.pi / np.sqrt(3) * munk.boundary_layer_width(config)
    yield Comparison("distance from the coast to zero current, km", zero_x / 1e3, expected / 1e3, 0.03 * expected / 1e3)


@verification_test("Carton (2001), Surv. Geophys. 22, 179-263: cyclogeostrophic balance", quick=False)
def vortex_balance() -> Iterator[Comparison]:
    """A vortex in cyclogeostrophic balance stays steady, to second order in the grid spacing."""
    grid, errors = {"nx": 48, "ny": 48, "dx": 13e3, "dy": 13e3}, []
    for factor in (1, 2):
        simulation = simulate("vortex", refine_grid(grid, factor))
        initial_u = simulation.field("u").copy()
        simulation.advance(round(DAY / 2 / simulation.dt))
        errors.append(max_abs(simulation.field("u") - initial_u) / max_abs(initial_u))
    yield Comparison("largest change of u in half a day / largest u", errors[1], 0.0, 0.01)
    yield Comparison("order of the error", convergence_order(*errors), 2.0, 0.2)


@verification_test("Gill (1982), section 7.2")
def geostrophic_adjustment() -> Iterator[Comparison]:
    """A step in sea level adjusts to rotation; a third of the released energy stays in the current."""
    grid = {"grid.nx": 360, "grid.ny": 3, "grid.dx": 4e4, "grid.dy": 4e4}
    simulation = simulate("adjustment", grid, 4 * adjustment.INERTIAL_PERIOD)
    config, n_steps = simulation.config, round(adjustment.INERTIAL_PERIOD / simulation.dt)
    eta, v = 0.0, 0.0  # means over an inertial period
    for _ in range(n_steps):
        simulation.advance(1)
        eta, v = eta + simulation.field("eta")[1] / n_steps, v + simulation.state.v[1] / n_steps
    x = grid_points(config).x[0]
    near_step = np.abs(x) < 5 * adjustment.rossby_radius(config)
    exact_eta, exact_v = adjustment.balanced_level(config, x)[near_step], adjustment.balanced_v(config, x)[near_step]
    yield Comparison("largest error of eta / step", max_abs(eta[near_step] - exact_eta) / config.case.step, 0.0, 0.005)
    yield Comparison("largest error of v / largest v", max_abs(v[near_step] - exact_v) / max_abs(exact_v), 0.0, 0.01)
    physics, dx = config.physics, config.grid.dx
    kinetic = 0.5 * physics.density * physics.depth * (v[near_step] ** 2).sum() * dx
    potential = 0.5 * physics.density * physics.gravity * (config.case.step**2 - eta[near_step] ** 2).sum() * dx
    yield Comparison("kinetic energy / potential energy released", kinetic / potential, 1 / 3, 0.02 / 3)


@verification_test("Gill (1982), section 8.3; linear and quadratic drag laws", quick=False)
def inertial_circle() -> Iterator[Comparison]:
    """A uniform current turns with the period 2 pi/f, and drag slows it down as its law predicts."""
    grid = {"grid.nx": 5, "grid.ny": 3, "grid.dx": 1e6, "grid.dy": 1e6, "time.dt": inertial.INERTIAL_PERIOD / 100}
    for name, drag in {
        "without drag": {},
        "linear drag": {"physics.linear_drag": 3e-5},
        "quadratic drag": {"physics.quadratic_drag": 0.01},
    }.items():
        simulation = simulate("inertial", grid | drag, inertial.INERTIAL_PERIOD)
        u, v = inertial.velocity(simulation.config, simulation.time)
        error = max(max_abs(simulation.state.u - u), max_abs(simulation.state.v - v)) / simulation.config.case.speed
        yield Comparison(f"{name}: error after one period / speed", error, 0.0, 1e-6)


@verification_test("Drazin and Howard (1966), Adv. Appl. Mech. 9; Rayleigh's equation as an eigenproblem", quick=False)
def bickley_growth() -> Iterator[Comparison]:
    """The most unstable wave on the jet U sech²(y/L) grows at the rate that Rayleigh's equation predicts."""
    jet_speed, jet_width, kL = 1.0, 10e3, 0.9
    nx, ny, dx = 70, 120, 2 * np.pi * jet_width / kL / 70
    y = (np.arange(1, 4 * ny) / (4 * ny) - 0.5) * ny * dx
    growth, mode = solve_rayleigh(jet_speed, jet_width, kL / jet_width, y)

    def perturbation_streamfunction(x, at_y):
        mode_at_y = np.interp(at_y, y, mode.real) + 1j * np.interp(at_y, y, mode.imag)
        return 1e-4 * jet_speed * jet_width * (mode_at_y * np.exp(1j * kL / jet_width * x)).real

    half_cell = dx / 2

    def u(at):
        y_from_axis = at.y - ny * dx / 2
        jet = jet_speed / np.cosh(y_from_axis / jet_width) ** 2
        return (
            jet
            - (
                perturbation_streamfunction(at.x, y_from_axis + half_cell)
                - perturbation_streamfunction(at.x, y_from_axis - half_cell)
            )
            / dx
        )

    def v(at):
        y_from_axis = at.y - ny * dx / 2
        return (
            perturbation_streamfunction(at.x + half_cell, y_from_axis)
            - perturbation_streamfunction(at.x - half_cell, y_from_axis)
        ) / dx

    options = {"grid__periodic_y": False, "time__stepper": "rk4", "physics__depth": 100.0}
    simulation = simulate_flat_bottom(nx, ny, dx, {"u": u, "v": v}, **options)
    time_scale, times, rms_v = jet_width / jet_speed, [], []
    for _ in range(2):
        simulation.advance(round(8 * time_scale / simulation.dt))
        times.append(simulation.time)
        rms_v.append(root_mean_square(simulation.field("v")))
    measured_growth = np.log(rms_v[1] / rms_v[0]) / (times[1] - times[0])
    yield Comparison(
        "growth rate / (U/L)", measured_growth * time_scale, growth * time_scale, 0.02 * growth * time_scale
    )


def solve_rayleigh(speed: float, width: float, k: float, y: np.ndarray) -> tuple[float, np.ndarray]:
    """The growth rate, s-1, and the streamfunction at y, m, of the most unstable mode of a jet between walls.

    The jet is U(y) = speed sech²(y/width), and k is the wavenumber, rad m-1. Rayleigh's equation is
    (U - c)(phi'' - k² phi) - U'' phi = 0, here with second-order differences.
    """
    dy, n = y[1] - y[0], y.size
    U = speed / np.cosh(y / width) ** 2
    curvature = U * (4 - 6 / np.cosh(y / width) ** 2) / width**2
    laplacian = (np.diag(np.full(n - 1, 1.0), -1) + np.diag(np.full(n - 1, 1.0), 1) - 2 * np.eye(n)) / dy**2
    operator = laplacian - k**2 * np.eye(n)
    c, modes = scipy.linalg.eig(U[:, None] * operator - np.diag(curvature), operator)
    most_unstable = int(np.argmax(c.imag))
    mode = modes[:, most_unstable]
    return k * float(c[most_unstable].imag), mode / np.abs(mode).max()


@verification_test(
    "Chow (1959), Open-Channel Hydraulics: broad-crested weir, dH/dt = - (2/3)^(3/2) sqrt(g) H^(3/2) / L", quick=False
)
def reservoir_behind_a_weir() -> Iterator[Comparison]:
    """A reservoir drains over a weir: 1/sqrt(H) grows linearly in time, where H is the head above the crest."""
    reservoir_length, initial_head, gravity, seconds = 1000.0, 0.2, 9.81, 3000.0
    weir = {"name": "weir", "line": [[reservoir_length, 0.0], [reservoir_length, 200.0]], "crest": -1.0}
    fields = {
        "depth": lambda at: np.where(at.x < reservoir_length, 6.0, 20.0) + 0.0 * at.y,
        "eta": lambda at: np.where(at.x < reservoir_length, initial_head - 1.0, -4.0) + 0.0 * at.y,
    }
    options = {"barriers__lines": [weir], "physics__gravity": gravity, "grid__periodic_x": False}
    simulation = simulate_flat_bottom(40, 4, 50.0, fields, seconds, **options)
    expected = (initial_head**-0.5 + 0.5 * (2 / 3) ** 1.5 * gravity**0.5 * simulation.time / reservoir_length) ** -2
    measured = simulation.field("eta")[:, :20].mean() + 1.0
    yield Comparison(f"head after {seconds:g} s / initial head", measured / initial_head, expected / initial_head, 0.01)
