"""A coastal Kelvin wave runs round the channel at sqrt(g depth) without changing its shape, to second order."""

import numpy as np
import pytest

import swmodel
from swmodel.bench.known_answers.answer import order, refined, simulate, whole
from swmodel.cases import kelvin

pytestmark = pytest.mark.slow

GRID = {"nx": 24, "ny": 15, "dx": 80e3, "dy": 80e3}
LINEAR = {"case.amplitude": 1e-6}
NORTH = {"physics.f0": 1e-4}
SOUTH = {"physics.f0": -3e-5, "physics.gravity": 1.0, "grid.origin": "middle"}


def run(factor, overrides, rounds):
    """The model after so many rounds of the channel on a grid refined by `factor`."""
    overrides = {**refined(GRID, factor), **LINEAR, **overrides}
    speed = kelvin.speed(swmodel.load("kelvin", overrides, environ={}))
    return simulate("kelvin", overrides, rounds * GRID["nx"] * GRID["dx"] / abs(speed))


def errors(simulation):
    """Largest errors of sea level and current, and the largest flow across the channel, as parts of the wave."""
    config, time = simulation.config, simulation.time
    current = kelvin.current(config, whole(config, "u"), time)
    level = kelvin.level(config, whole(config), time)
    return (
        np.abs(simulation.field("eta") - level).max() / np.abs(level).max(),
        np.abs(simulation.field("u") - current).max() / np.abs(current).max(),
        np.abs(simulation.field("v")).max() / np.abs(current).max(),
    )


@pytest.mark.parametrize("hemisphere", [NORTH, SOUTH], ids=["north", "south"])
def test_error_is_of_second_order(hemisphere):
    level, current, across = zip(*(errors(run(factor, hemisphere, 0.3)) for factor in (2, 4)), strict=True)

    assert order(*level) == pytest.approx(2, abs=0.1)
    assert order(*current) == pytest.approx(2, abs=0.1)
    assert across[1] < 1e-3
    assert order(*across) > 1.8
