"""The jet in the middle latitudes: its balance, that it stays without the bump, and that it rolls up with it."""

import numpy as np
import pytest
from support.known_answers import order, simulate, whole

import swmodel
from swmodel.cases import galewsky

COARSE = {"grid.nx": 60, "grid.ny": 48, "time.dt": 360.0, "physics.viscosity": 0.0, "case.bump": 0.0}


def test_without_the_bump_the_jet_stays_to_second_order():
    def change(factor):
        finer = {"grid.nx": 60 * factor, "grid.ny": 48 * factor, "time.dt": 360.0 / factor}
        simulation = simulate("galewsky", COARSE | finer, 0.0)
        u = simulation.field("u").copy()
        simulation.advance(round(86400 / simulation.dt))
        return np.sqrt(np.mean((simulation.field("u") - u) ** 2) / np.mean(u**2))

    config = swmodel.load("galewsky", environ={})
    every = np.linspace(-np.pi / 2, np.pi / 2, 20001)
    level = galewsky.balance(config, every)
    coarse, fine = change(2), change(4)
    assert abs(np.trapezoid(level * np.cos(every), every)) < 1e-4 * np.abs(level).max()  # none over the sphere
    assert fine < 5e-4
    assert order(coarse, fine) == pytest.approx(2, abs=0.15)


def test_with_the_bump_it_rolls_up_in_the_west_of_it_by_the_sixth_day():
    """The largest northward current, at first none, is that of eddies; the jet in the east of the bump is straight."""
    options = {"grid.nx": 180, "grid.ny": 60, "time.dt": 180.0, "run.dtype": "float32"}
    simulation = simulate("galewsky", options, 6 * 86400)
    v, lon = simulation.field("v"), whole(simulation.config, "v").lon[0]
    eddies, straight = (np.abs(v[:, (lon > first) & (lon < last)]).max() for first, last in ((-150, 30), (100, 170)))
    assert 30 < eddies < 80
    assert straight < 0.2 * eddies
