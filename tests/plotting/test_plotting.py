"""Pictures: what they show is what the file holds, in colours and on axes that can be read."""

from dataclasses import replace
from itertools import combinations

import imageio_ffmpeg
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import same_color
from matplotlib.transforms import Bbox
from PIL import Image
from support.small_run import make_run

from swmodel import plotting
from swmodel.errors import FilesError
from swmodel.plotting import PlotError, animation, derived, maps, panels, series, style, titles
from swmodel.plotting.dataset import field_names, find_record, open_data
from swmodel.plotting.record import Map, read_map

pytestmark = pytest.mark.slow

DAY = 86400.0


def field(values, name="eta", units="m", location="face", spacing=5e3):
    values = np.ma.masked_invalid(np.atleast_2d(values))
    ny, nx = values.shape
    east, north = {"face": (0.5, 0.5), "edge1": (1, 0.5), "edge2": (0.5, 1), "node": (1, 1)}[location]
    x, y = (np.arange(nx) + east) * spacing, (np.arange(ny) + north) * spacing
    return Map(name, "sea level", units, values, x, y, location)


def waves(ny=9, nx=14, amplitude=1.0):
    return amplitude * np.sin(np.arange(nx)) * np.ones((ny, 1))


ONE = np.float32([1.0, 1.0 + 1e-7, 1.0])


@pytest.mark.parametrize(
    ("name", "values", "limits"),
    [
        *((name, waves() + 3, (-4, 4)) for name in ("eta", "zeta", "u", "eta_mean", "wind_x")),
        *((name, waves() + 3, (0, 4)) for name in ("speed", "linear_drag", "eta_spread")),
        ("tracer", waves(), (-1, 1)),
        ("tracer", waves() + 5, (4, 6)),
        *((name, np.zeros((5, 6)), (-1, 1)) for name in ("eta", "h")),
        ("speed", np.full((5, 6), 100.0), (0, 100)),
        ("tracer", ONE, (0, 2)),  # equal except for rounding
        ("tracer", ONE + [0, 1e-5, 0], (1, 1.00001)),
    ],
)
def test_limits_are_about_zero_from_zero_on_or_as_the_values_and_never_equal(name, values, limits):
    low, high = style.look([field(values, name)]).limits
    assert (low, high) == pytest.approx(limits, abs=0.02)
    assert low < high


def test_a_single_extreme_does_not_take_the_colours_and_a_film_spans_all_its_records():
    values = waves(99, 99)
    values[5, 5] = 1e3
    shown = style.look([field(values)])
    assert (shown.limits, shown.extend) == (pytest.approx((-1.25, 1.25), rel=0.01), "max")
    records = [field(waves(amplitude=a)) for a in (0.1, 2.0, 0.5)]
    assert style.look(records).limits == style.look(records[1:2]).limits


@pytest.mark.parametrize(
    ("amplitude", "units", "label"),
    [
        (2e-5, "s-1", "Sea level (10⁻⁵ s⁻¹)"),
        (3e17, "J", "Sea level (10¹⁷ J)"),
        (0.5, "1", "Sea level"),
        (1e-9, "1", "Sea level (10⁻⁹)"),
    ],
)
def test_labels_have_units_and_a_power_of_ten(amplitude, units, label):
    shown = style.look([field(waves(amplitude=amplitude * 1.01), units=units)])
    assert shown.label == label
    assert abs(shown.limits[1]) * 10.0**shown.exponent == pytest.approx(1.01 * amplitude, rel=0.01)


@pytest.mark.parametrize(
    ("times", "words"),
    [
        ([0, 0.25 * DAY, DAY], ["0 days", "0.25 days", "1 day"]),
        ([0, 3600, 7200], ["0 hours", "1 hour", "2 hours"]),
        ([0, 19.95], ["0 seconds", "19.95 seconds"]),
    ],
)
def test_model_time_is_written_in_one_unit(times, words):
    assert [titles.clock(np.array(times))(time) for time in times] == words


@pytest.mark.parametrize("location", ["face", "edge1", "edge2", "node"])
def test_every_location_fills_the_same_domain_with_its_points_in_their_cells(location):
    values = np.ma.masked_less(np.arange(48.0).reshape(6, 8), 3)
    panel = field(values, location=location)
    assert panel.domain == pytest.approx((0, 4e4, 0, 3e4))
    figure, _ = panels.draw([panel], [style.look([panel])], [""])
    image = figure.axes[0].images[0]
    west, east, south, north = image.get_extent()
    rows, columns = image.get_array().shape
    assert ((east - west) / columns, (north - south) / rows) == pytest.approx((5, 5))
    assert image.get_array()[-1, -1] == 47
    assert image.get_array().mask.sum() >= 3
    assert same_color(image.get_cmap()(np.ma.masked), style.LAND)


@pytest.mark.parametrize("rows", [3, 9])
def test_a_narrow_channel_is_a_line_along_it(rows):
    values = waves(rows, 200)
    figure, (update,) = panels.draw([field(values)], [style.look([field(values)])], [""])
    (line,) = figure.axes[0].lines
    np.testing.assert_array_equal(line.get_ydata(), values[0])
    update(field(2 * values), style.look([field(2 * values)]))
    np.testing.assert_array_equal(line.get_ydata(), 2 * values[0])
    assert (figure.axes[0].get_xlabel(), figure.axes[0].get_title(loc="left")) == ("x (km)", "Sea level (m)")


@pytest.mark.parametrize(
    ("count", "shape"), [(1, (20, 20)), (2, (10, 60)), (3, (40, 20)), (4, (20, 20)), (1, (40, 20))]
)
def test_panels_have_the_shape_of_the_domain_and_nothing_of_one_reaches_into_another(count, shape):
    """Title, ticks and numbers of each panel and its colour bar are in a rectangle of their own, and in the figure."""
    shown = replace(field(waves(*shape, amplitude=1.23e-5), units="m s-1 per cell"), long_name="a name of some length")
    lines = ["one", "and another line of words"]
    figure, _ = panels.draw([shown] * count, [style.look([shown])] * count, lines)
    caption = panels.write_caption(figure, lines)
    FigureCanvasAgg(figure).draw()
    pairs = [[each for each in figure.axes if each.images], [each for each in figure.axes if not each.images]]
    boxes = [Bbox.union([axes.get_tightbbox() for axes in pair]) for pair in zip(*pairs, strict=True)]
    boxes.append(caption.get_window_extent())
    assert all(not one.overlaps(other) for one, other in combinations(boxes, 2))
    assert all(figure.bbox.containsx(x) and figure.bbox.containsy(y) for box in boxes for x, y in box.corners())
    drawn = figure.axes[0].get_window_extent()
    wanted = min(max(shape[0] / shape[1], panels.FLATTEST), panels.TALLEST)
    assert drawn.height / drawn.width == pytest.approx(wanted, rel=0.01)


def test_longitudes_are_east_or_west_of_greenwich():
    panel = field(waves(20, 40))
    panel = replace(panel, x=170.0 + panel.x / 5e3, y=40 + panel.y / 5e4, degrees=True)
    figure, _ = panels.draw([panel], [style.look([panel])], [""])
    axes = figure.axes[0]
    across = [label.get_text() for label in axes.get_xticklabels()]
    assert {"170° E", "180°", "170° W"} <= {*across}
    assert all(text.endswith(("E", "W")) or text in ("0°", "180°") for text in across)
    assert all(text.endswith("N") for text in (label.get_text() for label in axes.get_yticklabels()))
    assert axes.get_xlabel() == "longitude"


def test_vorticity_is_in_units_of_f_where_f_vanishes_nowhere(run):
    with open_data(run / "output.nc") as data:
        shown, zeta, f = derived.shown(data, "zeta", -1), read_map(data, "zeta"), read_map(data, "f")
        figure = maps.picture(data, ["zeta", "eta_mean"])
    np.testing.assert_array_equal(shown.values, zeta.values / f.values)
    assert shown.units == "1"
    above = [axes.get_title(loc="left") for axes in figure.axes if axes.images]
    assert above == [r"Relative vorticity $\zeta/f$", "Mean sea level (m)"]
    assert (figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel()) == ("x (km)", "y (km)")


def test_the_last_record_is_shown_unless_another_is_asked_for(run):
    with open_data(run / "output.nc") as data:
        last = data["eta"].shape[0] - 1
        for chosen, expected in (({}, last), ({"record": 0}, 0), ({"record": -2}, last - 1), ({"time": 110.0}, 1)):
            figure = maps.picture(data, ["eta"], **chosen)
            np.testing.assert_array_equal(figure.axes[0].images[0].get_array(), data["eta"][expected])
        assert figure.get_suptitle() == "jet, 2000-01-01 00:01:30 (minute 1.5)"
        for record in (3, -4):
            with pytest.raises(PlotError, match=f"no record {record} in .*; it has 0 to 2"):
                find_record(data, record)


@pytest.mark.parametrize(("case", "names"), [("jet", ["zeta", "eta"]), ("inertial", ["speed", "u"])])
def test_the_default_picture_leaves_out_fields_that_are_zero(tmp_path, case, names):
    with open_data(make_run(tmp_path / "run", case) / "output.nc") as data:
        assert derived.chosen(data, None) == names


@pytest.mark.night
def test_plot_writes_any_field_beside_the_data_under_a_name_that_says_what_it_shows(run):
    assert plotting.plot(run) == run / "output.png"
    assert plotting.plot(run / "output.nc", "depth") == run / "output-depth.png"
    assert plotting.plot(run, ["eta", "zeta"], output=run / "both.pdf").read_bytes()[:4] == b"%PDF"
    assert Image.open(run / "output.png").width >= 1200
    with open_data(run / "output.nc") as data:
        for name in field_names(data):
            assert maps.picture(data, [name]).axes


def test_diagnostics_show_the_relative_change_of_integrals_and_the_values_of_extremes(run):
    assert plotting.plot_diagnostics(run) == run / "diagnostics.png"
    with open_data(run / "diagnostics.nc") as data:
        mass, label = series.of_domain(data["mass"])
        speed, _ = series.of_domain(data["max_speed"])
        assert mass[0] == 0
        assert label.startswith("Relative change of mass")
        np.testing.assert_array_equal(speed, data["max_speed"][:])


@pytest.mark.night
def test_a_film_has_one_frame_for_each_record(run, monkeypatch):
    film = Image.open(plotting.animate(run, "eta", fps=5, output=run / "eta.gif"))
    assert (film.n_frames, film.info["duration"]) == (3, 200)
    film = plotting.animate(run)
    assert film == run / "output-zeta.mp4"
    assert imageio_ffmpeg.count_frames_and_secs(str(film))[0] == 3
    monkeypatch.setattr(animation, "ffmpeg", lambda: None)
    assert plotting.animate(run, "eta") == run / "output-eta.gif"


@pytest.mark.parametrize(
    ("draw", "arguments", "message"),
    [
        ("animate", {"field": "depth"}, "depth"),
        ("animate", {"output": "film.avi"}, "film.avi"),
        ("animate", {"fps": 0}, "fps"),
        ("animate", {"output": "nowhere/film.gif"}, "nowhere/film.gif"),
        ("plot", {"output": "nowhere/eta.png"}, "nowhere/eta.png"),
        ("plot", {"output": "eta.xyz"}, "xyz"),
        ("plot", {"fields": "zeeta"}, "zeta"),
        ("plot", {"path": "missing"}, "missing"),
        ("plot", {"path": "."}, "output.nc"),
    ],
)
def test_what_cannot_be_drawn_or_written_is_named(run, tmp_path, monkeypatch, draw, arguments, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises((PlotError, FilesError), match=message):
        getattr(plotting, draw)(**{"path": run} | arguments)
