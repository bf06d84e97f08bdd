"""The check of health takes water that comes in through open sides for no instability, and still finds one."""

import numpy as np
import pytest
from support.open_sides import G
from support.random_case import configuration

import swmodel
from swmodel.errors import NumericalError
from swmodel.model.health.verdict import Health


def test_health_takes_the_larger_of_the_records_that_levels_outside_lie_between():
    """They rise from zero, and are highest between two looks: no alarm; what comes in is bounded by the highest."""
    levels = np.zeros((6, 4, 20)) + np.array([0.0, 1.5, 0.2, -3.0, 0.1, 0.0])[:, None, None]
    options = {"grid__periodic_x": False, "open_sides__sides": ("west",), "run__steps": 60, "forcing__every": 200.0}
    fields = {"depth": np.full((4, 20), 20.0), "outside_level": levels}
    rising = configuration(4, 20, fields, run__executor="reference", **options)
    simulation = swmodel.Simulation(rising)
    health = Health(simulation)
    for steps, highest in ((0, 1.5), (8, 1.5), (14, 3.0), (15, 3.0), (8, 3.0)):
        simulation.take_steps(steps)
        health.check()
        steady = configuration(4, 20, {"depth": fields["depth"]}, open_sides__level=highest, **options)
        assert health.power == pytest.approx(Health(swmodel.Simulation(steady)).power, rel=1e-12)
        coming_in = 0.25 * G * np.sqrt(G * 20.0) * highest**2 * 4 * steady.grid.dy
        assert health.power * health.area == pytest.approx(coming_in, rel=1e-6)
    assert np.abs(simulation.field("eta")).max() > 0.2
    simulation.set(u=30.0)
    with pytest.raises(NumericalError, match="times what the run can have"):
        health.check()


def test_health_knows_what_comes_in(tmp_path):
    """A tide of two metres fills a basin at rest without an alarm; an instability is still noticed."""
    options = {
        **{"grid.periodic_x": False, "grid.nx": 30, "grid.ny": 4, "physics.depth": 20.0, "run.executor": "reference"},
        **{
            "open_sides.sides": ["west"],
            "open_sides.constituents": ("M2",),
            "open_sides.amplitude": (2.0,),
            "run.days": 1.0,
            "run.check_every_steps": 5,
        },
    }
    simulation = swmodel.Simulation(swmodel.load("rest", options, environ={}))
    simulation.run(tmp_path / "tide")
    assert np.abs(simulation.field("eta")).max() > 1.0
    health = Health(simulation)
    simulation.set(u=30.0)
    with pytest.raises(NumericalError, match="times what the run can have"):
        health.check()


def test_health_knows_what_a_sponge_brings_of_the_water_outside():
    """One that raises all of a basin by two metres gives no more than the bound; without it there would be an alarm."""
    options = {
        **{"grid.periodic_x": False, "grid.nx": 60, "grid.ny": 4, "grid.dx": 1e4, "grid.dy": 1e4, "time.dt": 100.0},
        **{"physics.depth": 20.0, "open_sides.sides": ["west"], "open_sides.level": 2.0, "run.executor": "reference"},
        **{"sponge.sides": ["west"], "sponge.rate": 2e-3, "sponge.width": 1e8, "run.dtype": "float64"},
    }
    simulation = swmodel.Simulation(swmodel.load("rest", options, environ={}))
    health, unaware = Health(simulation), Health(simulation)
    alone = swmodel.load("rest", options | {"sponge.rate": 0.0, "sponge.width": 0.0}, environ={})
    unaware.power = Health(swmodel.Simulation(alone)).power
    for _ in range(12):
        before = health.last.energy
        simulation.take_steps(2)
        health.check()
        assert health.last.energy <= 1.001 * (before + 200.0 * health.power) + health.rest**2
    assert simulation.field("eta")[:, 1:].min() > 1.5
    with pytest.raises(NumericalError, match="times what the run can have"):
        unaware.check()
    simulation.set(u=30.0)
    with pytest.raises(NumericalError, match="times what the run can have"):
        health.check()
