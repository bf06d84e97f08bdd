"""Sensitivities: the maps are the derivatives, the quantities those of the diagnostics."""

import re

import jax
import jax.numpy as jnp
import netCDF4
import numpy as np
import pytest
from support.random_case import configuration, random_fields
from support.unchecked import unchecked

from swmodel.config import load
from swmodel.errors import NumericalError
from swmodel.executors.reference import Reference
from swmodel.files.status import read_status
from swmodel.gradients import problem, quantities, sensitivity, sweeps
from swmodel.gradients.controls import TERM_OF
from swmodel.gradients.plan import plan
from swmodel.gradients.trajectory import View
from swmodel.model.domain import domain
from swmodel.ocean.diagnostics import diagnose
from swmodel.ocean.grid import as_patches
from swmodel.ocean.patch import Patch
from swmodel.ocean.state import State
from swmodel.ocean.table import CONTROLS, REDUCED
from swmodel.ocean.terms import TERMS
from swmodel.parallel.transport.halo import pad
from swmodel.plotting import Over, PlotError, plot
from swmodel.plotting.maps import derivatives as picture
from swmodel.setup.positions.crossings import crossings, section
from swmodel.setup.setup import setup_of

pytestmark = pytest.mark.slow

NY, NX = 7, 9
STATION = "sea_level:17e3,13e3"
SECTION = "transport:x=16e3,from=3e3,to=22e3"
SILENT = (lambda event: None, "swmodel sensitivity", lambda function: None)


def walled(fields, **overrides):
    """The configuration of a walled basin with such fields."""
    defaults = {"grid__periodic_x": False, "grid__periodic_y": False, "physics__slip": "no", "run__steps": 5}
    return configuration(NY, NX, fields, **defaults | overrides)


def islands():
    """The random fields of a basin with islands."""
    fields = random_fields(NY, NX, seed=5, amplitude=0.3)
    fields["mask"][1:4, 2:6] = 1.0
    fields["mask"][6, 0] = 0.0
    return fields


@pytest.fixture
def basin():
    """A function of overrides that gives the configuration of a basin; its `values` are the fields."""

    def make(**overrides):
        return walled(make.values, **overrides)

    make.values = islands()
    return make


def compute(directory, config, of, to, mean=False, picture=False):
    """The file of sensitivities, {name: array}, and the status; drawing takes longer than all else."""
    directory.mkdir(exist_ok=True)
    options = {"of": of, "wrt": list(to), "mean": mean, "memory": None}
    with pytest.MonkeyPatch.context() as patch:
        if not picture:
            patch.setattr("swmodel.plotting.maps.draw_results", lambda path: None)
        sensitivity.compute(config, directory, options, *SILENT)
    with netCDF4.Dataset(directory / "sensitivity.nc") as data:
        return {name: data[name][...] for name in data.variables}, read_status(directory)


def states(config):
    """The states after each step, the initial one first, by the reference in NumPy."""
    reference = Reference(setup_of(config))
    carries = [reference.start()]
    for _ in range(config.run.steps):
        carries.append(reference.advance(carries[-1], 1, config.time.dt))
    return [State(*map(jnp.asarray, carry.state)) for carry in carries]


def values(config, *pairs):
    """The quantities themselves, of pairs of a quantity and whether it is the mean."""
    made = domain(config)
    width, transport = made.scheme.width, made.transport
    grid, params = (as_patches(jax.tree.map(jnp.asarray, fields), width + 1) for fields in (made.grid, made.params))
    depth = grid.depth.on(transport.block.shape)
    views = [View(state, depth, grid, params, width, transport) for state in states(config)]

    def one(of, mean):
        observe, after = quantities.parse(of, config).observe, list(enumerate(views))[1 if mean else -1 :]
        return np.mean([float(observe(view, k)) for k, view in after])

    return np.array([one(*pair) for pair in pairs])


def value(config, of):
    """The quantity at the end."""
    return values(config, (of, False))[0]


def difference(basin, config, pairs, name, cell, step):
    """The central differences of the quantities with respect to one value of a field."""
    kept, found = np.copy(basin.values[name][cell]), []
    for sign in (1, -1):
        basin.values[name][cell] = kept + sign * step
        found.append(values(config, *pairs))
    basin.values[name][cell] = kept
    return (found[0] - found[1]) / (2 * step)


#: By what there is a derivative in any run: not of terms that a section switches on.
ANY = [name for name in CONTROLS if name not in TERM_OF or not TERMS[TERM_OF[name]].active]
STEPS = {"eta": 1e-3, "u": 1e-3, "v": 1e-3, "depth": 1e-2, "wind_x": 1e-2, "wind_y": 1e-2, "linear_drag": 1e-6}


@pytest.mark.night
def test_maps_are_the_derivatives_by_each_cell(basin, tmp_path):
    """Central differences, in cells at a station, at an island and at a wall, and in one of land."""
    config, pairs = basin(), [(STATION, False), (SECTION, True), ("energy", False)]
    to = [name for name in ANY if name in sensitivity.FIELDS]
    found = [compute(tmp_path / of[:3], config, of, to, mean)[0] for of, mean in pairs]
    numbers = [one[of.partition(":")[0]] for one, (of, _) in zip(found, pairs, strict=True)]
    np.testing.assert_allclose(numbers, values(config, *pairs), rtol=1e-12)
    dry = tuple(np.argwhere(basin.values["mask"] == 0)[0])
    for name, step in STEPS.items():
        maps = [one[f"d_{of.partition(':')[0]}_d_{name}"] for one, (of, _) in zip(found, pairs, strict=True)]
        for cell in ((2, 3), (3, 4), (5, 1)):
            for ours, truth in zip(maps, difference(basin, config, pairs, name, cell, step), strict=True):
                near = pytest.approx(truth, rel=1e-5, abs=1e-6 * np.abs(ours).max())
                assert np.ma.filled(ours, 0.0)[cell] == near, (name, cell)
        if name in ("eta", "depth", "wind_x", "wind_y", "linear_drag"):
            assert all(np.ma.is_masked(ours[dry]) for ours in maps)
            assert not difference(basin, config, pairs, name, dry, step).any()


@pytest.mark.night
def test_numbers_have_their_derivatives_and_no_picture(basin, tmp_path):
    physics = {"biharmonic_viscosity": 1e6, "gravity": 5.0, "reduced_gravity": True, "self_attraction": 0.08}
    config = basin(**{f"physics__{name}": value for name, value in physics.items()})
    numbers = [name for name in ANY if name in sensitivity.NUMBERS and getattr(config.physics, name)]
    assert len(numbers) > 3
    found, status = compute(tmp_path, config, STATION, numbers, picture=True)
    for name in numbers:
        given, moved = getattr(config.physics, name), []
        for sign in (1, -1):
            physics = config.physics.model_copy(update={name: given * (1 + sign * 1e-4)})
            moved.append(value(config.model_copy(update={"physics": physics}), STATION))
        assert found[f"d_sea_level_d_{name}"] == pytest.approx((moved[0] - moved[1]) / (2e-4 * given), rel=1e-5)
        assert status["derivatives"][name]["value"] == float(found[f"d_sea_level_d_{name}"])
    assert not (tmp_path / "sensitivity.png").exists()
    with pytest.raises(PlotError, match="holds no map, only numbers; `swmodel info` and status.json have them"):
        plot(tmp_path)
    assert "by gravity: " in sensitivity.summary(tmp_path)


@pytest.mark.fault("the displacement of an interface is mistaken for sea level, or the reverse")
def test_with_reduced_gravity_sea_level_is_that_of_the_surface_and_eta_the_interface(basin):
    """Sea level is eta g'/g; without reduced gravity it is eta."""
    config = basin(physics__gravity=0.5, physics__reduced_gravity=True)
    place = STATION.partition(":")[2]
    names = [quantities.parse(f"{name}:{place}", config).long_name for name in ("sea_level", "eta")]
    assert [name.partition(" at x = 17 km")[0] for name in names] == ["sea level", REDUCED["eta"].long_name]
    level, eta = (value(config, f"{name}:{place}") for name in ("sea_level", "eta"))
    assert level == pytest.approx(eta * (0.5 / 9.81), rel=1e-14)
    assert value(basin(physics__gravity=0.5), STATION) == eta


@pytest.fixture(scope="module")
def of_section(tmp_path_factory):
    """The folder of the sensitivities of the transport through the section of the basin, and its maps."""
    folder = tmp_path_factory.mktemp("section")
    return folder, compute(folder, walled(islands()), SECTION, ["u", "v", "depth", "viscosity"])[0]


@pytest.mark.fault("a map of derivatives lacks the water outside open sides")
@pytest.mark.night
def test_maps_reach_into_the_water_outside_open_sides(basin, tmp_path):
    """So that their sums are the derivatives by a uniform change of the depth, and of the level outside."""
    basin.values["mask"][:, :3] = 1.0
    sides, at = {"open_sides__sides": ("west",)}, "sea_level:6e3,12.5e3"
    found, _ = compute(tmp_path, basin(**sides), at, ["depth", "outside_level", "eta"])
    high, low = (value(basin(**sides, open_sides__level=level), at) for level in (1e-2, -1e-2))
    slopes = {"outside_level": (high - low) / 2e-2}
    slopes["depth"] = difference(basin, basin(**sides), [(at, False)], "depth", ..., 1e-2)[0]
    for name, slope in slopes.items():
        maps = found[f"d_sea_level_d_{name}"]
        assert abs(maps[2, 0]) > 1e-8
        assert maps.sum() == pytest.approx(slope, rel=1e-6), name
    assert np.ma.getmaskarray(found["d_sea_level_d_eta"])[:, 0].all()


def test_derivatives_have_the_inverse_units_of_the_control():
    for control in CONTROLS.values():
        again = sensitivity.inverse(sensitivity.inverse(control.units))
        assert again == control.units.replace("1", "", control.units == "1")


@pytest.mark.night
@pytest.mark.parametrize("of", ["mass", "energy", "potential_enstrophy"])
def test_integrals_are_those_of_the_diagnostics(basin, of):
    config = basin()
    made = domain(config)
    width, state = made.scheme.width, states(config)[-1]
    padded = State(*(Patch(np.asarray(f), (-width, -width)) for f in pad(state, width, made.transport)))
    grid = as_patches(made.transport.get(made.grid), width + 1)
    numbers = diagnose([(padded, grid, made.transport.block.shape)], made.config, made.transport)
    assert value(config, of) == pytest.approx(numbers[of], rel=1e-13)
    if of == "energy":
        eta, physics = state.h - basin.values["depth"], config.physics
        potential = physics.density * 2e7 * physics.gravity * float((basin.values["mask"] * eta**2).sum()) / 2
        assert value(config, "kinetic_energy") == pytest.approx(numbers[of] - potential, rel=1e-12)


def test_sea_level_is_linear_between_the_wet_cells_around_also_across_a_ring(basin):
    basin.values["mask"][...] = 1.0
    basin.values["mask"][2, 5] = 0.0
    config, eta = basin(run__steps=0, grid__periodic_x=True), basin.values["eta"]
    expected = {
        "14e3,12.5e3": eta[2, 3],
        "15e3,15e3": 0.75 * (eta[2, 3] + eta[3, 3]) / 2 + 0.25 * (eta[2, 4] + eta[3, 4]) / 2,
        "0,12.5e3": (eta[2, 0] + eta[2, 8]) / 2,
        "36e3,12.5e3": (eta[2, 0] + eta[2, 8]) / 2,
        "19e3,12.5e3": eta[2, 4],
    }
    for at, level in expected.items():
        assert value(config, f"sea_level:{at}") == pytest.approx(level, rel=1e-12), at


@pytest.mark.night
def test_transport_through_a_whole_section_is_what_the_sea_behind_it_loses_and_the_sum_of_parts(basin):
    """Of a closed basin, by the tendency of thickness west of the section; part of a face counts as a part."""
    config = basin(run__steps=0)
    tendency = Reference(setup_of(config)).tendency(Reference(setup_of(config)).start().state)
    lost = -2e7 * tendency.h[:, :4].sum()
    assert value(config, "transport:x=16e3") == pytest.approx(lost, rel=1e-11)
    parts = [value(config, f"transport:y=1e4,from={a},to={b}") for a, b in ((0, 9e3), (9e3, 36e3))]
    assert sum(parts) == pytest.approx(value(config, "transport:y=1e4"), rel=1e-12)


@pytest.mark.fault("the derivative of a section is of another transport than its series")
@pytest.mark.night
def test_the_transport_of_a_section_is_that_of_its_series(basin, tmp_path):
    """Of a slanting one, and its derivative by the velocity of a face is what it counts for."""
    lines = [{"name": "slant", "start": [4e3, 5e3], "end": [28e3, 30e3]}]
    lines += [{"name": "x", "start": [16e3, 0.0], "end": [16e3, 35e3]}]
    config = load(basin(run__steps=0), {"output.sections": lines})
    found, (state, *_) = crossings(setup_of(config)), states(config)
    raw = np.asarray(state)[found.points.fields, found.points.rows, found.points.columns]
    slant, x = found.values(raw[None])["transport"][0]
    assert value(config, "transport:slant") == pytest.approx(slant, rel=1e-12)
    assert value(config, "transport:x") == pytest.approx(x, rel=1e-12)
    assert value(config, "transport:x=16e3") == pytest.approx(x, rel=1e-12)
    by_v = compute(tmp_path, config, "transport:slant", ["v"])[0]["d_transport_d_v"]
    faces = section(config, config.output.sections[0]).faces
    north = faces.axis == 0
    j, i = faces.rows[north], faces.columns[north]
    assert len(j) > 2
    np.testing.assert_allclose(by_v[j, i], faces.lengths[north] * (state.h[j, i] + state.h[j + 1, i]) / 2, rtol=1e-12)
    assert (np.ma.filled(by_v, 0) != 0).sum() == len(j)


@pytest.mark.night
def test_short_pieces_and_checkpoints_give_the_same_file(basin, tmp_path, monkeypatch):
    """Segments of two steps, in pieces of one; steps are computed again."""
    config = basin(run__steps=7)
    whole, _ = compute(tmp_path / "a", config, SECTION, ["eta", "depth"], mean=True)
    monkeypatch.setattr(sweeps, "MOST", 1)
    monkeypatch.setattr(problem, "fit", lambda *a: plan(7, 3))
    short, status = compute(tmp_path / "b", config, SECTION, ["eta", "depth"], mean=True)
    for name, values in whole.items():
        np.testing.assert_allclose(np.ma.filled(short[name], 0), np.ma.filled(values, 0), rtol=1e-12, err_msg=name)
    assert status["gradient_over_forward"] > 1


def test_nothing_of_a_run_that_blows_up_is_kept(basin, tmp_path):
    with pytest.raises(NumericalError, match="blew up by step"):
        compute(tmp_path, unchecked(basin(time__dt=2e3, run__steps=300)), STATION, ["eta"])
    assert not list(tmp_path.iterdir())


def test_the_file_says_what_it_is(of_section):
    with netCDF4.Dataset(of_section[0] / "sensitivity.nc") as data:
        assert data.Conventions == "CF-1.12 SGRID-0.3"
        assert (data.quantity, data.quantity_units) == (SECTION, "m3 s-1")
        assert data["transport"][...] == data.quantity_value
        assert data["d_transport_d_viscosity"].units == "m3 s-1 m-2 s"
        assert data["d_transport_d_u"].dimensions == ("y_c", "x_f")
        assert [data[f"d_transport_d_{name}"].location for name in ("u", "v", "depth")] == ["edge1", "edge2", "face"]
        assert data["cell_area"][0, 0] == 2e7


@pytest.mark.night
@pytest.mark.parametrize("of", [STATION, "transport:y=1e4"])
def test_there_is_a_picture_with_the_place_in_it(basin, tmp_path, of):
    _, status = compute(tmp_path, basin(run__steps=2), of, ["eta", "u"], picture=True)
    assert (tmp_path / "sensitivity.png").stat().st_size > 10_000
    text = sensitivity.summary(tmp_path)
    assert f"{status['value']:.6g} {status['units']}" in text
    assert f"Next: swmodel plot {tmp_path}/sensitivity.nc --field d_" in text
    assert (status["state"], status["dtype"]) == ("completed", "float64")
    assert plot(tmp_path, "depth") == tmp_path / "sensitivity-depth.png"
    with netCDF4.Dataset(tmp_path / "sensitivity.nc") as data:
        figure, one = picture(data, over=Over(contours="depth")), picture(data, [f"d_{of.partition(':')[0]}_d_u"])
    maps = [[axes for axes in drawn.axes if axes.images] for drawn in (figure, one)]
    assert [len(axes) for axes in maps] == [2, 1]
    for axes, by in zip(maps[0], ("initial sea level", "initial velocity in x"), strict=True):
        label = axes.get_title(loc="left").replace("\n", " ")
        assert re.fullmatch(rf"∂\({status['long_name']}\) / ∂\({by}\) \(.* per cell\)", label), label
    caption = figure.get_suptitle().replace("\n", " ")
    assert caption.startswith(f"random, {status['long_name']}, at the end of the run: ")
    assert "lines: Resting depth (m), every " in caption
