"""The twin experiments in the double gyre: their oceans are that of `double_gyre`, except for a patch of drag."""

import numpy as np
import pytest

import swmodel
from swmodel.assimilation.experiment import believed
from swmodel.bench.known_answers.answer import whole
from swmodel.setup import fields

pytestmark = pytest.mark.slow


def everything(config, name):
    grid = config.grid
    return np.broadcast_to(fields.evaluate(config, name, range(grid.ny), range(grid.nx)), (grid.ny, grid.nx))


@pytest.mark.parametrize("case", ["double_gyre_twin", "double_gyre_drag"])
def test_the_ocean_believed_in_is_that_of_the_double_gyre(case):
    config = believed(swmodel.load(case, environ={}))
    ours = {"grid.nx": 50, "grid.ny": 100, "grid.dx": 20e3, "grid.dy": 20e3}
    plain = swmodel.load("double_gyre", ours, environ={})
    for name in ("depth", "mask", "wind_x", "wind_y", "linear_drag", "eta", "u", "v"):
        np.testing.assert_array_equal(everything(config, name), everything(plain, name))
    run = swmodel.resolve(swmodel.load(case, environ={}))  # observations are compared with states at their times
    assert (run.run.steps % 20, 86400 % run.time.dt) == (0, 0)
    without = {"viscosity": 0.0}
    assert config.physics.model_copy(update=without) == plain.physics.model_copy(update=without)


@pytest.mark.parametrize("cells", [{}, {"grid.nx": 25, "grid.ny": 50, "grid.dx": 40e3, "grid.dy": 40e3}])
def test_the_patch_is_a_gaussian_around_its_middle(cells):
    config = swmodel.load("double_gyre_drag", {"case.patch": 4e-6, **cells}, environ={})
    at = whole(config)
    distance = np.hypot(at.x - 0.3 * at.length_x, at.y - 0.5 * at.length_y)
    expected = 5e-8 + 4e-6 * np.exp(-((distance / 200e3) ** 2))

    np.testing.assert_allclose(everything(config, "linear_drag"), expected, rtol=1e-12)


def test_the_winds_not_believed_in_are_gaussian_and_end_with_their_correlation():
    config = swmodel.load("double_gyre_winds", environ={})
    case, at = config.case, whole(config)
    steady = swmodel.load("double_gyre", {"grid.nx": 25, "grid.ny": 50, "grid.dx": 40e3, "grid.dy": 40e3}, environ={})
    np.testing.assert_array_equal(believed(config).case.wind_x(config, at, 5e5), everything(steady, "wind_x"))
    assert not believed(config).case.wind_y(config, at, 5e5).any()
    waves = [case.model_copy(update={"seed": seed}).unknown(at, t, "x")[25, 12] for seed in range(300) for t in (0, 5)]
    now, later = np.reshape(waves, (-1, 2)).T
    np.testing.assert_allclose(np.std(now), 0.15, rtol=0.15)
    np.testing.assert_allclose(later, now, atol=0.01)
    days = [case.model_copy(update={"seed": seed}).unknown(at, 5 * 86400, "x")[25, 12] for seed in range(300)]
    assert abs(np.corrcoef(now, days)[0, 1] - np.exp(-0.5)) < 0.15
