"""Pictures of gauges, sections and largest values."""

from datetime import datetime
from itertools import combinations

import matplotlib.figure
import numpy as np
import pytest
import xarray
from click.testing import CliRunner
from support.pages import content_of
from support.small_run import make_run

from swmodel.cli import main
from swmodel.plotting import PlotError, maxima, plot_maxima, plot_sections, plot_stations, series, view
from swmodel.plotting.dataset import open_data

pytestmark = pytest.mark.slow

STATIONS = ({"name": "Côte", "x": 2e4, "y": 2e4}, {"name": "b", "x": 4e4, "y": 3e4})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run with two gauges, a section and largest values."""
    options = {
        "output__stations": STATIONS,
        "output__sections": ({"name": "cut", "start": (3e4, -1e3), "end": (3e4, 3.6e4)},),
        "output__maxima": ("eta",),
        "output__arrival": 6.0,
    }
    return make_run(tmp_path_factory.mktemp("places") / "run", **options)


def lines_of(figure):
    return [(axes.get_title(loc="left"), axes.lines[0].get_ydata()) for axes in figure.axes if axes.lines]


def test_a_panel_for_each_gauge_with_its_name_its_place_and_its_series(folder, tmp_path):
    with open_data(folder / "stations.nc") as data:
        found = lines_of(series.draw_places(data, "station", "v"))
        values = data["v"][:].data
    assert [title for title, _ in found] == [
        "Côte: x = 20 km, y = 20 km, 100 m deep",
        "b: x = 40 km, y = 30 km, 100 m deep",
    ]
    for number, (_, drawn) in enumerate(found):
        assert np.ptp(drawn) > 0
        assert np.corrcoef(drawn, values[:, number])[0, 1] == pytest.approx(1)
    assert plot_stations(folder, output=tmp_path / "a.png").stat().st_size > 10_000
    with pytest.raises(PlotError, match="no w in "):
        plot_stations(folder, "w")


@pytest.mark.fault("the picture of a thousand gauges takes too long")
@pytest.mark.night
def test_of_many_gauges_the_first_are_drawn_and_others_by_name(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(series, "DRAWN", 1)
    with open_data(folder / "stations.nc") as data:
        figure, named = series.draw_places(data, "station", "eta"), series.draw_places(data, "station", "eta", ["b"])
        assert [title for title, _ in lines_of(figure)][0].startswith("Côte:")
        assert [title for title, _ in lines_of(named)][0].startswith("b:")
        assert len(figure.axes) == len(named.axes) == 1
        assert "1 of 2 stations" in figure.get_suptitle()
    done = CliRunner().invoke(main, ["plot", str(folder), "--station", "b", "-o", str(tmp_path / "b.png")])
    assert done.exit_code == 0, done.output
    refused = CliRunner().invoke(main, ["plot", str(folder), "--station", "c"])
    assert (refused.exit_code, 'no station "c"' in refused.output) == (2, True)
    labels = [each["label"] for each in content_of(view(folder, output=tmp_path / "page.html"))["series"]]
    assert len([label for label in labels if "(1 of 2 stations)" in label]) == 1


def test_transports_are_shown_in_sverdrup(folder, tmp_path):
    with open_data(folder / "sections.nc") as data:
        figure = series.draw_places(data, "section", "transport")
        ((title, drawn),) = lines_of(figure)
        np.testing.assert_allclose(drawn, data["transport"][:, 0] * 1e-6, rtol=1e-12)
    assert title == "cut: x = 32.5 km, y = -2.5 km to x = 32.5 km, y = 37.5 km"
    assert figure.get_supylabel() == "Volume transport (Sv)"
    assert plot_sections(folder, tmp_path / "b.png").exists()


@pytest.mark.night
def test_the_page_of_a_run_has_its_gauges_its_sections_and_its_highest_water(folder, tmp_path):
    content = content_of(view(folder, output=tmp_path / "page.html"))
    found = {series["label"]: series for series in content["series"]}
    with xarray.open_dataset(folder / "stations.nc", decode_times=False) as data:
        shown = found["b: x = 40 km, y = 30 km, 100 m deep: Sea level (m)"]
        np.testing.assert_allclose(shown["values"], data.eta[:, 1])
        np.testing.assert_array_equal(shown["times"], data.time)
    assert any(label.startswith("cut: x = 32.5 km, y = -2.5 km to") for label in found)
    assert [field["name"] for field in content["fields"]][-1] == "eta_max"
    assert any(label.startswith("Largest speed") for label in found)


def test_highest_water_has_marks_of_the_gauges_and_lines_of_the_arrival(folder, tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(matplotlib.figure.Figure, "savefig", lambda figure, _: drawn.append(figure))
    plot_maxima(folder, tmp_path / "c.png")
    (figure,) = drawn
    axes = figure.axes[0]
    assert {text.get_text() for text in axes.texts} >= {"Côte", "b"}
    assert axes.get_title(loc="left").startswith("Largest sea level so far (m)")
    assert any("first time that sea level is 6 m above or below its rest" in text.get_text() for text in figure.texts)
    with xarray.open_dataset(folder / "output.nc", decode_times=False) as data:
        np.testing.assert_allclose(axes.images[0].get_array(), data.eta_max[-1], rtol=1e-6)
        assert axes.images[0].norm.vmax == pytest.approx(float(data.eta_max[-1].max()))


def test_a_gauge_is_marked_at_its_true_place_on_a_grid_with_a_pole_of_its_own(tmp_path):
    band = {"pole": (-42.0, 76.0), "west": -180.0, "east": 180.0, "south": -60.0, "north": 60.0, "periodic_x": True}
    options = {f"grid__{key}": value for key, value in band.items()} | {"grid__nx": 36, "grid__ny": 12}
    options |= {"output__stations": ({"name": "Azores", "lon": -28.0, "lat": 38.0},), "output__maxima": ("eta",)}
    folder = make_run(tmp_path / "run", "sea", **options, output__fields=("eta",))
    with open_data(folder / "output.nc") as data:
        figure = maxima.largest(data, 0)
    ((x, y),) = (line.get_xydata()[0] for line in figure.axes[0].lines if line.get_marker() == "o")
    assert (x % 360, y) == (332.0, 38.0)


def test_the_current_at_gauges_is_a_hodograph_with_the_same_axes(folder, tmp_path):
    with open_data(folder / "stations.nc") as data:
        figure = series.draw_places(data, "station", "current")
        u, v = data["u"][:], data["v"][:]
    for number, axes in enumerate(figure.axes):
        path = axes.lines[2]
        factor = path.get_xdata()[-1] / u[-1, number]
        np.testing.assert_allclose(path.get_xdata(), factor * u[:, number])
        np.testing.assert_allclose(path.get_ydata(), factor * v[:, number])
        assert axes.get_xlim() == axes.get_ylim() == figure.axes[0].get_xlim()


def test_each_line_has_its_value_once_and_apart_from_others():
    figure = matplotlib.figure.Figure()
    axes = figure.subplots()
    y, x = np.mgrid[0:50, 0:80]
    lines = axes.contour(x, y, np.hypot(x, y) + 3 * np.sin(y), np.arange(5, 90, 5))
    maxima.label_lines(axes, lines)
    values = [text.get_text() for text in lines.labelTexts]
    assert len(set(values)) == len(values) > 5
    boxes = [text.get_window_extent() for text in lines.labelTexts]
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))


def test_a_run_without_is_told_how_to_have_them(run):
    for draw, words in ((plot_stations, "stations.nc"), (plot_sections, "sections.nc"), (plot_maxima, "output.maxima")):
        with pytest.raises(PlotError, match=words):
            draw(run)


@pytest.mark.parametrize(("calendar", "dated"), [("proleptic_gregorian", True), ("360_day", False)])
def test_curves_of_a_run_with_a_date_are_drawn_over_dates(tmp_path, calendar, dated):
    """Those of calendars with other months over days."""
    options = {"time__start": "2012-02-28T12:00", "time__calendar": calendar, "output__stations": STATIONS}
    with open_data(make_run(tmp_path / "run", **options) / "stations.nc") as data:
        drawn = series.draw_places(data, "station", "eta").axes[0].lines[0].get_xdata()
        seconds = data["time"][:].data
    if dated:
        assert drawn[0] == datetime(2012, 2, 28, 12)
        drawn = [(each - drawn[0]).total_seconds() for each in drawn]
    np.testing.assert_allclose(np.divide(drawn, drawn[-1]), seconds / seconds[-1], rtol=1e-6, atol=1e-6)
