"""Panels of pictures: colours, labels and axes are readable, and each value is drawn in its cell."""

import numpy as np
import pytest
from matplotlib.colors import same_color

from swmodel.plotting import panels, style
from swmodel.plotting.field_map import FieldMap

pytestmark = pytest.mark.slow


@pytest.fixture
def no_layout():
    """Let figures be laid out in this file."""


def make_map(values, name="eta", units="m", location="face", spacing=5e3):
    values = np.ma.masked_invalid(np.atleast_2d(values))
    ny, nx = values.shape
    east, north = {"face": (0.5, 0.5), "edge1": (1, 0.5), "edge2": (0.5, 1), "node": (1, 1)}[location]
    x, y = (np.arange(nx) + east) * spacing, (np.arange(ny) + north) * spacing
    return FieldMap(name, "sea level", units, values, x, y, location)


def wave_field(ny=9, nx=14, amplitude=1.0):
    return amplitude * np.sin(np.arange(nx)) * np.ones((ny, 1))


NEARLY_ONE = np.float32([1.0, 1.0 + 1e-7, 1.0])


@pytest.mark.parametrize(
    ("name", "values", "limits"),
    [
        *((name, wave_field() + 0.5, (-1.5, 1.5)) for name in ("eta", "zeta", "u", "eta_mean", "wind_x")),
        *(("eta", wave_field() + 3, (2, 4)), ("u", wave_field() + 1.2, (0, 2.2))),
        *((name, wave_field() + 3, (0, 4)) for name in ("speed", "linear_drag", "eta_spread")),
        ("tracer", wave_field() + 5, (4, 6)),
        ("h", np.zeros((5, 6)), (-1, 1)),
        ("eta", np.pad([[5.0]], 20), (0, 5)),
        ("speed", np.full((5, 6), 100.0), (0, 100)),
        ("tracer", NEARLY_ONE, (0, 2)),  # equal except for rounding
        ("tracer", NEARLY_ONE + [0, 1e-5, 0], (1, 1.00001)),
    ],
)
def test_limits_suit_the_field_and_are_never_equal(name, values, limits):
    """Limits are symmetric for values of both signs, else start from zero, or enclose values far from zero."""
    low, high = style.make_style([make_map(values, name)]).limits
    assert (low, high) == pytest.approx(limits, abs=0.02)
    assert low < high


@pytest.mark.fault("the colour bar of a field with no value, or a single one, shows other values")
@pytest.mark.parametrize(("value", "ticks"), [(100.0, [100.0]), (np.nan, False)])
def test_colour_bar_has_no_values_that_the_field_lacks(value, ticks):
    field_map = make_map(np.full((5, 6), value), "h")
    bar = panels.draw_panels([field_map], [style.make_style([field_map])], [""])[0].axes[1]
    assert (bar.get_visible() and bar.get_yticks().tolist()) == ticks


@pytest.mark.parametrize("location", ["face", "edge1", "edge2", "node"])
def test_points_of_every_location_lie_in_their_cells(location):
    values = np.ma.masked_less(np.arange(48.0).reshape(6, 8), 3)
    field_map = make_map(values, location=location)
    assert field_map.domain == pytest.approx((0, 4e4, 0, 3e4))
    figure, _ = panels.draw_panels([field_map], [style.make_style([field_map])], [""])
    image = figure.axes[0].images[0]
    west, east, south, north = image.get_extent()
    rows, columns = image.get_array().shape
    assert ((east - west) / columns, (north - south) / rows) == pytest.approx((5, 5))
    assert image.get_array()[-1, -1] == 47
    assert image.get_array().mask.sum() >= 3
    assert same_color(image.get_cmap()(np.ma.masked), style.LAND_COLOUR)
