"""Verification tests of flows on a plane: gyres, vortices, adjustment, inertial motion, instability, and a weir."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.linalg

from ..cases import adjustment, inertial, munk, stommel
from ..model.simulation import Simulation
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
        "largest error of the streamfunction / largest streamfunction", max_abs(psi - exact) / exact.max(), 0.0, 0.02
    )
    last_northward_column = np.flatnonzero((v[:-1] > 0) & (v[1:] <= 0))[0]
    zero_x = x[last_northward_column] - config.grid.dx * (
        0.5 - v[last_northward_column] / (v[last_northward_column] - v[last_northward_column + 1])
    )
    expected = 2 * np.pi / np.sqrt(3) * munk.boundary_layer_width(config)
    yield Comparison("distance from the coast to zero current, km", zero_x / 1e3, expected / 1e3, 0.03 * expected / 1e3)


@verification_test("Sverdrup (1947), Proc. Natl. Acad. Sci. 33, 318-326", quick=False)
def sverdrup_gyres() -> Iterator[Comparison]:
    """Two gyres under a weak wind become steady and antisymmetric, with Sverdrup's transport in their interior."""
    basin = {"grid.nx": 25, "grid.ny": 50, "grid.dx": 40e3, "grid.dy": 40e3, "physics.viscosity": 1300.0}
    simulation = simulate("double_gyre", basin | {"case.wind": 0.005, "physics.linear_drag": 2e-7}, 700 * DAY)
    earlier_psi, config = model_streamfunction(simulation), simulation.config
    simulation.advance(until=800 * DAY)
    psi = model_streamfunction(simulation)
    change = max_abs(psi - earlier_psi) / max_abs(psi)
    yield Comparison("largest change in 100 days / largest streamfunction", change, 0.0, 0.005)
    northern_gyre_mirrored = -psi[-2::-1]
    difference = max_abs(psi[:-1] - northern_gyre_mirrored) / max_abs(psi)
    yield Comparison("largest difference of the gyres / largest streamfunction", difference, 0.0, 0.005)
    physics, length_y = config.physics, config.grid.ny * config.grid.dy
    y = (np.arange(config.grid.ny) + 1) * config.grid.dy
    # beta V = curl(stress) / density, for the wind stress - wind cos(2 pi y / length_y)
    curl = -2 * np.pi / length_y * config.case.wind * np.sin(2 * np.pi * y / length_y)
    exact = curl / (physics.density * physics.beta)
    interior_columns = slice(12, 21)
    transport_y = physics.depth * np.gradient(psi, config.grid.dx, axis=1)[:, interior_columns].mean(axis=1)
    error = max_abs(transport_y - exact) / max_abs(exact)
    yield Comparison("largest error of the transport in the interior / largest transport", error, 0.0, 0.03)


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
    simulation = simulate("adjustment", {}, 4 * adjustment.INERTIAL_PERIOD)
    config, n_steps = simulation.config, round(adjustment.INERTIAL_PERIOD / simulation.dt)
    eta = v = np.zeros(config.grid.nx)  # means over an inertial period
    for _ in range(n_steps):
        simulation.advance(1)
        eta, v = eta + simulation.field("eta")[1] / n_steps, v + simulation.state.v[1] / n_steps
    x = grid_points(config).x[0]
    near_step = np.abs(x) < 5 * adjustment.rossby_radius(config)
    exact_eta, exact_v = adjustment.balanced_level(config, x)[near_step], adjustment.balanced_v(config, x)[near_step]
    yield Comparison("largest error of eta / step", max_abs(eta[near_step] - exact_eta) / config.case.step, 0.0, 0.002)
    yield Comparison("largest error of v / largest v", max_abs(v[near_step] - exact_v) / max_abs(exact_v), 0.0, 0.004)
    physics, dx = config.physics, config.grid.dx
    kinetic = 0.5 * physics.density * physics.depth * (v[near_step] ** 2).sum() * dx
    potential = 0.5 * physics.density * physics.gravity * (config.case.step**2 - eta[near_step] ** 2).sum() * dx
    yield Comparison("kinetic energy / potential energy released", kinetic / potential, 1 / 3, 0.02 / 3)


@verification_test("Gill (1982), section 8.3; linear and quadratic drag laws", quick=False)
def inertial_circle() -> Iterator[Comparison]:
    """A uniform current turns with the period 2 pi/f; drag slows it down, and wind raises it, as theory predicts."""
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
        yield Comparison(f"{name}: largest sea level, m", max_abs(simulation.field("eta")), 0.0, 1e-13)
    wind, r = 0.1, 3e-5
    options = {"physics.f0": 0.0, "case.speed": 0.0, "case.wind": wind, "physics.linear_drag": r}
    simulation = simulate("inertial", grid | options, inertial.INERTIAL_PERIOD)
    physics = simulation.config.physics
    exact_u = wind / (physics.density * physics.depth * r) * (1 - np.exp(-r * simulation.time))
    yield Comparison("current raised by wind: relative error", max_abs(simulation.state.u / exact_u - 1), 0.0, 1e-6)


@verification_test("the work of forces on the discrete equations", quick=False)
def energy_budget_of_a_gyre() -> Iterator[Comparison]:
    """In an eddying double gyre the work of the wind is the change of energy plus the losses to drag and viscosity."""
    basin = {"grid.nx": 25, "grid.ny": 50, "grid.dx": 40e3, "grid.dy": 40e3, "physics.viscosity": 1300.0}
    simulation = simulate("double_gyre", basin, 300 * DAY)
    initial_energy, total_work, total_losses = simulation.diagnostics()["energy"], 0.0, 0.0
    work, losses = wind_work_and_losses(simulation)
    for _ in range(400):
        simulation.advance(1)
        next_work, next_losses = wind_work_and_losses(simulation)
        total_work += 0.5 * (work + next_work) * simulation.dt
        total_losses += 0.5 * (losses + next_losses) * simulation.dt
        work, losses = next_work, next_losses
    change = simulation.diagnostics()["energy"] - initial_energy
    yield Comparison("(change of energy + losses) / work of the wind", (change + total_losses) / total_work, 1.0, 1e-6)


def wind_work_and_losses(simulation: Simulation) -> tuple[float, float]:
    """The work of the wind, and the losses to linear drag and viscosity, W, in a closed basin with free slip."""
    grid, physics, (h, u, v) = simulation.config.grid, simulation.config.physics, simulation.state[:3]
    h_u, h_v = 0.5 * (h + np.roll(h, -1, axis=1)), 0.5 * (h + np.roll(h, -1, axis=0))
    stress = simulation.config.case.wind_x(simulation.config, grid_points(simulation.config, "u"))
    drag = physics.linear_drag * ((h_u * u**2).sum() + (h_v * v**2).sum())
    no_flow, free_slip = {"mode": "constant"}, {"mode": "edge"}
    laplacian_u = second_difference(u, 1, grid.dx, no_flow) + second_difference(u, 0, grid.dy, free_slip)
    laplacian_v = second_difference(v, 0, grid.dy, no_flow) + second_difference(v, 1, grid.dx, free_slip)
    friction = -physics.viscosity * ((h_u * u * laplacian_u).sum() + (h_v * v * laplacian_v).sum())
    area = grid.dx * grid.dy
    return (stress * u).sum() * area, physics.density * (drag + friction) * area


def second_difference(field: np.ndarray, axis: int, spacing: float, padding: dict) -> np.ndarray:
    """The second derivative along an axis, with values beyond the array by `np.pad`."""
    widths = [(1, 1) if each == axis else (0, 0) for each in range(2)]
    return np.diff(np.pad(field, widths, **padding), 2, axis=axis) / spacing**2


@verification_test(
    "Batchelor (1969), Phys. Fluids 12, II-233: energy moves to large scales, enstrophy is lost", quick=False
)
def decaying_turbulence() -> Iterator[Comparison]:
    """In decaying turbulence enstrophy falls faster than energy, and the eddies grow."""
    grid = {"grid.nx": 96, "grid.ny": 96, "grid.dx": 13.3e3, "grid.dy": 13.3e3, "physics.biharmonic_viscosity": 5e10}
    simulation = simulate("turbulence", grid)

    def energy_enstrophy_and_wavenumber():
        spectra = simulation.spectra()
        energy = spectra["kinetic_energy"]
        mean_wavenumber = (np.arange(energy.size) * energy).sum() / energy.sum()
        return np.array([energy.sum(), spectra["enstrophy"].sum(), mean_wavenumber])

    initial = energy_enstrophy_and_wavenumber()
    simulation.advance(days=20)
    energy, enstrophy, wavenumber = energy_enstrophy_and_wavenumber() / initial
    yield Comparison("energy after 20 days / initial energy", energy, 0.55, 0.2)
    yield Comparison("enstrophy / initial enstrophy", enstrophy, 0.0, 0.25)
    yield Comparison("mean wavenumber / initial mean wavenumber", wavenumber, 0.4, 0.2)


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

    options: dict[str, Any] = {"grid__periodic_y": False, "time__stepper": "rk4", "physics__depth": 100.0}
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
    """The growth rate, s-1, and the streamfunction of the most unstable mode of a jet between walls.

    The jet is U(y) = speed sech²(y/width) at equidistant y, m; k is the wavenumber, rad m-1. The streamfunction at the
    same y, complex, has a largest absolute value of 1. Rayleigh's equation for the streamfunction phi and the complex
    phase speed c is (U - c)(phi'' - k² phi) - U'' phi = 0, here with second-order differences.
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
    options: dict[str, Any] = {"barriers__lines": [weir], "physics__gravity": gravity, "grid__periodic_x": False}
    simulation = simulate_flat_bottom(40, 4, 50.0, fields, seconds, **options)
    expected = (initial_head**-0.5 + 0.5 * (2 / 3) ** 1.5 * gravity**0.5 * simulation.time / reservoir_length) ** -2
    measured = simulation.field("eta")[:, :20].mean() + 1.0
    yield Comparison(f"head after {seconds:g} s / initial head", measured / initial_head, expected / initial_head, 0.01)
