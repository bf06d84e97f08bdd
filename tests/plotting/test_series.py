"""Pictures of gauges, sections, drifters and largest values."""

from datetime import datetime

import numpy as np
import pytest
from support.random_case import section
from support.small_run import write_small_run

from swmodel.files.gauge_series import GaugeSeries
from swmodel.plotting import Overlays, PlotError, maps, maxima, plot_maxima, plot_sections, plot_stations, series
from swmodel.plotting.dataset import open_data
from swmodel.plotting.observed import compare_series
from swmodel.plotting.page import content

pytestmark = pytest.mark.slow

STATIONS = ({"name": "Côte", "x": 2e4, "y": 2e4}, {"name": "b", "x": 4e4, "y": 3e4})
DRIFTERS = [[10e3, 20e3], [60e3, 22e3], [30e3, 35e3]]


@pytest.fixture(scope="module")
def run_with_series(tmp_path_factory):
    """A run with two gauges, a section, drifters and largest values."""
    options = {"stations": STATIONS, "sections": ({"name": "cut", "start": (3e4, -1e3), "end": (3e4, 3.6e4)},)}
    options |= {"maxima": ("eta",), "arrival": 6.0, "drifters": DRIFTERS, "drifters_every_steps": 1}
    return write_small_run(tmp_path_factory.mktemp("places") / "run", **section("output", **options))


def titles_and_curves(figure):
    return [(axes.get_title(loc="left"), axes.lines[0].get_ydata()) for axes in figure.axes if axes.lines]


def test_gauges_and_sections_have_their_series_in_panels(run_with_series, tmp_path):
    with open_data(run_with_series / "stations.nc") as data:
        panels = titles_and_curves(series.draw_sites(data, "station", "v"))
        values = data["v"][:].data
    for (title, curve), expected, words in zip(panels, values.T, (("Côte", "20 km"), ("b", "40 km")), strict=True):
        assert all(word in title for word in words)
        assert np.ptp(curve) > 0
        assert np.corrcoef(curve, expected)[0, 1] == pytest.approx(1)
    with open_data(run_with_series / "sections.nc") as data:
        figure = series.draw_sites(data, "section", "transport")
        ((title, curve),) = titles_and_curves(figure)
        np.testing.assert_allclose(curve, data["transport"][:, 0] * 1e-6, rtol=1e-12)
    assert "x = 32.5 km, y = 37.5 km" in title
    assert "Sv" in figure.get_supylabel()
    assert plot_sections(run_with_series, tmp_path / "b.png").stat().st_size > 10_000
    with pytest.raises(PlotError, match="no w in "):
        plot_stations(run_with_series, "w")


@pytest.mark.fault("observations are drawn at other times, or shifted without a message")
def test_observed_levels_are_dots_on_the_curve_of_the_run(run_with_series, tmp_path, monkeypatch):
    """Levels of the run itself, in the format of UHSLC with a datum 3 m higher, are shifted onto the curve."""
    monkeypatch.chdir(tmp_path)
    with open_data(run_with_series / "stations.nc") as data:
        times, values = data["time"][:].data, data["eta"][:, 1].data
        np.savetxt("table.txt", np.stack([times, values + 0.5], 1))
        np.savetxt("later.txt", np.stack([times + 1e6, values], 1))
        figure = series.draw_sites(data, "station", "eta", ["b"], ["table.txt"])
        curve, dots = figure.axes[0].lines
        scale = np.ptp(curve.get_ydata()) / np.ptp(values)
        np.testing.assert_allclose(dots.get_ydata(), curve.get_ydata() + 0.5 * scale, atol=1e-6 * scale)
        np.testing.assert_allclose(dots.get_xdata(), curve.get_xdata())
        assert "rms of difference 0.5 m" in figure.axes[0].get_title(loc="left")
        compared = compare_series(data, GaugeSeries("UHSLC", times, values - 3.0, True), values, "h.csv")
        np.testing.assert_allclose(compared.levels, values, atol=1e-12)
        assert "shifted by 3 m" in compared.title_suffix
        for file, words in (("table.txt", "NAME=FILE"), ("b=later.txt", "run has none"), ("b=table.txt", "second")):
            with pytest.raises(PlotError, match=words):
                series.draw_sites(data, "station", "eta", [], [file] * 2)
        with pytest.raises(PlotError, match="cannot be compared with u"):
            series.draw_sites(data, "station", "u", [], ["table.txt"])


def test_gauge_is_marked_at_its_geographic_position_on_a_rotated_grid(tmp_path):
    grid = {"pole": (-42.0, 76.0), "west": -180.0, "east": 180.0, "south": -60.0, "north": 60.0, "periodic_x": True}
    options = {f"grid__{key}": value for key, value in grid.items()} | {"grid__nx": 36, "grid__ny": 12}
    options |= {"output__stations": ({"name": "Azores", "lon": -28.0, "lat": 38.0},), "output__maxima": ("eta",)}
    with open_data(write_small_run(tmp_path / "run", "sea", **options, output__fields=("eta",)) / "output.nc") as data:
        figure = maxima.draw_maxima(data, 0)
    ((x, y),) = (line.get_xydata()[0] for line in figure.axes[0].lines if line.get_marker() == "o")
    assert (x % 360, y) == (332.0, 38.0)


def test_missing_results_are_named_by_their_file_or_key(run):
    for draw, words in ((plot_stations, "stations.nc"), (plot_sections, "sections.nc"), (plot_maxima, "output.maxima")):
        with pytest.raises(PlotError, match=words):
            draw(run)
    with pytest.raises(PlotError, match="no series at stations"):
        plot_stations(run / "output.nc")
    with open_data(run / "output.nc") as data:
        assert content.encode_drifters(data, "eta") is None
        with pytest.raises(PlotError, match=r"output\.drifters"):
            maps.draw_fields(data, ["eta"], overlays=Overlays(drifters=True))


@pytest.mark.parametrize(("calendar", "has_dates"), [("proleptic_gregorian", True), ("360_day", False)])
def test_curves_are_drawn_over_dates_of_real_calendars(tmp_path, calendar, has_dates):
    """Curves of calendars with other months are drawn over days."""
    options = {"time__start": "2012-02-28T12:00", "time__calendar": calendar, "output__stations": STATIONS}
    with open_data(write_small_run(tmp_path / "run", **options) / "stations.nc") as data:
        times = series.draw_sites(data, "station", "eta").axes[0].lines[0].get_xdata()
        assert "2012-02-28 12:00" in maps.make_title_formatter(data)(0)
        seconds = data["time"][:].data
    if has_dates:
        assert times[0] == datetime(2012, 2, 28, 12)
        times = [(each - times[0]).total_seconds() for each in times]
    np.testing.assert_allclose(np.divide(times, times[-1]), seconds / seconds[-1], rtol=1e-6, atol=1e-6)
