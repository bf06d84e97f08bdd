"""A lake at rest stays at rest, whatever its floor, its coast, its level and the terms that are switched on."""

import numpy as np
import pytest

from swmodel.bench.known_answers.answer import simulate, whole

pytestmark = pytest.mark.slow

GRID = {"grid.nx": 45, "grid.ny": 31, "grid.dx": 2e4, "grid.dy": 2e4}
FRICTION = {
    "physics.viscosity": 1e3,
    "physics.biharmonic_viscosity": 1e11,
    "physics.linear_drag": 1e-6,
    "physics.quadratic_drag": 3e-3,
    "physics.slip": "no",
}
PLANET = {"physics.gravity": 1.0, "physics.f0": -2e-4, "physics.beta": 1e-10, "grid.periodic_x": True}


@pytest.mark.parametrize(
    ("flux", "options"),
    [("energy", FRICTION), ("enstrophy", PLANET), ("arakawa_lamb", FRICTION | PLANET)],
)
def test_lake_stays_at_rest(flux, options):
    simulation = simulate("rest", {**GRID, **options, "scheme.vorticity_flux": flux}, 10000.0)
    config = simulation.config
    water = config.case.mask(config, whole(config)) > 0
    wave_speed = np.sqrt(config.physics.gravity * config.physics.depth)

    assert np.abs(simulation.field("speed")).max() < 1e-13 * wave_speed
    assert np.abs(simulation.field("eta") - config.case.level)[water].max() < 1e-13 * config.physics.depth
