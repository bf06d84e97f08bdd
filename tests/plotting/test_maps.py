"""Maps, films and what may be asked of them: they show what the file holds."""

import imageio_ffmpeg
import numpy as np
import pytest
from click.testing import CliRunner
from matplotlib.contour import QuadContourSet
from matplotlib.quiver import Quiver
from PIL import Image
from support.marks import at_night
from support.small_run import make_run

from swmodel import Simulation, plotting
from swmodel.cli import main
from swmodel.errors import FilesError
from swmodel.plotting import Over, PlotError, Scale, animation, derived, maps, series, titles
from swmodel.plotting.dataset import field_names, find_record, open_data
from swmodel.plotting.record import read_map

pytestmark = pytest.mark.slow


@pytest.fixture
def data(finished):
    with open_data(finished / "output.nc") as opened:
        yield opened


def clims(figure):
    """The ends of the colours of each panel, in the field's units."""
    return [axes.images[0].get_clim() for axes in figure.axes if axes.images]


def test_last_record_is_shown_unless_another_is_asked_for(data):
    for chosen, expected in (({}, 2), ({"time": 110.0}, 1)):
        figure = maps.picture(data, ["eta"], **chosen)
        np.testing.assert_array_equal(figure.axes[0].images[0].get_array(), data["eta"][expected])
    assert "2000-01-01 00:01:30" in figure.get_suptitle()
    assert [find_record(data, record) for record in (0, -2)] == [0, 1]
    for record in (3, -4):
        with pytest.raises(PlotError, match=f"{record}.*0 to 2"):
            find_record(data, record)


def test_default_picture_has_vorticity_over_f_and_no_zeros(data, tmp_path):
    shown, zeta, f = derived.shown(data, "zeta", -1), read_map(data, "zeta"), read_map(data, "f")
    np.testing.assert_array_equal(shown.values, zeta.values / f.values)
    assert shown.units == "1"
    assert derived.chosen(data, None) == ["zeta", "eta"]
    with open_data(make_run(tmp_path / "run", "inertial") / "output.nc") as turning:
        assert derived.chosen(turning, None) == ["speed", "u"]


def test_diagnostics_show_relative_changes_and_extremes(run):
    assert plotting.plot_diagnostics(run) == run / "diagnostics.png"
    with open_data(run / "diagnostics.nc") as data:
        mass, label = series.of_domain(data["mass"])
        speed, _ = series.of_domain(data["max_speed"])
        assert mass[0] == 0
        assert label.startswith("Relative change")
        np.testing.assert_array_equal(speed, data["max_speed"][:])


def test_colours_of_records_runs_and_shared_units(data):
    own = [clims(maps.picture(data, ["v"], record)) for record in (1, 2)]
    same = [clims(maps.picture(data, ["v"], record, scale=Scale("run"))) for record in (1, 2)]
    assert own[0] != own[1]
    assert same == [max(own, key=lambda ends: ends[0][1])] * 2
    u, v, eta = clims(maps.picture(data, ["u", "v", "eta"], scale=Scale("shared")))
    own = clims(maps.picture(data, ["u", "v", "eta"]))
    assert u == v == max(own[:2], key=lambda ends: ends[1])
    assert own[0] != own[1]
    assert eta == own[2]


def test_given_ends_of_colours_are_used_or_refused(data):
    assert clims(maps.picture(data, ["eta", "h"], scale=Scale("record", -2.0, 3.0))) == [(-2, 3)] * 2
    low, high = clims(maps.picture(data, ["eta"]))[0]
    assert clims(maps.picture(data, ["eta"], scale=Scale("run", high=2 * high))) == [(low, 2 * high)]
    with pytest.raises(PlotError, match="units"):
        maps.picture(data, ["u", "eta"], scale=Scale("record", low=0.0))
    with pytest.raises(PlotError, match="lower end"):
        maps.picture(data, ["eta"], scale=Scale("record", low=1e6))
    for low, high in ((2.0, 1.0), (float("nan"), 1.0), (None, float("inf"))):
        with pytest.raises(PlotError, match="vmin and vmax"):
            Scale("record", low, high)


@pytest.mark.night
def test_film_has_all_records_in_the_colours_of_the_run(data, run, monkeypatch):
    seen = {}
    for name in ("run", "record", "shared"):
        figure, show = animation.film(data, "v", None, Scale(name), Over())
        for number in range(3):
            show(number)
            seen.setdefault(name, []).append(figure.axes[0].images[0].get_clim())
            assert figure.get_suptitle() == titles.titles(data)(number)
    assert seen["run"] == seen["shared"] == clims(maps.picture(data, ["v"], scale=Scale("run"))) * 3
    assert seen["record"] == [clims(maps.picture(data, ["v"], number))[0] for number in range(3)]
    assert plotting.plot(run, ["eta", "zeta"], output=run / "both.pdf").read_bytes()[:4] == b"%PDF"
    for name in field_names(data):
        assert maps.picture(data, [name]).axes
    film = Image.open(plotting.animate(run, "eta", fps=5, output=run / "eta.gif"))
    assert (film.n_frames, film.info["duration"]) == (3, 200)
    film = plotting.animate(run)
    assert film == run / "output-zeta.mp4"
    assert imageio_ffmpeg.count_frames_and_secs(str(film))[0] == 3
    monkeypatch.setattr(animation, "ffmpeg", lambda: None)
    assert plotting.animate(run, "eta") == run / "output-eta.gif"


def test_arrows_have_the_length_of_their_key(data):
    figure = maps.picture(data, ["eta", "h"], over=Over(arrows=True))
    quivers = [axes.collections[-1] for axes in figure.axes if axes.images]
    (key,) = (artist for axes in figure.axes for artist in axes.artists)
    assert key.Q is quivers[0]
    assert f"{key.U:g} m s⁻¹" in key.text.get_text()
    strongest = float(derived.shown(data, "speed", -1).values.max())
    assert 0.4 * strongest < key.U <= strongest
    assert quivers[0].scale == quivers[1].scale
    assert len(quivers[0].U) == 9 * 14


def test_arrows_are_where_there_is_a_current():
    size = {"grid.nx": 20, "grid.ny": 16, "run.executor": "reference"}
    model = Simulation("rest", size, fields={"u": lambda at: np.where(at.i < 10, 1e-3, 0.5)})
    figure, land = model.plot("depth", arrows=True), model.dataset("mask").mask.values == 0
    (quiver,) = (each for each in figure.axes[0].collections if isinstance(each, Quiver))
    x, y = (quiver.XY // 10).astype(int).T
    apart = x != 10  # the current east of a cell counts half
    assert land.any()
    np.testing.assert_array_equal(~quiver.Umask[apart], ((x > 10) & ~land[y, x])[apart])


def test_lines_are_where_the_field_has_their_values(data):
    lines = maps.picture(data, ["v"], over=Over(contours="eta")).axes[0].collections[-1]
    eta = derived.shown(data, "eta", -1)
    level, path = next((level, path) for level, path in zip(lines.levels, lines.get_paths(), strict=True) if len(path))
    x, y = path.vertices[len(path) // 2] * 1e3
    rows, columns = np.interp(y, eta.y, np.arange(9)), np.interp(x, eta.x, np.arange(14))
    around = eta.values[int(rows) : int(rows) + 2, int(columns) : int(columns) + 2]
    assert around.min() <= level <= around.max()


def test_arrows_and_lines_of_a_film_are_those_of_each_record(data):
    figure, show = animation.film(data, "v", None, Scale("run"), Over(True, "eta"))
    show(2)
    expected = maps.picture(data, ["v"], 2, scale=Scale("run"), over=Over(True, "eta"))
    drawn = [{type(each): each for each in one.axes[0].collections} for one in (figure, expected)]
    paths = [[path.vertices.tolist() for path in one[QuadContourSet].get_paths()] for one in drawn]
    assert paths[0] == paths[1]
    np.testing.assert_array_equal(drawn[0][Quiver].U, drawn[1][Quiver].U)


def test_options_of_the_command_line_reach_the_picture(run, monkeypatch):
    calls = []
    for name in ("plot", "animate"):
        monkeypatch.setattr(plotting, name, lambda *given: calls.append(given) or "it")
    for line in ("plot", "animate --range shared --vmin=-1 --vmax 2 --arrows --contours eta"):
        assert CliRunner().invoke(main, [*line.split(), str(run)]).exit_code == 0
    assert calls[0][-2:] == (Scale("record"), Over())
    assert calls[1][-2:] == (Scale("shared", -1.0, 2.0), Over(True, "eta"))
    result = CliRunner().invoke(main, ["plot", str(run), "--diagnostics", "--arrows", "--record", "1"])
    assert (result.exit_code, "--arrows, --record" in result.stderr) == (2, True)


@pytest.mark.parametrize(
    ("draw", "arguments", "named"),
    [
        ("animate", {"field": "depth"}, "depth"),
        ("animate", {"output": "film.avi"}, "film.avi"),
        ("animate", {"fps": 0}, "fps"),
        ("animate", {"output": "nowhere/film.gif"}, "nowhere/film.gif"),
        *at_night(("plot", {"output": "nowhere/eta.png"}, "nowhere/eta.png"), ("plot", {"output": "eta.xyz"}, "xyz")),
        ("plot", {"fields": "zeeta"}, "zeta"),
        ("plot", {"path": "missing"}, "missing"),
        ("plot", {"path": "."}, "output.nc"),
    ],
)
def test_wrong_fields_files_and_options_are_named(finished, tmp_path, monkeypatch, draw, arguments, named):
    monkeypatch.chdir(tmp_path)
    with pytest.raises((PlotError, FilesError), match=named):
        getattr(plotting, draw)(**{"path": finished} | arguments)
