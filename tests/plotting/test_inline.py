"""Pictures for notebooks: the figures that `swmodel plot` writes, of files, of Datasets and of a Simulation."""

import numpy as np
import pytest
import xarray
from matplotlib import _pylab_helpers
from matplotlib.figure import Figure

import swmodel
from swmodel.errors import UsageError

pytestmark = pytest.mark.slow

SMALL = {"grid.nx": 12, "grid.ny": 9, "run.executor": "reference", "run.dtype": "float64"}


def images(figure):
    return [axes.images[0].get_array() for axes in figure.axes if axes.images]


def words(figure):
    return figure.texts[0].get_text(), [axes.get_title(loc="left") for axes in figure.axes if axes.images]


@pytest.mark.parametrize("fields", [(), ("speed",)])
def test_a_dataset_is_drawn_as_the_file_it_is_from(run, fields):
    with xarray.open_dataset(run / "output.nc") as dataset:
        given = [(run, 1), (dataset, 1), (dataset.isel(time=1), -1)]
        figures = [swmodel.plot(source, *fields, record=record) for source, record in given]
    for figure in figures[1:]:
        assert words(figure)[1] == words(figures[0])[1]
        for one, other in zip(images(figure), images(figures[0]), strict=True):
            np.testing.assert_array_equal(one, other)


def test_values_may_differ_from_those_of_the_file(run):
    with xarray.open_dataset(run / "output.nc") as dataset:
        usual, doubled = (swmodel.plot(each, "eta") for each in (dataset, dataset.assign(eta=2 * dataset.eta)))
    np.testing.assert_allclose(images(doubled)[0], 2 * images(usual)[0], rtol=1e-6)


def test_a_simulation_draws_its_present_state():
    model = swmodel.Simulation("kelvin", SMALL)
    model.advance(3)
    figure = model.plot("eta", "zeta")
    assert isinstance(figure, Figure)
    assert figure._repr_png_().startswith(b"\x89PNG")
    assert _pylab_helpers.Gcf.figs == {}
    eta, zeta = images(figure)
    scales = np.max(np.abs(model.field("eta"))) / np.max(np.abs(eta))
    np.testing.assert_allclose(eta * scales, model.field("eta"), atol=1e-15)
    assert zeta.shape == (10, 13)  # corners: one more row, on the southern wall, and one more column
    caption, labels = words(model.plot(arrows=True, contours="eta"))
    assert caption.startswith("kelvin, 2000-01-01")
    assert len(labels) == 2


def test_a_field_that_is_not_there_is_named():
    with pytest.raises(UsageError, match="no field foam"):
        swmodel.Simulation("rest", SMALL).plot("foam")
