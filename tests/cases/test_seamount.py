"""A current over a seamount keeps its potential vorticity."""

import numpy as np
import pytest

from swmodel.bench.known_answers.answer import simulate, whole
from swmodel.cases import seamount

pytestmark = pytest.mark.night

COARSE = {"grid.nx": 96, "grid.ny": 48, "grid.dx": 10e3, "grid.dy": 10e3}
DAY = 86400.0
DEEP = {"physics.gravity": 1.0, "physics.depth": 5e3, "case.height": 0.03}


@pytest.mark.parametrize("overrides", [{"physics.f0": -1e-4}, {**DEEP, "scheme.vorticity_flux": "enstrophy"}])
def test_an_anticyclone_grows_over_the_seamount_and_a_cyclone_leaves_downstream(overrides):
    """After seven days potential vorticity over the seamount, where it is higher than a third, is that upstream."""
    simulation = simulate("seamount", COARSE | overrides, 7 * DAY)
    config, corners, zeta = simulation.config, whole(simulation.config, "corner"), simulation.field("zeta")
    summit = seamount.seamount(config, corners) > config.case.height / 3
    squeezed = seamount.squeezed_vorticity(config, corners)
    anomaly = simulation.field("q") * config.physics.depth / config.physics.f0 - 1
    cyclonic, strongest = np.sign(config.physics.f0) * zeta, np.abs(squeezed).max()
    away = corners.x[0, np.unravel_index(cyclonic.argmax(), cyclonic.shape)[1]] + config.grid.nx * config.grid.dx / 6

    assert np.abs(anomaly[summit]).max() < 0.02 * config.case.height
    np.testing.assert_allclose(zeta[summit], squeezed[summit], rtol=0, atol=0.05 * strongest)
    assert cyclonic.max() == pytest.approx(strongest, rel=0.1)
    assert away == pytest.approx(config.case.speed * 7 * DAY, rel=0.25)
