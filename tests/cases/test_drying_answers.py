"""The known answers of water over dry land: solutions of the equations, and records as their sources have them."""

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import swmodel
from swmodel.bench.known_answers.answer import simulate, whole
from swmodel.cases import beach, conical_island, dam_break_dry, dam_break_wet, monai
from swmodel.config import Case

pytestmark = pytest.mark.slow

GRID = {"grid.nx": 41, "grid.ny": 37}
#: Overrides, and times, s; the waves of the dam breaks stay within the domain.
SOLUTIONS = {
    "thacker_planar": (GRID | {"grid.dx": 0.1, "grid.dy": 0.11, "physics.f0": 0.7}, (0.3, 2.0)),
    "thacker_curved": (GRID | {"grid.dx": 0.1, "grid.dy": 0.11, "physics.f0": -0.5}, (0.3, 2.0)),
    "sampson": ({}, (100.0, 1500.0)),
    "dam_break_dry": ({}, (0.7, 1.5)),
    "dam_break_wet": ({}, (0.7, 2.0)),
}


def residual(config, t, step=0.1):
    """The largest of what the three equations leave of the exact fields, over their largest terms.

    By central differences over `step` of a cell, at points whose neighbours are wet and on the same side of a jump.
    """
    at, dt = whole(config), step * config.grid.dx / 10.0

    def fields(x=0.0, y=0.0, later=0.0):
        moved = replace(at, x=at.x + x * step * at.dx, y=at.y + y * step * at.dy)
        found = config.case.theory(config, moved, t + later * dt)
        return np.array(np.broadcast_arrays(*(found[name] for name in ("h", "u", "v", "eta")), at.x + at.y)[:4])

    (h, u, v, _), physics = fields(), config.physics
    around = np.array([fields(-1), fields(1), fields(0, -1), fields(0, 1), fields(0, 0, -1), fields(0, 0, 1)])
    x, y, later = np.diff(around, axis=0)[::2] / (2 * np.array([step * at.dx, step * at.dy, dt]))[:, None, None, None]
    r, f, g = physics.linear_drag, physics.f0, physics.gravity
    mass = [later[0], x[0] * u, h * x[1], y[0] * v, h * y[2]]
    along = [later[1], u * x[1], v * y[1], -f * v, g * x[3], r * u]
    across = [later[2], u * x[2], v * y[2], f * u, g * y[3], r * v]
    jump = np.ptp(around[:, 1], axis=0) > 0.05 * np.abs(u).max()
    there = (around[:, 0].min(axis=0) > 0) & ~jump
    assert there.mean() > 0.05
    sizes = ((np.abs(sum(terms))[there].max(), np.abs(terms).max()) for terms in (mass, along, across))
    return max(left / size for left, size in sizes if size)


@pytest.mark.parametrize("name", SOLUTIONS)
def test_the_exact_fields_satisfy_the_shallow_water_equations(name):
    overrides, times = SOLUTIONS[name]
    config = swmodel.load(name, overrides, environ={})
    assert max(residual(config, t) for t in times) < 1e-5


def test_a_bore_conserves_mass_and_momentum():
    """Rankine and Hugoniot: S [h] = [hu], S [hu] = [hu² + gh²/2]; the fan ends where the bore's water begins."""
    config = swmodel.load("dam_break_wet", {"case.ahead": 0.03}, environ={})
    h, u, bore = dam_break_wet.middle(config)
    ahead, g = 0.03 * config.physics.depth, config.physics.gravity
    assert bore * (h - ahead) == pytest.approx(h * u)
    assert bore * h * u == pytest.approx(h * u**2 + g * (h**2 - ahead**2) / 2)
    assert u + 2 * np.sqrt(g * h) == pytest.approx(2 * np.sqrt(g * config.physics.depth))
    assert dam_break_dry.fan(config, (u - np.sqrt(g * h)) * 2.0, 2.0) == pytest.approx((h, u))


#: The program of the package swashes, beside this Python or on the path.
PROGRAM = shutil.which("swashes", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
SWASHES = {
    "1 4 1 1": (
        "sampson",
        {"case.radius": 1.0, "case.speed": 9.81**0.5 / 2, "physics.depth": 0.5, "physics.linear_drag": 0.0},
    ),
    "1 4 2 1": ("sampson", {}),
    "1 3 1 1": ("dam_break_wet", {"case.dam": 0.5, "case.ahead": 0.2, "physics.depth": 0.005}),
    "1 3 1 2": ("dam_break_dry", {"case.dam": 0.5, "physics.depth": 0.005}),
    "2 1 1 1": ("thacker_curved", {"case.start": 0.8**0.5}),  # its r0 is start²/a
    "2 1 1 2": ("thacker_planar", {}),
}


def swashes(solution, *cells):
    """What SWASHES prints: its text, and its table [cell, column]."""
    words = [PROGRAM, *solution.split(), *map(str, cells)]
    text = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    return text, np.loadtxt(text.splitlines())


@pytest.mark.skipif(not PROGRAM, reason="needs SWASHES, the program of the package swashes")
@pytest.mark.parametrize("solution", SWASHES)
def test_the_answers_are_those_of_swashes(solution):
    """Delestre and others (2013): thickness, and transport, of their program, to the digits of its time."""
    name, overrides = SWASHES[solution]
    plane = solution.startswith("2")
    text, rows = swashes(solution, 20, *[20] * plane)
    length, t = (float(text.split(word)[1].split()[0]) for word in ("Length of the domain:", "Time value:"))
    cells = {"grid.nx": 20, "grid.ny": 20 if plane else 1, "grid.dx": length / 20, "grid.dy": length / 20}
    config = swmodel.load(name, overrides | cells, environ={})
    found = config.case.theory(config, whole(config), t)
    h, u = (np.broadcast_to(found[key], (cells["grid.ny"], 20)).T.ravel() for key in "hu")
    column, flow = (2, 9) if plane else (1, 4)
    np.testing.assert_allclose(h, rows[:, column], atol=1e-5 * h.max())
    np.testing.assert_allclose(h * u, rows[:, flow], atol=1e-4 * np.sqrt(9.81 * h.max() ** 3))


@pytest.mark.skipif(not PROGRAM, reason="needs SWASHES, the program of the package swashes")
def test_a_dam_that_breaks_over_a_step_floods_it_as_in_swashes():
    """The energy of the water is kept over a step of the bed; the mean error of thickness is below 1 %."""
    expected = swashes("1 7 1 1", 100)[1][:, 1]
    behind = {
        "depth": lambda at: np.where(at.x < 10, 4.0, 3.0) + 0 * at.y,
        "eta": lambda at: -2.0 * (at.x > 10) + 0 * at.y,
    }
    grid = {"grid.nx": 100, "grid.ny": 5, "grid.dx": 0.2, "grid.dy": 0.2, "grid.periodic_x": False}
    model = simulate(Case, grid | {"drying.active": True, "time.cfl": 0.3}, 1.0, behind)
    assert np.abs(model.field("h")[2] - expected).mean() < 0.01 * expected.mean()


def test_the_solution_on_the_beach_is_near_the_law_of_run_up():
    """Synolakis (1987): the highest water by the asymptotic law is that of the profiles within a few percent."""
    config, found = swmodel.load("beach", environ={}), beach.solution()
    assert found["profiles"].shape == (found["times"].size, found["x"].size)
    assert np.nanmax(found["profiles"]) == pytest.approx(beach.highest(config), rel=0.05)
    assert np.isnan(found["near"][1]).any()
    assert not np.isnan(found["far"]).any()
    wave = beach.wave(config, whole(config))
    assert wave.max() == pytest.approx(0.019, rel=1e-3)
    toe = np.abs(beach.offshore(config, whole(config)) - 19.85).argmin()
    assert wave.ravel()[toe] == pytest.approx(0.019 / 20, rel=0.02)


@pytest.mark.parametrize("wave", "ABC")
def test_the_wave_passes_the_gauges_of_the_island_in_turn(wave):
    """In the order of their places, at the speed of a wave of that height; it runs up highest in front or behind."""
    record, (height, start) = conical_island.recorded(wave), conical_island.WAVES[wave]
    rise = [record.time[(level > 0.5 * level.max()).argmax()] for level in record.levels.values()]
    assert rise == sorted(rise)
    toe = conical_island.GAUGES["6"][0]
    speed = np.sqrt(9.81 * 0.32 * (1 + height))
    assert record.time[record.levels["6"].argmax()] == pytest.approx((toe - start) / speed, rel=0.15)
    assert record.angles[record.highest.argmax()] in (247.5, 270.0, 92.5)


def test_the_island_is_a_truncated_cone():
    config = swmodel.load("conical_island", environ={})
    depth = config.case.depth(config, whole(config))
    assert depth.max() == pytest.approx(0.32)
    assert depth.min() == pytest.approx(0.32 - 0.625)
    area = config.grid.dx * config.grid.dy
    assert ((depth < 0.32 - 1e-12).sum() * area) == pytest.approx(np.pi * 3.6**2, rel=0.01)
    assert ((depth < 1e-12).sum() * area) == pytest.approx(np.pi * (3.6 - 4 * 0.32) ** 2, rel=0.01)


def test_the_bed_of_monai_and_its_wave_are_those_of_the_benchmark():
    """The extremes of the published files, and still water deepest along the open side."""
    config = swmodel.load("monai", environ={})
    depth = config.case.depth(config, whole(config))
    assert (depth.max(), depth.min()) == pytest.approx((0.13535, -0.125), abs=1e-5)
    np.testing.assert_allclose(depth[:, 0], 0.13535, atol=1e-5)
    time, level = monai.inflow()
    assert (time[-1], level.max(), level.min()) == pytest.approx((22.5, 0.0161886, -0.0115097))
    for (x, y), (low, high) in monai.RUN_UP.items():
        ground = -depth[round(y / monai.SPACING), round(x / monai.SPACING)]
        assert 0 < ground < high, (x, y, low)
    _, gauges = monai.recorded()
    assert [level.max() for level in gauges.values()] == pytest.approx([0.03694, 0.03895, 0.04535], abs=1e-5)


def test_the_flats_dry_at_low_water_and_the_creek_does_not():
    config = swmodel.load("tidal_flat", environ={})
    depth, tide = config.case.depth(config, whole(config)), config.open_sides.amplitude[0]
    assert 0.3 < (depth < tide).mean() < 0.7
    assert (depth > -tide).all()
    assert depth[:, 70].max() > tide
