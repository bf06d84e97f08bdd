"""Known answers of waves: periods, speeds, a step and a slope of the floor, open sides."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ...cases import equatorial, kelvin, seiche, soliton
from ...config import load
from .answer import Answer, flat, known, largest, order, refined, simulate, whole

GRAVITY, DEPTH = 9.81, 100.0
C = math.sqrt(GRAVITY * DEPTH)


@known("Merian (1828); Lamb (1932), section 190")
def seiche_period() -> Iterator[Answer]:
    """The period of a closed basin is 2 L / sqrt(g H)."""
    simulation = simulate(
        "seiche", {"grid.nx": 100, "grid.ny": 3, "grid.dx": 1e3, "grid.dy": 1e3, "case.amplitude": 1e-6}
    )
    config = simulation.config
    simulation.advance(round(3.25 * 2 * np.pi / seiche.frequency(config) / simulation.dt))
    shape = seiche.shape(config, whole(config))
    swing = (simulation.field("eta") * shape).sum() / (shape**2).sum() / config.case.amplitude
    measured = simulation.time / (3.25 + math.asin(-swing) / (2 * np.pi))
    expected = 2 * 100e3 / math.sqrt(config.physics.gravity * config.physics.depth)
    yield Answer("period, s", measured, expected, 1e-4 * expected)


@known("Gill (1982), section 7.3")
def inertia_gravity_wave() -> Iterator[Answer]:
    """A wave on an f plane has the frequency sqrt(f² + g H k²)."""
    nx, dx, f = 64, 20e3, 1e-4
    k = 2 * np.pi / (nx * dx)
    expected = math.sqrt(f**2 + (C * k) ** 2)
    fields = {
        "eta": lambda at: 1e-5 * np.cos(k * at.x) + 0 * at.y,
        "u": lambda at: 1e-5 * expected / (k * DEPTH) * np.cos(k * at.x) + 0 * at.y,
        "v": lambda at: 1e-5 * f / (k * DEPTH) * np.sin(k * at.x) + 0 * at.y,
    }
    simulation = flat(nx, 3, dx, fields, 2 * np.pi / expected, physics__f0=f)
    wave = np.exp(-1j * k * whole(simulation.config).x[0])
    turned = -np.angle((simulation.field("eta")[1] * wave).sum())
    measured = (2 * np.pi + turned) / simulation.time
    yield Answer("frequency, s-1", measured, expected, 1e-3 * expected)


@known("Gill (1982), section 10.4")
def kelvin_wave() -> Iterator[Answer]:
    """A coastal Kelvin wave keeps its shape and its speed sqrt(g H), to second order."""
    grid, errors = {"nx": 24, "ny": 15, "dx": 80e3, "dy": 80e3}, []
    for factor in (2, 4):
        options = {**refined(grid, factor), "case.amplitude": 1e-6}
        simulation = simulate("kelvin", options, 0.3 * grid["nx"] * grid["dx"] / C)
        config, time = simulation.config, simulation.time
        level, current = kelvin.level(config, whole(config), time), kelvin.current(config, whole(config, "u"), time)
        errors.append(largest(simulation.field("eta") - level) / largest(level))
    yield Answer("largest error of sea level, of the amplitude", errors[1], 0.0, 0.01)
    yield Answer("order of the error", order(*errors), 2.0, 0.1)
    yield Answer(
        "flow across the channel, of the current", largest(simulation.field("v")) / largest(current), 0.0, 1e-3
    )


@known("Matsuno (1966), J. Meteorol. Soc. Jpn. 44, 25-43")
def equatorial_waves() -> Iterator[Answer]:
    """Kelvin, Rossby, mixed and gravity waves of the equator keep their shape for a quarter of a period."""
    grid = {"nx": 40, "ny": 36, "dx": 1e5, "dy": 1e5}
    for wave in ("kelvin", "rossby", "mixed", "gravity"):
        errors = []
        for factor in (1, 2):
            options = {**refined(grid, factor), "case.wave": wave, "case.amplitude": 1e-5}
            frequency = equatorial.frequency(load("equatorial", options, environ={}))
            simulation = simulate("equatorial", options, np.pi / 2 / abs(frequency))
            eta, _, _ = equatorial.solution(simulation.config, whole(simulation.config), simulation.time)
            errors.append(largest(simulation.field("eta") - eta) / largest(eta))
        yield Answer(f"{wave}: largest error of sea level, of the amplitude", errors[1], 0.0, 0.03)
        yield Answer(f"{wave}: order of the error", order(*errors), 2.0, 0.25)


@known("Lamb (1932), section 176")
def wave_over_a_step() -> Iterator[Answer]:
    """A step of the floor transmits 2 / (1 + sqrt(H2/H1)) of the height of a long wave."""
    nx, dx, deep, shallow = 400, 1e3, 100.0, 25.0
    middle = nx * dx / 2
    fields = {
        "depth": lambda at: np.where(at.x < middle, deep, shallow) + 0 * at.y,
        "eta": lambda at: 1e-5 * np.exp(-(((at.x - 0.3 * nx * dx) / 20e3) ** 2)) + 0 * at.y,
        "u": lambda at: 1e-5 * C / deep * np.exp(-(((at.x - 0.3 * nx * dx) / 20e3) ** 2)) + 0 * at.y,
    }
    seconds = 0.2 * nx * dx / C + 60e3 / math.sqrt(GRAVITY * shallow)
    eta = flat(nx, 3, dx, fields, seconds, grid__periodic_x=False).field("eta")[1] / 1e-5
    at = int(middle / dx)
    ratio = math.sqrt(shallow / deep)
    yield Answer("height behind the step, of that before", eta[at:].max(), 2 / (1 + ratio), 0.01)
    yield Answer("reflected height", eta[:at].max(), (1 - ratio) / (1 + ratio), 0.01)


@known("Green (1838); Lamb (1932), section 185")
def green_law() -> Iterator[Answer]:
    """The height of a wave over a gentle slope grows as H^(-1/4)."""
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
    local = np.sqrt(GRAVITY * (2000.0 - 1500.0 * np.clip((x / length - 0.3) / 0.5, 0.0, 1.0)))
    from_start = np.cumsum(dx / local) - np.interp(0.15 * length, x, np.cumsum(dx / local))
    seconds = float(np.interp(0.88 * length, x, from_start))
    eta = flat(nx, 3, dx, fields, seconds, grid__periodic_x=False).field("eta")[1]
    yield Answer("growth from 2000 m to 500 m", eta.max() / 1e-4, 4**0.25, 0.02)


@known("Boyd (1980), J. Phys. Oceanogr. 10, 1699-1717")
def equatorial_soliton() -> Iterator[Answer]:
    """A solitary Rossby wave travels west at (1/3 + 0.395 B²) sqrt(g H), and leaves through an open side."""
    cells = {"grid.nx": 80, "grid.ny": 56, "grid.dx": soliton.L / 5, "grid.dy": soliton.L / 5, "case.start": 1.0}
    simulation = simulate("soliton", cells, 2 * soliton.T)

    def crest():
        eta = simulation.field("eta").max(axis=0)
        near = slice(eta.argmax() - 1, eta.argmax() + 2)
        a, b, _ = np.polyfit(np.arange(eta.size)[near], eta[near], 2)
        return -b / (2 * a) * simulation.config.grid.dx

    start = crest()
    simulation.advance(round(6 * soliton.T / simulation.dt))
    expected = soliton.celerity(simulation.config)
    yield Answer("speed, m s-1", (start - crest()) / (6 * soliton.T), expected, 0.05 * expected)

    coarse = {"grid.nx": 60, "grid.ny": 36, "grid.dx": soliton.L / 3, "grid.dy": soliton.L / 3, "case.start": -4.0}
    simulation = simulate("soliton", coarse)
    before = energy_of(simulation)
    simulation.advance(round(50 * soliton.T / simulation.dt))
    yield Answer("energy left in the basin", energy_of(simulation) / before, 0.0, 0.002)


def energy_of(simulation) -> float:
    """Sum of g eta²/2 + H (u² + v²)/2."""
    eta, u, v = (simulation.field(name) for name in ("eta", "u", "v"))
    physics = simulation.config.physics
    return float((0.5 * physics.gravity * eta**2 + 0.5 * physics.depth * (u**2 + v**2)).sum())


@known("Flather (1976); order by expansion in k dx", quick=False)
def open_side() -> Iterator[Answer]:
    """A pulse leaves through open sides; the energy left falls with the fourth power of the spacing."""
    left = []
    for nx in (100, 200):
        dx = 200e3 / nx
        fields = {"eta": lambda at: 1e-5 * np.exp(-0.5 * ((at.x - 100e3) / 8e3) ** 2) + 0 * at.y}
        options = {"grid__periodic_x": False, "open_sides__sides": ("west", "east")}
        simulation = flat(nx, 3, dx, fields, **options)
        before = energy_of(simulation)
        simulation.advance(round(0.8 * 200e3 / C / simulation.dt))
        left.append(energy_of(simulation) / before)
    yield Answer("energy left with 8 cells in a width", left[1], 0.0, 1e-5)
    yield Answer("order of the energy", order(*left), 4.0, 0.2)
