"""Maps and animations, on the screen and in files: they show what the file holds, or errors say what is wrong."""

import imageio_ffmpeg
import numpy as np
import pytest
import xarray
from matplotlib import _pylab_helpers
from matplotlib.contour import QuadContourSet
from matplotlib.quiver import Quiver
from PIL import Image
from support.command import invoke_swmodel
from support.marks import night_params
from support.small_run import write_small_run

import swmodel
from swmodel import plotting
from swmodel.errors import FilesError, UsageError
from swmodel.ocean.coordinates import axes
from swmodel.plotting import ColourRange, Overlays, PlotError, animation, derived, maps, series, titles
from swmodel.plotting.dataset import find_record, open_data
from swmodel.plotting.field_map import read_map
from swmodel.plotting.page.content import encode_barriers

pytestmark = pytest.mark.slow


@pytest.fixture
def data(finished_run):
    with open_data(finished_run / "output.nc") as dataset:
        yield dataset


def colour_limits(figure):
    return [axes.images[0].get_clim() for axes in figure.axes if axes.images]


def image_arrays(figure):
    return [axes.images[0].get_array() for axes in figure.axes if axes.images]


def test_last_record_is_shown_unless_a_time_is_chosen(data):
    for options, record in (({}, 2), ({"time": 110.0}, 1)):
        figure = maps.draw_fields(data, ["eta"], **options)
        np.testing.assert_array_equal(figure.axes[0].images[0].get_array(), data["eta"][record])
    assert figure.get_suptitle() == "run, minute 1.5"  # the folder, and no date without time.start
    assert [find_record(data, record) for record in (0, -2)] == [0, 1]
    for record in (3, -4):
        with pytest.raises(PlotError, match=f"{record}.*0 to 2"):
            find_record(data, record)


def test_default_picture_shows_vorticity_over_f_unless_it_is_zero(data, tmp_path):
    displayed, zeta, f = derived.read_displayed_field(data, "zeta", -1), read_map(data, "zeta"), read_map(data, "f")
    np.testing.assert_array_equal(displayed.values, zeta.values / f.values)
    assert displayed.units == "1"
    assert derived.choose_fields(data, None) == ["zeta", "eta"]
    with open_data(write_small_run(tmp_path / "run", "inertial") / "output.nc") as inertial:
        assert derived.choose_fields(inertial, None) == ["speed", "u"]


def test_diagnostics_show_relative_changes_and_extremes(run):
    assert plotting.plot_diagnostics(run) == run / "diagnostics.png"
    with open_data(run / "diagnostics.nc") as data:
        mass, label = series.domain_curve(data["mass"])
        speed, _ = series.domain_curve(data["max_speed"])
        assert mass[0] == 0
        assert label.startswith("Relative change")
        np.testing.assert_array_equal(speed, data["max_speed"][:])


def test_colour_limits_are_used_or_refused(data):
    figure = maps.draw_fields(data, ["eta", "h"], colour_range=ColourRange("record", -2.0, 3.0))
    assert colour_limits(figure) == [(-2, 3)] * 2
    low, high = colour_limits(maps.draw_fields(data, ["eta"]))[0]
    figure = maps.draw_fields(data, ["eta"], colour_range=ColourRange("run", high=2 * high))
    assert colour_limits(figure) == [(low, 2 * high)]
    with pytest.raises(PlotError, match="units"):
        maps.draw_fields(data, ["u", "eta"], colour_range=ColourRange("record", low=0.0))
    with pytest.raises(PlotError, match="lower end"):
        maps.draw_fields(data, ["eta"], colour_range=ColourRange("record", low=1e6))
    for low, high in ((2.0, 1.0), (float("nan"), 1.0), (None, float("inf"))):
        with pytest.raises(PlotError, match="vmin and vmax"):
            ColourRange("record", low, high)


@pytest.mark.night
def test_animation_has_all_records(run, monkeypatch):
    gif = Image.open(plotting.animate(run, "eta", fps=5, output=run / "eta.gif"))
    assert (gif.n_frames, gif.info["duration"]) == (3, 200)
    assert imageio_ffmpeg.count_frames_and_secs(str(plotting.animate(run))) == (3, animation.MIN_DURATION_SECONDS)
    monkeypatch.setattr(animation, "find_ffmpeg", lambda: None)
    assert plotting.animate(run, "eta") == run / "output-eta.gif"


def test_contours_lie_where_the_field_has_their_levels(data):
    lines = maps.draw_fields(data, ["v"], overlays=Overlays(contours="eta")).axes[0].collections[-1]
    eta = derived.read_displayed_field(data, "eta", -1)
    level, path = next((level, path) for level, path in zip(lines.levels, lines.get_paths(), strict=True) if len(path))
    x, y = path.vertices[len(path) // 2] * 1e3
    rows, columns = np.interp(y, eta.y, np.arange(9)), np.interp(x, eta.x, np.arange(14))
    around = eta.values[int(rows) : int(rows) + 2, int(columns) : int(columns) + 2]
    assert around.min() <= level <= around.max()


def test_barriers_are_drawn_along_their_faces(tmp_path):
    """The barrier runs north along the eastern edges of three cells, then east along the northern edge of one."""
    x, y = axes(swmodel.load("jet", {"grid.nx": 14, "grid.ny": 9}, environ={}).grid)
    corners = [(x.edges[0] + i * x.spacing, y.edges[0] + j * y.spacing) for i, j in ((3, 2), (3, 5), (4, 5))]
    run = write_small_run(tmp_path / "run", barriers__lines=[{"line": corners, "crest": 1.0}])
    with open_data(run / "output.nc") as data:
        figure, page_barriers = maps.draw_fields(data, ["eta"]), encode_barriers(data, "eta")
    (lines,) = (each for each in figure.axes[0].collections if len(each.get_segments()) == 4)
    ends = np.sort(np.array(lines.get_segments()).reshape(-1, 2) * 1e3, axis=0)
    i, j = np.array([[3, 3, 3, 3, 3, 3, 3, 4], [2, 3, 3, 4, 4, 5, 5, 5]])
    expected = np.stack([x.edges[0] + i * x.spacing, y.edges[0] + j * y.spacing], axis=1)
    np.testing.assert_allclose(ends, expected, rtol=1e-12)
    np.testing.assert_allclose(page_barriers["faces"], lines.get_segments(), rtol=1e-7)
    assert "orange lines: barriers" in figure.texts[0].get_text()


@pytest.mark.parametrize("name", ["run", "record"])
def test_frame_of_animation_equals_picture_of_its_record(data, name):
    colour_range, overlays = ColourRange(name), Overlays(True, "eta")
    figure, show = animation.make_animation(data, "v", None, colour_range, overlays)
    show(2)
    expected = maps.draw_fields(data, ["v"], 2, colour_range=colour_range, overlays=overlays)
    collections = [{type(each): each for each in one.axes[0].collections} for one in (figure, expected)]
    paths = [[path.vertices.tolist() for path in one[QuadContourSet].get_paths()] for one in collections]
    assert paths[0] == paths[1]
    np.testing.assert_array_equal(collections[0][Quiver].U, collections[1][Quiver].U)
    assert colour_limits(figure) == colour_limits(expected)
    assert titles.make_title_formatter(data)(2) in figure.get_suptitle()


@pytest.mark.parametrize(
    ("draw", "arguments", "words"),
    [
        (plotting.animate, {"field": "depth"}, "depth"), (plotting.animate, {"output": "eta.avi"}, "eta.avi"),
        (plotting.animate, {"fps": 0}, "fps"), (plotting.plot, {"fields": "zeeta"}, "zeta"),
        (plotting.plot, {"output": "nowhere/eta.png"}, "nowhere/eta.png"),
    ],
)  # fmt: skip
def test_wrong_fields_files_and_options_are_named(finished_run, tmp_path, monkeypatch, draw, arguments, words):
    monkeypatch.chdir(tmp_path)
    with pytest.raises((PlotError, FilesError), match=words):
        draw(finished_run, **arguments)


# Files are written completely or not at all; a folder without records is refused


def draw_target(run, target):
    return (plotting.plot if target.suffix == ".png" else plotting.animate)(run, "eta", output=target)


@pytest.mark.fault("a picture or animation that cannot be written")
@pytest.mark.parametrize("name", ["eta.png", *night_params("eta.gif", "eta.mp4")])
def test_old_picture_stays_until_the_new_one_is_complete(finished_run, tmp_path, monkeypatch, name):
    target = tmp_path / name
    target.write_text("the old one")

    def stop(*arguments, **options):
        assert target.read_text() == "the old one"
        raise KeyboardInterrupt

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", stop)
    with pytest.raises(KeyboardInterrupt):
        draw_target(finished_run, target)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert target.read_text() == "the old one"


@pytest.mark.fault("a folder without records is plotted or animated")
def test_folder_without_records_is_refused_and_its_files_are_named(tmp_path):
    (tmp_path / "analysis.nc").touch()
    with pytest.raises(PlotError, match=r"diagnostics\.nc.*analysis\.nc"):
        plotting.plot_diagnostics(tmp_path)
    result = invoke_swmodel("animate", tmp_path)
    assert (result.exit_code, "analysis.nc" in result.stderr) == (2, True)


# Pictures in notebooks, of files, Datasets and a Simulation; the error of a run


def test_dataset_is_drawn_like_its_file(run):
    with xarray.open_dataset(run / "output.nc") as dataset:
        sources = [(run, 1), (dataset, 1), (dataset.isel(time=1), -1)]
        expected, *others = (image_arrays(swmodel.plot(source, record=record)) for source, record in sources)
        doubled = image_arrays(swmodel.plot(dataset.assign(eta=2 * dataset.eta), "eta", record=1))
        with pytest.raises(PlotError, match="no record 3"):
            swmodel.plot(dataset, record=3)
    for values, expected_values in zip(sum(others, []), 2 * expected, strict=True):
        np.testing.assert_array_equal(values, expected_values)
    np.testing.assert_allclose(doubled[0], 2 * expected[1], rtol=1e-6)


def test_simulation_draws_its_present_state():
    options = {"grid.nx": 12, "grid.ny": 9, "run.executor": "reference", "run.dtype": "float64"}
    model = swmodel.Simulation("kelvin", options)
    model.advance(3)
    figure = model.plot("eta", "zeta")
    assert figure._repr_png_().startswith(b"\x89PNG")
    assert _pylab_helpers.Gcf.figs == {}
    eta, zeta = image_arrays(figure)
    scale = np.max(np.abs(model.field("eta"))) / np.max(np.abs(eta))
    np.testing.assert_allclose(eta * scale, model.field("eta"), atol=1e-15)
    assert zeta.shape == (10, 13)  # corners: one more row, on the southern wall, and one more column
    assert figure.texts[0].get_text().startswith("kelvin, ")
    with pytest.raises(UsageError, match="foam"):
        model.plot("foam")


def test_error_is_the_difference_from_the_analytic_solution(run, tmp_path):
    folder = write_small_run(tmp_path / "seiche", "seiche", run__steps=20, output__every_steps=10, run__dtype="float64")
    with open_data(folder / "output.nc") as data:
        first, last = (derived.read_displayed_field(data, "eta_error", record) for record in (0, -1))
        figure = maps.draw_fields(data, ["eta", "eta_error"])
    assert np.abs(first.values).max() < 1e-14
    assert 0 < np.abs(last.values).max() < 0.01 * swmodel.load("seiche", environ={}).case.amplitude
    low, high = colour_limits(figure)[1]
    assert low == -high
    with open_data(run / "output.nc") as data, pytest.raises(PlotError, match="eta"):
        maps.draw_fields(data, ["eta_error"])
    channel = write_small_run(tmp_path / "line", "seiche", grid__nx=40, grid__ny=4, run__steps=5, run__dtype="float64")
    with open_data(channel / "output.nc") as data:  # drawn as a line, together with the analytic solution
        model, analytic = (line.get_ydata() for line in maps.draw_fields(data, ["eta"]).axes[0].lines)
    np.testing.assert_allclose(analytic, model, atol=0.02 * np.abs(model).max())
    dry = write_small_run(
        tmp_path / "dry", "dam_break_dry", grid__nx=40, grid__ny=4, time__dt=0.01, output__fields=["eta"]
    )
    with open_data(dry / "output.nc") as data:  # the analytic solution has no water below the ground
        level = derived.read_displayed_field(data, "eta", -1)
        assert derived.find_location(data, "u_error") == derived.find_location(data, "u")
    assert (level.analytic > level.ground.values.data).all()
