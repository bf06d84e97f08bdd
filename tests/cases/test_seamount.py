"""A current over a seamount keeps its potential vorticity; water at rest stays at rest."""

import numpy as np
import pytest
from support.known_answers import simulate, whole

from swmodel.cases import seamount

COARSE = {"grid.nx": 96, "grid.ny": 48, "grid.dx": 10e3, "grid.dy": 10e3}
DAY = 86400.0
DEEP = {"physics.gravity": 1.0, "physics.depth": 5e3, "case.height": 0.03}


@pytest.fixture(scope="module", params=[{"physics.f0": -1e-4}, {**DEEP, "scheme.vorticity_flux": "enstrophy"}])
def swept(request):
    """(simulation, vorticity expected over the seamount, where it is higher than a third) after seven days."""
    simulation = simulate("seamount", {**COARSE, **request.param}, 7 * DAY)
    corners = whole(simulation.config, "corner")
    summit = seamount.seamount(simulation.config, corners) > simulation.config.case.height / 3
    return simulation, seamount.squeezed_vorticity(simulation.config, corners), summit


def test_potential_vorticity_over_the_seamount_is_that_upstream_of_an_anticyclone(swept):
    simulation, squeezed, summit = swept
    physics, strongest = simulation.config.physics, np.abs(squeezed).max()
    anomaly = simulation.field("q") * physics.depth / physics.f0 - 1

    assert np.abs(anomaly[summit]).max() < 0.02 * simulation.config.case.height
    np.testing.assert_allclose(simulation.field("zeta")[summit], squeezed[summit], rtol=0, atol=0.05 * strongest)


def test_cyclone_leaves_downstream(swept):
    simulation, squeezed, _ = swept
    config, strongest = simulation.config, np.abs(squeezed).max()
    cyclonic = np.sign(config.physics.f0) * simulation.field("zeta")
    place = whole(config, "corner").x[0, np.unravel_index(cyclonic.argmax(), cyclonic.shape)[1]]
    summit = -config.grid.nx * config.grid.dx / 6

    assert cyclonic.max() == pytest.approx(strongest, rel=0.1)
    assert place - summit == pytest.approx(config.case.speed * 7 * DAY, rel=0.25)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rest_stays_rest_over_a_seamount_that_almost_reaches_the_surface(dtype):
    overrides = {"case.speed": 0.0, "case.height": 0.99, "run.dtype": dtype, "physics.beta": 2e-11}
    simulation = simulate("seamount", {**COARSE, **overrides}, 0.0)
    before = simulation.state
    simulation.advance(50)

    for then, now in zip(before, simulation.state, strict=True):
        np.testing.assert_array_equal(now, then)
