"""The tide of a gulf is that of Lynch and Gray, to second order."""

import numpy as np
import pytest
from support.known_answers import order, whole

import swmodel
from swmodel.cases import gulf_tide

PERIODS = 5


def error(cells):
    """Largest error of sea level after five and after five and a quarter periods, over its largest value."""
    spacing = 237e3 / (cells - 1)
    grid = {"grid.nx": cells, "grid.ny": 3, "grid.dx": spacing, "grid.dy": spacing}
    simulation, found = swmodel.Simulation(swmodel.load("gulf_tide", {"case.amplitude": 1e-5} | grid, environ={})), []
    config, w = simulation.config, gulf_tide.frequency()
    level = gulf_tide.solution(config, whole(config).x[0, :-1])[0]
    for periods in (PERIODS, 0.25):
        simulation.advance(round(periods * 2 * np.pi / w / simulation.dt))
        expected = (level * np.exp(1j * w * simulation.time)).real
        found.append(np.abs(simulation.field("eta")[1, :-1] - expected).max())
    return max(found) / np.abs(level).max()


def test_error_is_of_second_order():
    coarse, fine = error(21), error(41)

    assert fine < 4e-4
    assert order(coarse, fine) == pytest.approx(2, abs=0.2)
