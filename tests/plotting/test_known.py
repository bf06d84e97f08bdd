"""Known answers of cases in pictures: what they are at the start, and the difference from them."""

import numpy as np
import pytest
from support.small_run import make_run

import swmodel
from swmodel import cases
from swmodel.ocean.coordinates import points
from swmodel.plotting import PlotError, derived, maps
from swmodel.plotting.dataset import open_data

pytestmark = pytest.mark.slow

LOCATION = {"eta": "centre", "u": "u", "v": "v"}
#: Those whose answer holds from later on, or of a mean.
LATER = {"adjustment", "gulf_tide"}


def known_at_start(name):
    config = swmodel.load(name, environ={})
    return config, config.case.theory(config, points(config.grid, "centre", range(3), range(3)), 0.0)


@pytest.mark.parametrize("name", [name for name in cases.names() if name not in LATER and known_at_start(name)[1]])
def test_the_known_answer_begins_with_the_initial_state(name):
    config, _ = known_at_start(name)
    for field, location in LOCATION.items():
        at = points(config.grid, location, range(config.grid.ny), range(config.grid.nx))
        found = config.case.theory(config, at, 0.0).get(field)
        if found is not None and hasattr(config.case, field):
            given = getattr(config.case, field)(config, at)
            if (
                field == "eta" and config.drying.active and hasattr(config.case, "depth")
            ):  # below the bed there is no water
                found, given = (np.maximum(level, -config.case.depth(config, at)) for level in (found, given))
            np.testing.assert_allclose(
                found, np.broadcast_to(given, np.shape(found)), atol=1e-12 + 1e-12 * np.abs(given).max()
            )


def test_the_error_is_the_difference_from_the_known_answer(tmp_path):
    run = make_run(tmp_path / "run", "seiche", run__steps=20, output__every_steps=10, run__dtype="float64")
    with open_data(run / "output.nc") as data:
        first, last = (derived.shown(data, "eta_error", record) for record in (0, -1))
        figure = maps.picture(data, ["eta", "eta_error"])
    assert np.abs(first.values).max() < 1e-14
    assert 0 < np.abs(last.values).max() < 0.01 * swmodel.load("seiche", environ={}).case.amplitude
    shown = [axes for axes in figure.axes if axes.images]
    assert shown[1].get_title(loc="left").startswith("Error of sea level (10")
    low, high = shown[1].images[0].get_clim()
    assert low == -high


def test_a_channel_that_is_drawn_as_a_line_has_the_known_answer_beside_it(tmp_path):
    run = make_run(tmp_path / "run", "seiche", grid__nx=40, grid__ny=4, run__steps=5, run__dtype="float64")
    with open_data(run / "output.nc") as data:
        model, known = maps.picture(data, ["eta"]).axes[0].lines
    np.testing.assert_allclose(known.get_ydata(), model.get_ydata(), atol=0.02 * np.abs(model.get_ydata()).max())


def test_a_case_that_knows_no_answer_says_so(run):
    with open_data(run / "output.nc") as data, pytest.raises(PlotError, match="knows no answer for eta"):
        maps.picture(data, ["eta_error"])
