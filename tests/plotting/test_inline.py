"""Pictures in notebooks, of files, Datasets and a Simulation; known answers of cases and the error of a run."""

import numpy as np
import pytest
import xarray
from matplotlib import _pylab_helpers
from support.small_run import make_run

import swmodel
from swmodel import cases
from swmodel.errors import UsageError
from swmodel.ocean.coordinates import points
from swmodel.plotting import PlotError, derived, maps
from swmodel.plotting.dataset import open_data

pytestmark = pytest.mark.slow

SMALL = {"grid.nx": 12, "grid.ny": 9, "run.executor": "reference", "run.dtype": "float64"}
#: Cases whose answer holds from later on, or of a mean.
LATER = {"adjustment", "gulf_tide"}


def images(figure):
    return [axes.images[0].get_array() for axes in figure.axes if axes.images]


def test_dataset_is_drawn_as_the_file_it_is_from(run):
    with xarray.open_dataset(run / "output.nc") as dataset:
        given = [(run, 1), (dataset, 1), (dataset.isel(time=1), -1)]
        usual, *others = (images(swmodel.plot(source, record=record)) for source, record in given)
        doubled = images(swmodel.plot(dataset.assign(eta=2 * dataset.eta), "eta", record=1))
    for one, other in zip(sum(others, []), 2 * usual, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_allclose(doubled[0], 2 * usual[1], rtol=1e-6)


def test_simulation_draws_its_present_state():
    model = swmodel.Simulation("kelvin", SMALL)
    model.advance(3)
    figure = model.plot("eta", "zeta")
    assert figure._repr_png_().startswith(b"\x89PNG")
    assert _pylab_helpers.Gcf.figs == {}
    eta, zeta = images(figure)
    scales = np.max(np.abs(model.field("eta"))) / np.max(np.abs(eta))
    np.testing.assert_allclose(eta * scales, model.field("eta"), atol=1e-15)
    assert zeta.shape == (10, 13)  # corners: one more row, on the southern wall, and one more column
    assert figure.texts[0].get_text().startswith("kelvin, 2000-01-01")
    with pytest.raises(UsageError, match="foam"):
        model.plot("foam")


def test_known_answers_begin_with_the_initial_state():
    found = set()
    for name in set(cases.names()) - LATER:
        config = swmodel.load(name, environ={})
        for field, location in {"eta": "centre", "u": "u", "v": "v"}.items():
            at = points(config.grid, location, range(config.grid.ny), range(config.grid.nx))
            known = config.case.theory(config, at, 0.0)
            if field not in (known or ()) or not hasattr(config.case, field):
                continue
            known, given = known[field], getattr(config.case, field)(config, at)
            if field == "eta" and config.drying.active and hasattr(config.case, "depth"):  # no water below the bed
                known, given = (np.maximum(level, -config.case.depth(config, at)) for level in (known, given))
            given = np.broadcast_to(given, np.shape(known))
            np.testing.assert_allclose(known, given, atol=1e-12 + 1e-12 * np.abs(given).max(), err_msg=name)
            found.add(name)
    assert len(found) > 10


def test_error_is_the_difference_from_the_known_answer(run, tmp_path):
    folder = make_run(tmp_path / "seiche", "seiche", run__steps=20, output__every_steps=10, run__dtype="float64")
    with open_data(folder / "output.nc") as data:
        first, last = (derived.shown(data, "eta_error", record) for record in (0, -1))
        figure = maps.picture(data, ["eta", "eta_error"])
    assert np.abs(first.values).max() < 1e-14
    assert 0 < np.abs(last.values).max() < 0.01 * swmodel.load("seiche", environ={}).case.amplitude
    low, high = [axes for axes in figure.axes if axes.images][1].images[0].get_clim()
    assert low == -high
    with open_data(run / "output.nc") as data, pytest.raises(PlotError, match="eta"):
        maps.picture(data, ["eta_error"])
    channel = make_run(tmp_path / "channel", "seiche", grid__nx=40, grid__ny=4, run__steps=5, run__dtype="float64")
    with open_data(channel / "output.nc") as data:  # drawn as a line, with the known answer beside it
        model, known = maps.picture(data, ["eta"]).axes[0].lines
    np.testing.assert_allclose(known.get_ydata(), model.get_ydata(), atol=0.02 * np.abs(model.get_ydata()).max())
