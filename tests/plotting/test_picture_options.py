"""What may be asked of pictures: the ends of their colours, arrows and lines over them, words above them."""

import netCDF4
import numpy as np
import pytest
from click.testing import CliRunner
from matplotlib.contour import QuadContourSet
from matplotlib.quiver import Quiver
from PIL import Image

from swmodel import Simulation, plotting
from swmodel.cli import main
from swmodel.plotting import Over, PlotError, Scale, animation, derived, maps, style, titles
from swmodel.plotting.dataset import open_data
from swmodel.plotting.record import Map

pytestmark = pytest.mark.slow


@pytest.fixture
def data(finished):
    with open_data(finished / "output.nc") as opened:
        yield opened


def clims(figure):
    """The ends of the colours of each panel, in the field's units."""
    return [axes.images[0].get_clim() for axes in figure.axes if axes.images]


def field(values, name="eta"):
    values = np.ma.masked_invalid(np.asarray(values, float))
    return Map(name, name, "m", values, *(np.arange(size, dtype=float) for size in values.shape[::-1]), "face")


def test_each_record_has_its_own_colours_and_a_run_has_one(data):
    own = [clims(maps.picture(data, ["v"], record)) for record in range(3)]
    same = [clims(maps.picture(data, ["v"], record, scale=Scale("run"))) for record in range(3)]
    assert len(set(map(str, own))) == 3
    assert same == [same[0]] * 3
    assert same[0] == max(own[1:], key=lambda ends: ends[0][1])  # at first there is no current across the jet


def test_shared_colours_are_the_same_for_the_same_units_only(data):
    u, v, eta = clims(maps.picture(data, ["u", "v", "eta"], scale=Scale("shared")))
    own = clims(maps.picture(data, ["u", "v", "eta"]))
    assert u == v == max(own[:2], key=lambda ends: ends[1])
    assert own[0] != own[1]
    assert eta == own[2]


@pytest.mark.parametrize(("low", "high"), [(-1.0, 3.0), (-5.0, 1.0)])
def test_zero_of_a_signed_field_is_neutral_whatever_the_ends(low, high):
    shown = style.look([field([[-9.0, 9.0]])], (low, high))
    neutral = style.look([field([[-9.0, 9.0]])]).colormap(0.5)
    np.testing.assert_allclose(shown.colormap(-low / (high - low)), neutral, atol=0.03)
    assert shown.extend == "both"


def test_given_ends_are_the_ends_unless_fields_have_different_units_or_nothing_is_left_of_the_colours(data):
    assert clims(maps.picture(data, ["eta", "h"], scale=Scale("record", -2.0, 3.0))) == [(-2, 3)] * 2
    low, high = clims(maps.picture(data, ["eta"]))[0]
    assert clims(maps.picture(data, ["eta"], scale=Scale("run", high=2 * high))) == [(low, 2 * high)]
    with pytest.raises(PlotError, match="the same units"):
        maps.picture(data, ["u", "eta"], scale=Scale("record", low=0.0))
    with pytest.raises(PlotError, match="the lower end of the colours"):
        maps.picture(data, ["eta"], scale=Scale("record", low=1e6))
    for low, high in ((2.0, 1.0), (float("nan"), 1.0), (None, float("inf"))):
        with pytest.raises(PlotError, match="vmin and vmax must be numbers"):
            Scale("record", low, high)


@pytest.mark.night
def test_a_film_has_the_colours_of_the_whole_run_unless_asked_otherwise(data):
    seen = {}
    for name in ("run", "record", "shared"):
        figure, show = animation.film(data, "v", None, Scale(name), Over())
        for number in range(3):
            show(number)
            seen.setdefault(name, []).append((figure.axes[0].images[0].get_clim(), figure.get_suptitle()))
    run, record, shared = ([clim for clim, _ in seen[name]] for name in ("run", "record", "shared"))
    assert run == shared == clims(maps.picture(data, ["v"], scale=Scale("run"))) * 3
    assert record == [clims(maps.picture(data, ["v"], number))[0] for number in range(3)]
    title = titles.titles(data)
    assert [text for _, text in seen["run"]] == [title(number) for number in range(3)]


def test_arrows_have_the_length_that_their_key_says(data):
    figure = maps.picture(data, ["eta", "h"], over=Over(arrows=True))
    quivers = [axes.collections[-1] for axes in figure.axes if axes.images]
    (key,) = (artist for axes in figure.axes for artist in axes.artists)
    assert key.Q is quivers[0]
    assert key.text.get_text() == f"current of {key.U:g} m s⁻¹"
    strongest = float(derived.shown(data, "speed", -1).values.max())
    assert 0.4 * strongest < key.U <= strongest
    assert quivers[0].scale == quivers[1].scale
    assert len(quivers[0].U) == 9 * 14
    assert len(figure.texts) == 1


def test_there_is_an_arrow_where_there_is_a_current_and_none_where_there_is_none():
    size = {"grid.nx": 20, "grid.ny": 16, "run.executor": "reference"}
    model = Simulation("rest", size, fields={"u": lambda at: np.where(at.i < 10, 1e-3, 0.5)})
    figure, land = model.plot("depth", arrows=True), model.dataset("mask").mask.values == 0
    (quiver,) = (each for each in figure.axes[0].collections if isinstance(each, Quiver))
    x, y = (quiver.XY // 10).astype(int).T
    apart = x != 10  # the current east of a cell counts half
    assert land.any()
    np.testing.assert_array_equal(~quiver.Umask[apart], ((x > 10) & ~land[y, x])[apart])


def test_lines_are_where_the_field_has_their_values(data):
    figure = maps.picture(data, ["v"], over=Over(contours="eta"))
    lines = figure.axes[0].collections[-1]
    assert f"lines: Sea level (m), every {lines.levels[1] - lines.levels[0]:g}" in figure.get_suptitle()
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


@pytest.mark.parametrize(
    ("times", "last"),
    [
        ([0, 30 * 86400], "2000-01-31 00:00 (day 30)"),
        ([0, 90.0], "2000-01-01 00:01:30 (minute 1.5)"),
        ([0, 71900], "2000-01-01 19:58 (hour 19.972)"),
        ([0, 3599, 3601], "2000-01-01 01:00:01 (hour 1.0003)"),
    ],
)
def test_the_title_says_the_case_and_the_date_and_what_stands_behind_does_not_contradict_it(tmp_path, times, last):
    with netCDF4.Dataset(tmp_path / "times.nc", "w") as data:
        data.configuration = '[case]\nname = "jet"\n'
        data.createDimension("time", len(times))
        data.createVariable("time", "f8", ("time",)).units = "seconds since 2000-01-01 00:00:00"
        data["time"].calendar = "proleptic_gregorian"
        data["time"][:] = times
        assert titles.titles(data)(len(times) - 1) == f"jet, {last}"
        data["time"].units = "s"
        assert titles.titles(data)(len(times) - 1)[:8] == f"jet, {last.partition('(')[2]}"[:8]


def test_the_options_of_the_command_line_reach_the_picture(run, monkeypatch):
    folder, calls = run, []
    for name in ("plot", "animate"):
        monkeypatch.setattr(plotting, name, lambda *given: calls.append(given) or "it")
    for line in ("plot", "animate --range shared --vmin=-1 --vmax 2 --arrows --contours eta"):
        result = CliRunner().invoke(main, [*line.split(), str(folder)])
        assert (result.exit_code, result.output.splitlines()[0]) == (0, "Wrote it")
    assert calls[0][-2:] == (Scale("record"), Over())
    assert calls[1][-2:] == (Scale("shared", -1.0, 2.0), Over(True, "eta"))
    result = CliRunner().invoke(main, ["plot", str(folder), "--diagnostics", "--arrows", "--record", "1"])
    assert (result.exit_code, "leave out --arrows, --record" in result.stderr) == (2, True)
    monkeypatch.undo()
    assert Image.open(plotting.plot(folder, ["zeta"], over=Over(True, "eta"), scale=Scale("run"))).width > 800
