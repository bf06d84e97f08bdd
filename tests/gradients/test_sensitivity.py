"""Sensitivities: maps are derivatives, quantities equal the diagnostics, and the command writes all files or none."""

import sys

import jax
import jax.numpy as jnp
import netCDF4
import numpy as np
import pytest
from support.command import invoke_swmodel
from support.faults import run_command
from support.random_case import configuration, random_fields
from support.unchecked_config import resolve_without_checks

import swmodel
from swmodel.config import load
from swmodel.errors import NumericalError
from swmodel.executors.reference import ReferenceModel
from swmodel.files.status import read_status
from swmodel.gradients import quantities, sensitivity
from swmodel.gradients.trajectory import View
from swmodel.model.domain import make_domain
from swmodel.ocean.grid import as_patches
from swmodel.ocean.state import State
from swmodel.ocean.table import REDUCED_GRAVITY_VARIABLES
from swmodel.setup.positions.cross_sections import cross_section, make_cross_sections
from swmodel.setup.setup import setup_of

pytestmark = pytest.mark.slow

NY, NX = 7, 9
STATION = "sea_level:17e3,13e3"
SECTION = "transport:x=16e3,from=3e3,to=22e3"
#: The controls of most tests, which share a compiled adjoint step.
CONTROLS = ["u", "v", "eta", "depth", "viscosity"]


@pytest.fixture
def make_basin():
    """A function from overrides to the configuration of a walled basin with islands; `values` are its fields."""

    def make(**overrides):
        defaults = {"grid__periodic_x": False, "grid__periodic_y": False, "physics__slip": "no", "run__steps": 5}
        return configuration(NY, NX, make.values, **defaults | overrides)

    make.values = random_fields(NY, NX, seed=5, amplitude=0.3)
    make.values["mask"][1:4, 2:6] = 1.0
    make.values["mask"][6, 0] = 0.0
    return make


def compute_sensitivity(directory, config, of, wrt, mean=False):
    """The variables of sensitivity.nc, {name: array}; no picture is drawn, because that takes longer than the rest."""
    options = {"of": of, "wrt": list(wrt), "mean": mean, "memory": None}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("swmodel.plotting.maps.draw_results", lambda path: None)
        sensitivity.compute(config, directory, options, lambda event: None, "", lambda function: None)
    with netCDF4.Dataset(directory / "sensitivity.nc") as data:
        return {name: data[name][...] for name in data.variables}


def states_of_run(config):
    """The initial state and the states after each step, from the reference model in NumPy."""
    reference = ReferenceModel(setup_of(config))
    carries = [reference.start()]
    for _ in range(config.run.steps):
        carries.append(reference.advance(carries[-1], 1, config.time.dt))
    return [State(*map(jnp.asarray, carry.state)) for carry in carries]


def quantities_of_run(config, *pairs):
    """The values of quantities, for pairs (quantity, whether to take its mean), in a run of the reference model."""
    domain = make_domain(config)
    halo, transport = domain.scheme.halo_width, domain.transport
    grid, params = (as_patches(jax.tree.map(jnp.asarray, fields), halo + 1) for fields in (domain.grid, domain.params))
    depth = grid.depth.block_values(transport.block.shape)
    views = [View(state, depth, grid, params, halo, transport) for state in states_of_run(config)]

    def value_of(of, mean):
        observe, samples = quantities.parse_quantity(of, config).observe, list(enumerate(views))[1 if mean else -1 :]
        return np.mean([float(observe(view, k)) for k, view in samples])

    return np.array([value_of(*pair) for pair in pairs])


def final_quantity(config, of):
    return quantities_of_run(config, (of, False))[0]


def central_differences(make_basin, config, pairs, name, cell, step):
    """Central differences of the quantities with respect to a field in a cell, or in all cells (`...`)."""
    original, values = np.copy(make_basin.values[name][cell]), []
    for sign in (1, -1):
        make_basin.values[name][cell] = original + sign * step
        values.append(quantities_of_run(config, *pairs))
    make_basin.values[name][cell] = original
    return (values[0] - values[1]) / (2 * step)


DIFFERENCE_STEPS = {**dict.fromkeys(("eta", "u", "v"), 1e-3), **dict.fromkeys(("depth", "wind_x", "wind_y"), 1e-2)}
DIFFERENCE_STEPS["linear_drag"] = 1e-6


@pytest.mark.parametrize(
    ("pair", "names"), [((SECTION, True), ("u", "eta", "depth")), ((STATION, False), tuple(DIFFERENCE_STEPS))]
)
@pytest.mark.night
def test_maps_are_the_derivatives_with_respect_to_each_cell(make_basin, tmp_path, pair, names):
    """Central differences are computed in cells near a station, an island and a wall, on land, and for a number."""
    config, (of, mean) = make_basin(), pair
    results = compute_sensitivity(tmp_path, config, of, dict.fromkeys([*CONTROLS, *names]), mean)
    quantity, dry = of.partition(":")[0], tuple(np.argwhere(make_basin.values["mask"] == 0)[0])
    np.testing.assert_allclose(results[quantity], quantities_of_run(config, pair), rtol=1e-12)
    for name in names:
        derivatives = results[f"d_{quantity}_d_{name}"]
        for cell in ((2, 3), (3, 4), (5, 1)):
            difference = central_differences(make_basin, config, [pair], name, cell, DIFFERENCE_STEPS[name])[0]
            expected = pytest.approx(difference, rel=1e-5, abs=1e-6 * np.abs(derivatives).max())
            assert np.ma.filled(derivatives, 0.0)[cell] == expected, (name, cell)
        if name not in ("u", "v"):
            assert np.ma.is_masked(derivatives[dry])
            assert not central_differences(make_basin, config, [pair], name, dry, DIFFERENCE_STEPS[name]).any()
    high, low = (quantities_of_run(make_basin(physics__viscosity=300 + change), pair) for change in (0.3, -0.3))
    assert results[f"d_{quantity}_d_viscosity"] == pytest.approx((high - low)[0] / 0.6, rel=1e-5)
    with netCDF4.Dataset(tmp_path / "sensitivity.nc") as data:
        assert (data.quantity, data.quantity_value) == (of, data[quantity][...])
        assert data[f"d_{quantity}_d_u"].dimensions == ("y_c", "x_f")
        assert [data[f"d_{quantity}_d_{name}"].location for name in ("u", "depth")] == ["edge1", "face"]
        if of == SECTION:
            assert (data.quantity_units, data["d_transport_d_viscosity"].units) == ("m3 s-1", "m3 s-1 m-2 s")


@pytest.mark.fault("the displacement of an interface is mistaken for sea level, or the reverse")
def test_with_reduced_gravity_sea_level_is_that_of_the_surface(make_basin):
    """Sea level is eta g'/g; without reduced gravity it is eta."""
    config, place = make_basin(physics__gravity=0.5, physics__reduced_gravity=True), STATION.partition(":")[2]
    names = [quantities.parse_quantity(f"{name}:{place}", config).long_name for name in ("sea_level", "eta")]
    expected = ["sea level", REDUCED_GRAVITY_VARIABLES["eta"].long_name]
    assert [name.partition(" at x = 17 km")[0] for name in names] == expected
    level, eta = (final_quantity(config, f"{name}:{place}") for name in ("sea_level", "eta"))
    assert level == pytest.approx(eta * (0.5 / 9.81), rel=1e-14)
    assert final_quantity(make_basin(physics__gravity=0.5), STATION) == eta


@pytest.mark.fault("a map of derivatives lacks the cells with boundary data")
@pytest.mark.night
def test_maps_include_cells_with_boundary_data(make_basin, tmp_path):
    """The sums of maps are the derivatives with respect to a uniform change of the depth or the boundary level."""
    make_basin.values["mask"][:, :3] = 1.0
    sides, at = {"open_boundaries__sides": ("west",)}, "sea_level:6e3,12.5e3"
    results = compute_sensitivity(tmp_path, make_basin(**sides), at, ["depth", "boundary_level", "eta"])
    high, low = (final_quantity(make_basin(**sides, open_boundaries__level=level), at) for level in (1e-2, -1e-2))
    expected = {"boundary_level": (high - low) / 2e-2}
    expected["depth"] = central_differences(make_basin, make_basin(**sides), [(at, False)], "depth", ..., 1e-2)[0]
    for name, value in expected.items():
        maps = results[f"d_sea_level_d_{name}"]
        assert abs(maps[2, 0]) > 1e-8
        assert maps.sum() == pytest.approx(value, rel=1e-6), name
    assert np.ma.getmaskarray(results["d_sea_level_d_eta"])[:, 0].all()


def test_integrals_equal_those_of_the_diagnostics(make_basin):
    config = make_basin(run__executor="reference")
    simulation = swmodel.Simulation(config)
    simulation.advance(config.run.steps)
    diagnostics, state, physics = simulation.diagnostics(), simulation.state, config.physics
    names = ("mass", "energy", "potential_enstrophy", "kinetic_energy")
    quantities_by_name = dict(zip(names, quantities_of_run(config, *((name, False) for name in names)), strict=True))
    for name in names[:3]:
        assert quantities_by_name[name] == pytest.approx(diagnostics[name], rel=1e-13)
    eta_squared_sum = float((make_basin.values["mask"] * (state.h - make_basin.values["depth"]) ** 2).sum())
    potential_energy = physics.density * 2e7 * physics.gravity * eta_squared_sum / 2
    assert quantities_by_name["kinetic_energy"] == pytest.approx(diagnostics["energy"] - potential_energy, rel=1e-12)


@pytest.mark.fault("the derivative for a section is that of another transport than its series")
@pytest.mark.night
def test_transport_through_a_section_equals_that_of_its_series(make_basin, tmp_path):
    """For a slanting section the derivative with respect to the velocity of a face is its weight in the transport.

    The transport through a whole section is the volume that the sea west of it loses, and the sum over its parts.
    """
    lines = [{"name": "slant", "start": [4e3, 5e3], "end": [28e3, 30e3]}]
    lines += [{"name": "x", "start": [16e3, 0.0], "end": [16e3, 35e3]}]
    config = load(make_basin(run__steps=0), {"output.sections": lines})
    sections, (state, *_) = make_cross_sections(setup_of(config)), states_of_run(config)
    values = np.asarray(state)[sections.points.fields, sections.points.rows, sections.points.columns]
    slant, across = sections.values(values[None], np.zeros(1))["transport"][0]
    names = ("slant", "x", "x=16e3", "y=1e4", "y=1e4,from=0,to=9e3", "y=1e4,from=9e3,to=36e3")
    transports = quantities_of_run(config, *((f"transport:{name}", False) for name in names))
    by_name = dict(zip(names, transports, strict=True))
    np.testing.assert_allclose([by_name[name] for name in names[:3]], [slant, across, across], rtol=1e-12)
    assert by_name[names[4]] + by_name[names[5]] == pytest.approx(by_name["y=1e4"], rel=1e-12)
    volume_loss = -2e7 * ReferenceModel(setup_of(config)).tendency(state).h[:, :4].sum()
    assert across == pytest.approx(float(volume_loss), rel=1e-11)
    weight = compute_sensitivity(tmp_path, config, "transport:slant", CONTROLS)["d_transport_d_v"]
    faces = cross_section(config, config.output.sections[0]).faces
    north = faces.axis == 0
    j, i = faces.rows[north], faces.columns[north]
    assert len(j) > 2
    np.testing.assert_allclose(weight[j, i], faces.lengths[north] * (state.h[j, i] + state.h[j + 1, i]) / 2, rtol=1e-12)
    assert (np.ma.filled(weight, 0) != 0).sum() == len(j)


def test_sensitivity_of_a_run_that_blows_up_writes_no_file(make_basin, tmp_path):
    config = resolve_without_checks(make_basin(time__dt=2e3, run__steps=300))
    with pytest.raises(NumericalError, match="blew up by step"):
        compute_sensitivity(tmp_path, config, STATION, CONTROLS)
    assert not list(tmp_path.iterdir())


SMALL_GRID = "-s grid.nx=23 -s grid.ny=11 -s grid.dx=8e4 -s grid.dy=8e4 -s run.executor=xla"


@pytest.fixture
def run_sensitivity(tmp_path, monkeypatch):
    """A function that runs `swmodel sensitivity jet` on a small grid in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return lambda line: invoke_swmodel(*f"sensitivity jet {SMALL_GRID} {line}".split())


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--of sealevel:1,2 --wrt eta", '"sea_level"'), ("--of sea_level --wrt eta", "sea_level:X,Y"),
        ("--of heat --wrt eta", "eta:X,Y; sea_level:X,Y; transport:x=X"), ("--of sea_level:nan,2 --wrt eta", "nan m"),
        ("--of sea_level:1e5,-1e5 --wrt eta", "y = -100000 m is outside the domain, -40000 to 840000 m"),
        ("--of transport:1e5 --wrt eta", '"1e5"'), ("--of transport:x=-1e6 --wrt eta", "x = -1e+06 m"),
        ("--of transport:x=1e5,from=2e5,to=1e5 --wrt eta", "from=200000"), ("--of energy", "--wrt"),
        ("--of energy:3 --wrt eta", "leave out 3"), ("--of energy --wrt dept", '"depth"'),
        ("--of energy --wrt eta --executor reference", "executor reference"),
    ],
)  # fmt: skip
def test_wrong_input_is_named_and_nothing_is_written(run_sensitivity, tmp_path, line, message):
    result = run_sensitivity(line)
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert (result.exit_code, list(tmp_path.iterdir())) == (2, [])


@pytest.mark.fault("a tidal analysis in the configuration stops a task that does not make one")
def test_command_shows_derivatives_and_leaves_its_files(run_sensitivity, tmp_path):
    """It does so although the configuration has a harmonic analysis for which this run is too short."""
    tides = '-s output.harmonics=["M2","S2"]'
    result = run_sensitivity(f"--of sea_level:8e5,4e5 --wrt eta --wrt gravity --steps 3 --output out --mean {tides}")
    assert result.exit_code == 0, result.output
    for text in ("x = 800 km, y = 400 km", "with respect to eta: ", "with respect to gravity: "):
        assert text in result.output
    files = {path.name for path in (tmp_path / "out").iterdir()}
    assert files == {"config.toml", "sensitivity.nc", "sensitivity.png", "status.json"}
    assert run_sensitivity("--of sea_level:8e5,4e5 --wrt eta --steps 3 --output out").exit_code == 2
    for line in ("info out", "plot out/sensitivity.nc --field d_sea_level_d_eta"):
        next_result = invoke_swmodel(*line.split())
        assert next_result.exit_code == 0, next_result.output


#: The command with a computation that, like compilation, no signal handler of Python can interrupt.
BUSY_PROGRAM = """
import ctypes, os, signal
from swmodel.cli import main
from swmodel.gradients import sensitivity

def compute(*arguments):
    os.kill(os.getpid(), signal.SIGINT)
    ctypes.CDLL(None).sigwait(ctypes.create_string_buffer(128), ctypes.byref(ctypes.c_int()))

sensitivity.compute = compute
main("sensitivity jet --of mass --wrt eta --steps 2 --executor xla --quiet -o out".split())
"""


@pytest.mark.fault("Ctrl-C has no effect while a gradient is compiled")
@pytest.mark.night
def test_sigint_ends_the_command_during_compilation(tmp_path):
    process = run_command(tmp_path, [sys.executable, "-c", BUSY_PROGRAM])
    assert process.returncode == 75
    assert "SIGINT" in process.stderr
    assert process.stderr.count("\n") == 1
    assert read_status(tmp_path / "out")["state"] == "stopped"
