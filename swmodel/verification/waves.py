"""Verification tests of waves: periods, speeds, a step and a slope in the floor, open boundaries."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..cases import equatorial, kelvin, seiche, soliton
from ..config import load
from .comparison import (
    Comparison,
    convergence_order,
    grid_points,
    max_abs,
    refine_grid,
    simulate,
    simulate_flat_bottom,
    verification_test,
)

GRAVITY, DEPTH = 9.81, 100.0
WAVE_SPEED = math.sqrt(GRAVITY * DEPTH)


@verification_test("Merian (1828); Lamb (1932), section 190")
def seiche_period() -> Iterator[Comparison]:
    """The period of the first seiche in a closed basin is 2 L / sqrt(g H)."""
    grid = {"grid.nx": 100, "grid.ny": 3, "grid.dx": 1e3, "grid.dy": 1e3}
    simulation = simulate("seiche", grid | {"case.amplitude": 1e-6})
    config = simulation.config
    simulation.advance(round(3.25 * 2 * np.pi / seiche.frequency(config) / simulation.dt))
    shape = seiche.mode_shape(config, grid_points(config))
    relative_amplitude = (simulation.field("eta") * shape).sum() / (shape**2).sum() / config.case.amplitude
    measured = simulation.time / (3.25 + math.asin(-relative_amplitude) / (2 * np.pi))
    expected = 2 * 100e3 / math.sqrt(config.physics.gravity * config.physics.depth)
    yield Comparison("period, s", measured, expected, 1e-4 * expected)


@verification_test("Gill (1982), section 7.3")
def inertia_gravity_wave() -> Iterator[Comparison]:
    """A wave on an f plane has the frequency sqrt(f² + g H k²)."""
    nx, dx, f = 64, 20e3, 1e-4
    k = 2 * np.pi / (nx * dx)
    expected = math.sqrt(f**2 + (WAVE_SPEED * k) ** 2)
    fields = {
        "eta": lambda at: 1e-5 * np.cos(k * at.x) + 0 * at.y,
        "u": lambda at: 1e-5 * expected / (k * DEPTH) * np.cos(k * at.x) + 0 * at.y,
        "v": lambda at: 1e-5 * f / (k * DEPTH) * np.sin(k * at.x) + 0 * at.y,
    }
    simulation = simulate_flat_bottom(nx, 3, dx, fields, 2 * np.pi / expected, physics__f0=f)
    harmonic = np.exp(-1j * k * grid_points(simulation.config).x[0])
    phase_change = -np.angle((simulation.field("eta")[1] * harmonic).sum())
    measured = (2 * np.pi + phase_change) / simulation.time
    yield Comparison("frequency, s-1", measured, expected, 1e-3 * expected)


@verification_test("Gill (1982), section 10.4")
def kelvin_wave() -> Iterator[Comparison]:
    """A coastal Kelvin wave keeps its shape and its speed sqrt(g H), to second order."""
    grid, errors = {"nx": 24, "ny": 15, "dx": 80e3, "dy": 80e3}, []
    for factor in (2, 4):
        options = {**refine_grid(grid, factor), "case.amplitude": 1e-6}
        simulation = simulate("kelvin", options, 0.3 * grid["nx"] * grid["dx"] / WAVE_SPEED)
        config, time = simulation.config, simulation.time
        level = kelvin.sea_level(config, grid_points(config), time)
        current = kelvin.current(config, grid_points(config, "u"), time)
        errors.append(max_abs(simulation.field("eta") - level) / max_abs(level))
    yield Comparison("largest error of sea level / amplitude", errors[1], 0.0, 0.01)
    yield Comparison("order of the error", convergence_order(*errors), 2.0, 0.1)
    yield Comparison("flow across the channel / current", max_abs(simulation.field("v")) / max_abs(current), 0.0, 1e-3)
    yield Comparison(
        "largest error of the current / current", max_abs(simulation.field("u") - current) / max_abs(current), 0.0, 0.01
    )
    for f0 in (1e-4, -1e-4):
        simulation = simulate("kelvin", {"physics.f0": f0}, kelvin.ROUND_TRIP_TIME)
        config = simulation.config
        change = max_abs(simulation.field("eta") - kelvin.sea_level(config, grid_points(config), 0.0))
        quantity = f"f0 {f0:g} s-1: largest change of sea level after one round / amplitude"
        yield Comparison(quantity, change / config.case.amplitude, 0.0, 0.005)


@verification_test("Matsuno (1966), J. Meteorol. Soc. Jpn. 44, 25-43")
def equatorial_waves() -> Iterator[Comparison]:
    """Equatorial Kelvin, Rossby, mixed and gravity waves keep their shape for a quarter of a period."""
    grid = {"nx": 40, "ny": 36, "dx": 1e5, "dy": 1e5}
    for wave in ("kelvin", "rossby", "mixed", "gravity"):
        errors = []
        for factor in (1, 2):
            options = {**refine_grid(grid, factor), "case.wave": wave, "case.amplitude": 1e-5}
            frequency = equatorial.frequency(load("equatorial", options, environ={}))
            simulation = simulate("equatorial", options, np.pi / 2 / abs(frequency))
            eta, _, _ = equatorial.wave_solution(simulation.config, grid_points(simulation.config), simulation.time)
            errors.append(max_abs(simulation.field("eta") - eta) / max_abs(eta))
        yield Comparison(f"{wave}: largest error of sea level / amplitude", errors[1], 0.0, 0.03)
        yield Comparison(f"{wave}: order of the error", convergence_order(*errors), 2.0, 0.25)


@verification_test("Matsuno (1966), J. Meteorol. Soc. Jpn. 44, 25-43", quick=False)
def equatorial_speeds() -> Iterator[Comparison]:
    """Kelvin and Rossby waves travel along the equator at the speed of their dispersion relation."""
    for wave, seconds, tolerance in (("kelvin", equatorial.ROUND_TRIP_TIME, 3e-4), ("rossby", 75 * 86400.0, 0.01)):
        simulation = simulate("equatorial", {"case.wave": wave, "case.mode": 1})
        config, x = simulation.config, grid_points(simulation.config).x[0]
        crest_row = np.abs(simulation.field("eta")).max(axis=1).argmax()
        harmonic = np.exp(-1j * equatorial.wavenumber(config) / equatorial.equatorial_radius(config) * x)
        phases = [np.angle((simulation.field("eta")[crest_row] * harmonic).sum())]
        for n in range(1, 41):
            simulation.advance(until=seconds * n / 40)
            phases.append(np.angle((simulation.field("eta")[crest_row] * harmonic).sum()))
        frequency = (phases[0] - np.unwrap(phases)[-1]) / simulation.time
        yield Comparison(f"{wave}: speed / formula", frequency / equatorial.frequency(config), 1.0, tolerance)


@verification_test("Lamb (1932), section 176")
def wave_over_a_step() -> Iterator[Comparison]:
    """A step in the floor transmits 2 / (1 + sqrt(H2/H1)) of the height of a long wave."""
    nx, dx, deep, shallow = 400, 1e3, 100.0, 25.0
    step_x = nx * dx / 2
    fields = {
        "depth": lambda at: np.where(at.x < step_x, deep, shallow) + 0 * at.y,
        "eta": lambda at: 1e-5 * np.exp(-(((at.x - 0.3 * nx * dx) / 20e3) ** 2)) + 0 * at.y,
        "u": lambda at: 1e-5 * WAVE_SPEED / deep * np.exp(-(((at.x - 0.3 * nx * dx) / 20e3) ** 2)) + 0 * at.y,
    }
    seconds = 0.2 * nx * dx / WAVE_SPEED + 60e3 / math.sqrt(GRAVITY * shallow)
    eta = simulate_flat_bottom(nx, 3, dx, fields, seconds, grid__periodic_x=False).field("eta")[1] / 1e-5
    step_column = int(step_x / dx)
    speed_ratio = math.sqrt(shallow / deep)
    transmitted, reflected = 2 / (1 + speed_ratio), (1 - speed_ratio) / (1 + speed_ratio)
    yield Comparison("transmitted / incident height", eta[step_column:].max(), transmitted, 0.01)
    yield Comparison("reflected / incident height", eta[:step_column].max(), reflected, 0.01)


@verification_test("Green (1838); Lamb (1932), section 185")
def green_law() -> Iterator[Comparison]:
    """The height of a wave over a gentle slope is proportional to H^(-1/4)."""
    nx, dx = 800, 2e3
    length = nx * dx

    def depth(at):
        return 2000.0 - 1500.0 * np.clip((at.x / length - 0.3) / 0.5, 0.0, 1.0)

    def pulse(at):
        return 1e-4 * np.exp(-(((at.x - 0.15 * length) / 30e3) ** 2)) + 0 * at.y

    fields = {
        "depth": lambda at: depth(at) + 0 * at.y,
        "eta": pulse,
        "u": lambda at: pulse(at) * math.sqrt(GRAVITY / 2000.0),
    }
    x = (np.arange(nx) + 0.5) * dx
    wave_speed = np.sqrt(GRAVITY * (2000.0 - 1500.0 * np.clip((x / length - 0.3) / 0.5, 0.0, 1.0)))
    travel_time = np.cumsum(dx / wave_speed) - np.interp(0.15 * length, x, np.cumsum(dx / wave_speed))
    seconds = float(np.interp(0.88 * length, x, travel_time))
    eta = simulate_flat_bottom(nx, 3, dx, fields, seconds, grid__periodic_x=False).field("eta")[1]
    yield Comparison("growth from 2000 m to 500 m", eta.max() / 1e-4, 4**0.25, 0.02)


@verification_test("Boyd (1980), J. Phys. Oceanogr. 10, 1699-1717")
def equatorial_soliton() -> Iterator[Comparison]:
    """A solitary Rossby wave travels west at (1/3 + 0.395 B²) sqrt(g H), and leaves through an open boundary."""
    spacing, time_unit = soliton.RADIUS / 5, soliton.TIME_UNIT
    cells = {"grid.nx": 80, "grid.ny": 56, "grid.dx": spacing, "grid.dy": spacing, "case.start": 1.0}
    simulation = simulate("soliton", cells, 2 * time_unit)

    def crest_position():
        eta = simulation.field("eta").max(axis=0)
        crest_columns = slice(eta.argmax() - 1, eta.argmax() + 2)
        a, b, _ = np.polyfit(np.arange(eta.size)[crest_columns], eta[crest_columns], 2)
        return -b / (2 * a) * simulation.config.grid.dx

    start_position = crest_position()
    simulation.advance(round(6 * time_unit / simulation.dt))
    expected = soliton.celerity(simulation.config)
    yield Comparison("speed, m s-1", (start_position - crest_position()) / (6 * time_unit), expected, 0.05 * expected)

    spacing = soliton.RADIUS / 3
    coarse = {"grid.nx": 60, "grid.ny": 36, "grid.dx": spacing, "grid.dy": spacing, "case.start": -4.0}
    simulation = simulate("soliton", coarse)
    initial_energy = total_energy(simulation)
    simulation.advance(round(50 * time_unit / simulation.dt))
    yield Comparison("remaining energy / initial energy", total_energy(simulation) / initial_energy, 0.0, 0.002)


def total_energy(simulation) -> float:
    """The sum over all cells of g eta²/2 + H (u² + v²)/2."""
    eta, u, v = (simulation.field(name) for name in ("eta", "u", "v"))
    physics = simulation.config.physics
    return float((0.5 * physics.gravity * eta**2 + 0.5 * physics.depth * (u**2 + v**2)).sum())


@verification_test("Flather (1976); order by expansion in k dx", quick=False)
def open_boundary() -> Iterator[Comparison]:
    """A pulse leaves through open boundaries; the remaining energy scales as the fourth power of the grid spacing."""
    energy_left = []
    for nx in (100, 200):
        dx = 200e3 / nx
        fields = {"eta": lambda at: 1e-5 * np.exp(-0.5 * ((at.x - 100e3) / 8e3) ** 2) + 0 * at.y}
        options: dict[str, Any] = {"grid__periodic_x": False, "open_boundaries__sides": ("west", "east")}
        simulation = simulate_flat_bottom(nx, 3, dx, fields, **options)
        initial_energy = total_energy(simulation)
        simulation.advance(round(0.8 * 200e3 / WAVE_SPEED / simulation.dt))
        energy_left.append(total_energy(simulation) / initial_energy)
    yield Comparison("remaining energy / initial energy with 8 cells per pulse width", energy_left[1], 0.0, 1e-5)
    yield Comparison("order of the remaining energy", convergence_order(*energy_left), 4.0, 0.2)
