"""Analytic solutions of moving shores and dam breaks satisfy the equations or agree with SWASHES; so does a run."""

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import swmodel
from swmodel.verification.comparison import grid_points, simulate

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("name", "f0"), [("thacker_planar", 0.7), ("thacker_curved", -0.5)])
def test_rotating_bowls_satisfy_the_shallow_water_equations(name, f0):
    """Derivatives are central differences where all neighbours are wet. SWASHES has no bowls with rotation."""
    grid = {"grid.nx": 41, "grid.ny": 37, "grid.dx": 0.1, "grid.dy": 0.11}
    config = swmodel.load(name, grid | {"physics.f0": f0}, environ={})
    at, steps = grid_points(config), np.array([0.01, 0.011, 0.001])

    def fields(dx=0.0, dy=0.0, dt=0.0):
        solution = config.case.analytic_solution(config, replace(at, x=at.x + dx, y=at.y + dy), 2.0 + dt)
        return np.array(np.broadcast_arrays(*(solution[name] for name in ("h", "u", "v", "eta")), at.x + at.y)[:4])

    (h, u, v, _), g = fields(), config.physics.gravity
    neighbours = np.array([[fields(*(sign * step)) for sign in (-1, 1)] for step in np.diag(steps)])
    d_x, d_y, d_t = np.diff(neighbours, axis=1)[:, 0] / (2 * steps[:, None, None, None])
    mass = [d_t[0], d_x[0] * u, h * d_x[1], d_y[0] * v, h * d_y[2]]
    momentum_x = [d_t[1], u * d_x[1], v * d_y[1], -f0 * v, g * d_x[3]]
    momentum_y = [d_t[2], u * d_x[2], v * d_y[2], f0 * u, g * d_y[3]]
    wet = neighbours[:, :, 0].min(axis=(0, 1)) > 0
    assert wet.mean() > 0.05
    for terms in (mass, momentum_x, momentum_y):
        assert np.abs(sum(terms))[wet].max() < 1e-5 * np.abs(terms).max()


#: The program of the package swashes, beside this Python or on PATH.
SWASHES_PROGRAM = shutil.which("swashes", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
INVISCID = {"case.radius": 1.0, "case.speed": 9.81**0.5 / 2, "physics.depth": 0.5, "physics.linear_drag": 0.0}
SWASHES_CASES = {
    "1 4 1 1": ("sampson", INVISCID),
    "1 4 2 1": ("sampson", {}),
    "1 3 1 1": ("dam_break_wet", {"case.dam": 0.5, "case.ahead": 0.2, "physics.depth": 0.005}),
    "1 3 1 2": ("dam_break_dry", {"case.dam": 0.5, "physics.depth": 0.005}),
    "2 1 1 1": ("thacker_curved", {"case.start": 0.8**0.5}),  # r0 of SWASHES is start²/a
    "2 1 1 2": ("thacker_planar", {}),
}
needs_swashes = pytest.mark.skipif(not SWASHES_PROGRAM, reason="needs SWASHES, the program of the package swashes")


def run_swashes(solution, *cells):
    """The text that SWASHES prints, and the table [cell, column] in it."""
    command = [SWASHES_PROGRAM, *solution.split(), *map(str, cells)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return text, np.loadtxt(text.splitlines())


@needs_swashes
@pytest.mark.parametrize("solution", SWASHES_CASES)
def test_analytic_solutions_are_those_of_swashes(solution):
    """Thickness and transport are those of SWASHES (Delestre and others 2013), to the digits of its printed time."""
    name, overrides = SWASHES_CASES[solution]
    is_2d = solution.startswith("2")
    text, rows = run_swashes(solution, 20, *[20] * is_2d)
    length, t = (float(text.split(label)[1].split()[0]) for label in ("Length of the domain:", "Time value:"))
    cells = {"grid.nx": 20, "grid.ny": 20 if is_2d else 1, "grid.dx": length / 20, "grid.dy": length / 20}
    config = swmodel.load(name, overrides | cells, environ={})
    fields = config.case.analytic_solution(config, grid_points(config), t)
    h, u = (np.broadcast_to(fields[key], (cells["grid.ny"], 20)).T.ravel() for key in "hu")
    h_column, transport_column = (2, 9) if is_2d else (1, 4)
    np.testing.assert_allclose(h, rows[:, h_column], atol=1e-5 * h.max())
    np.testing.assert_allclose(h * u, rows[:, transport_column], atol=1e-4 * np.sqrt(9.81 * h.max() ** 3))


@needs_swashes
def test_dam_break_floods_a_step_as_in_swashes():
    """The flow conserves energy over a step of the bed; the mean error of thickness is below 1 %."""
    expected = run_swashes("1 7 1 1", 100)[1][:, 1]
    bed = {"depth": lambda at: np.where(at.x < 10, 4, 3) + 0.0 * at.y, "eta": lambda at: -2 * (at.x > 10) + 0.0 * at.y}
    grid = {"grid.nx": 100, "grid.ny": 5, "grid.dx": 0.2, "grid.dy": 0.2, "grid.periodic_x": False}
    model = simulate(swmodel.Case, grid | {"drying.active": True, "time.cfl": 0.3}, 1.0, bed)
    assert np.abs(model.field("h")[2] - expected).mean() < 0.01 * expected.mean()
