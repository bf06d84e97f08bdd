"""The Basic Model Interface drives a `Simulation`, and its values are those of the model."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from conftest import ROOT
from support.netcdf import write_netcdf

import swmodel
from swmodel.parallel.environment import has_gpu

bmipy = pytest.importorskip("bmipy", reason='needs bmipy: pip install ".[bmi]"')

from swmodel import bmi  # noqa: E402

THICKNESS_NAME, ELEVATION_NAME = "sea_water__depth", "sea_surface__elevation"
U_NAME, V_NAME = (f"sea_water_flow__{axis}_component_of_velocity" for axis in "xy")
STRESS_NAME = "sea_surface_air_flow__x_component_of_shear_stress"
NY, NX = 9, 13
SIZES = {"grid.nx": NX, "grid.ny": NY, "grid.dx": 5e3, "grid.dy": 4e3}
MODEL_OPTIONS = SIZES | {"time.dt": 60.0, "run.steps": 20, "run.executor": "reference"}


def make_component(tmp_path, case="inertial", forcings=(), more_toml="", **options):
    """(bmi.Model, Simulation) from one file, with options section__key=value; "inertial" starts from rest here."""
    options = {name.replace("__", "."): value for name, value in options.items()}
    options = MODEL_OPTIONS | ({"case.speed": 0.0} if case == "inertial" else {}) | options
    lines = [f"{key} = {json.dumps(value)}" for key, value in options.items() if value is not None]
    path = tmp_path / "sea.toml"
    path.write_text("\n".join([*lines, f'case.name = "{case}"', more_toml]))
    model = bmi.Model(forcings)
    model.initialize(str(path))
    return model, swmodel.Simulation(str(path))


def values_of_variable(model, name):
    return model.get_value(name, np.empty(NY * NX, model.get_var_type(name))).reshape(NY, NX)


def test_module_implements_all_of_bmi_and_prepares_jax():
    assert bmi.Model.__abstractmethods__ == frozenset()
    environ = {name: value for name, value in os.environ.items() if not name.startswith("JAX_")}
    program = "import importlib, os; importlib.import_module('swmodel.bmi'); print('JAX_PLATFORMS' in os.environ)"
    process = subprocess.run([sys.executable, "-c", program], env=environ, capture_output=True, text=True, timeout=60)
    assert process.stdout == f"{not has_gpu()}\n", process.stderr


@pytest.mark.promise("the Basic Model Interface gives the values of the model")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_updates_take_the_steps_of_the_model(tmp_path, dtype):
    model, simulation = make_component(tmp_path, "vortex", run__dtype=dtype)
    speed = model.get_value_ptr("sea_water_flow__speed")
    with pytest.raises(ValueError, match="read-only"):
        speed[0] = 1.0
    model.update()
    model.update_until(190.0)  # not a multiple of the time step: the model stops at the next one
    simulation.advance(4)
    assert (model.get_current_time(), model.get_time_step(), model.get_end_time()) == (240.0, 60.0, 1200.0)
    for name, field in zip((THICKNESS_NAME, U_NAME, V_NAME), simulation.state, strict=True):
        np.testing.assert_array_equal(values_of_variable(model, name), field)
        assert model.get_var_type(name) == dtype
    np.testing.assert_array_equal(values_of_variable(model, ELEVATION_NAME), simulation.field("eta"))
    np.testing.assert_array_equal(speed, simulation.field("speed").ravel())


def test_constant_fields_are_those_of_the_model(tmp_path):
    model, simulation = make_component(tmp_path, "rest", time__dt=20.0, run__dtype="float64")
    expected = simulation.dataset(["depth", "mask", "cell_area"])
    np.testing.assert_array_equal(values_of_variable(model, "earth_surface_ocean__area_fraction"), expected.mask)
    wet = expected.mask.values == 1
    floor = values_of_variable(model, "sea_bottom_surface__elevation")
    np.testing.assert_array_equal(floor[wet], -expected.depth.values[wet])
    np.testing.assert_array_equal(values_of_variable(model, "model_grid_cell__area"), expected.cell_area)


@pytest.mark.promise("the Basic Model Interface gives the values of the model")
def test_stress_that_is_set_acts_from_the_next_step(tmp_path):
    """In a flat, doubly periodic sea, u is the sum of stress dt / (density depth) over the steps."""
    options = {"physics__f0": 0.0, "time__stepper": "rk3", "run__dtype": "float64"}
    model, simulation = make_component(tmp_path, "inertial", ["wind_x"], **options)
    physics, expected = simulation.config.physics, 0.0
    for stress in (0.0, 0.1, 0.1, -0.3, 0.2):
        model.set_value(STRESS_NAME, np.full(NY * NX, stress))
        model.update()
        expected += stress * 60.0 / (physics.density * physics.depth)
        np.testing.assert_allclose(values_of_variable(model, U_NAME), expected, rtol=1e-12)


def test_stress_is_that_of_the_case_until_it_is_set(tmp_path):
    """A stress that is set at the start acts as in a run with this stress as a field."""
    stress = np.random.default_rng(1).normal(0, 0.2, (NY, NX))
    wind = {"wind": ("y x", np.full((NY, NX), 0.1), {"units": "Pa"})}
    file_options = {"input__wind_x": write_netcdf(tmp_path / "wind.nc", wind) + ":wind"}
    for options in file_options, {}:
        model, simulation = make_component(tmp_path, "double_gyre", ["wind_x"], run__dtype="float64", **options)
        np.testing.assert_array_equal(values_of_variable(model, STRESS_NAME), simulation.field("wind_x"))
    assert {STRESS_NAME} <= set(model.get_input_var_names()) - set(model.get_output_var_names())
    model.set_value(STRESS_NAME, stress)
    model.update_until(300.0)
    simulation = swmodel.Simulation("double_gyre", MODEL_OPTIONS | {"run.dtype": "float64"}, fields={"wind_x": stress})
    simulation.advance(5)
    np.testing.assert_allclose(values_of_variable(model, U_NAME), simulation.state.u, rtol=1e-10)


@pytest.mark.parametrize("name", [THICKNESS_NAME, ELEVATION_NAME, U_NAME, V_NAME, "sea_water_dye__concentration"])
def test_values_that_are_set_are_those_of_the_model(tmp_path, name):
    model, _ = make_component(tmp_path, more_toml='tracer = [{name = "dye"}]', run__dtype="float64")
    values = np.random.default_rng(2).uniform(0.1, 0.2, (NY, NX)) + (100.0 if name == THICKNESS_NAME else 0.0)
    model.update()
    model.set_value(name, values)
    np.testing.assert_allclose(values_of_variable(model, name), values, rtol=1e-12)
    model.set_value_at_indices(name, np.array([3, NX]), np.array([values[0, 0], values[1, 1]]))
    values[0, 3], values[1, 0] = values[0, 0], values[1, 1]
    np.testing.assert_allclose(values_of_variable(model, name), values, rtol=1e-12)
    selected_values = model.get_value_at_indices(name, np.empty(2), np.array([3, NX]))
    np.testing.assert_allclose(selected_values, values[[0, 1], [3, 0]], rtol=1e-12)


@pytest.mark.promise("the Basic Model Interface gives the values of the model")
def test_water_added_through_a_pointer_stays(tmp_path):
    """The memory holds the thickness after each step, and the sea gains the volume that is added, to round-off."""
    model, _ = make_component(tmp_path, "rest", time__dt=20.0, run__dtype="float64")
    thickness, area = model.get_value_ptr(THICKNESS_NAME), model.get_value_ptr("model_grid_cell__area")
    mouth = np.flatnonzero(model.get_value_ptr("earth_surface_ocean__area_fraction"))[:3]
    initial_volume, added_volume = float((thickness * area).sum()), 0.0
    for step in range(10):
        thickness[mouth] += 0.01 * (step + 1)
        added_volume += float(0.01 * (step + 1) * area[mouth].sum())
        model.update()
        np.testing.assert_array_equal(thickness, values_of_variable(model, THICKNESS_NAME).ravel())
    assert np.ptp(model.get_value_ptr(ELEVATION_NAME)) > 0.01
    assert float((thickness * area).sum()) == pytest.approx(initial_volume + added_volume, rel=1e-14)


@pytest.mark.parametrize("grid", range(4))
def test_grid_nodes_are_the_points_of_the_fields(tmp_path, grid):
    model, simulation = make_component(tmp_path, grid__origin="middle")
    name = [THICKNESS_NAME, U_NAME, V_NAME, "sea_water_flow__z_component_of_vorticity"][grid]
    field = simulation.dataset([["h", "u", "v", "zeta"][grid]]).to_array()
    assert model.get_var_grid(name) == grid
    y, x = (field[dim].values for dim in field.dims[1:])
    np.testing.assert_allclose(model.get_grid_y(grid, np.empty(NY)), y, atol=1e-6)
    np.testing.assert_allclose(model.get_grid_x(grid, np.empty(NX)), x, atol=1e-6)
    np.testing.assert_allclose(model.get_grid_origin(grid, np.empty(2)), [y[0], x[0]], atol=1e-6)
    np.testing.assert_array_equal(model.get_grid_spacing(grid, np.empty(2)), [4e3, 5e3])
    np.testing.assert_array_equal(model.get_grid_shape(grid, np.empty(2, int)), [NY, NX])


def test_rotated_pole_grid_has_longitudes_and_latitudes(tmp_path):
    edges = {"grid__west": 150.0, "grid__east": 163.0, "grid__south": -5.0, "grid__north": 4.0}
    pole = {"grid__pole": (-40.0, 70.0), "grid__dx": None, "grid__dy": None, "time__dt": 10.0}
    model, simulation = make_component(tmp_path, "sea", **edges, **pole)
    assert model.get_grid_type(3) == "structured_quadrilateral"
    expected = simulation.dataset(["lon_f", "lat_f"])
    for name, get_coordinate in {"lon_f": model.get_grid_x, "lat_f": model.get_grid_y}.items():
        np.testing.assert_allclose(get_coordinate(3, np.empty(NY * NX)).reshape(NY, NX), expected[name])


def test_numbers_of_faces_edges_and_nodes_obey_eulers_formula(tmp_path):
    """The nodes of each face are in counter-clockwise order, and its edges connect them."""
    model, _ = make_component(tmp_path)
    nodes, edges, faces = model.get_grid_node_count(0), model.get_grid_edge_count(0), model.get_grid_face_count(0)
    assert nodes - edges + faces == 1
    edge_nodes = model.get_grid_edge_nodes(0, np.empty(2 * edges, int)).reshape(-1, 2)
    face_nodes = model.get_grid_face_nodes(0, np.empty(4 * faces, int)).reshape(-1, 4)
    face_edges = model.get_grid_face_edges(0, np.empty(4 * faces, int)).reshape(-1, 4)
    assert (model.get_grid_nodes_per_face(0, np.empty(faces, int)) == 4).all()
    x, y = np.meshgrid(model.get_grid_x(0, np.empty(NX)), model.get_grid_y(0, np.empty(NY)))
    x, y = x.ravel()[face_nodes], y.ravel()[face_nodes]
    area = 0.5 * (x * np.roll(y, -1, axis=1) - y * np.roll(x, -1, axis=1)).sum(axis=1)
    np.testing.assert_allclose(area, 5e3 * 4e3)
    node_pairs = np.stack([face_nodes, np.roll(face_nodes, -1, axis=1)], axis=-1)
    np.testing.assert_array_equal(np.sort(edge_nodes[face_edges], axis=-1), np.sort(node_pairs, axis=-1))
    assert len({tuple(sorted(pair)) for pair in edge_nodes}) == edges


WRONG_CALLS = {
    "an unknown variable": lambda model: model.get_var_units("sea_water__temperature"),
    "an output": lambda model: model.set_value("sea_water_flow__speed", np.zeros(NY * NX)),
    "an array of another size": lambda model: model.get_value(THICKNESS_NAME, np.empty(3)),
    "no water": lambda model: model.set_value(THICKNESS_NAME, np.zeros(NY * NX)),
    "an index too large": lambda model: model.get_value_at_indices(THICKNESS_NAME, np.empty(1), np.array([NY * NX])),
    "an index with a fraction": lambda model: model.get_value_at_indices(THICKNESS_NAME, np.empty(1), np.array([0.5])),
    "a negative index": lambda model: model.set_value_at_indices(THICKNESS_NAME, np.array([-1]), np.ones(1)),
    "a time in the past": lambda model: model.update_until(-60.0),
    "an unknown grid": lambda model: model.get_grid_size(4),
    "the z coordinates, which no grid has": lambda model: model.get_grid_z(0, np.empty(1)),
    "an unknown forcing": lambda model: bmi.Model(["wind"]),
    "before initialize": lambda model: bmi.Model().update(),
    "after finalize": lambda model: (model.finalize(), model.get_current_time()),
}


def test_wrong_call_is_refused_and_changes_nothing(tmp_path):
    model, _ = make_component(tmp_path)
    initial_state = model.simulation.state
    for description, call in WRONG_CALLS.items():
        with pytest.raises(swmodel.errors.UsageError) as error:
            call(model)
        assert len(str(error.value).splitlines()) == 1, description
        if model._simulation:
            np.testing.assert_array_equal(model.simulation.state, initial_state)


COMPONENT_CODE = """
from swmodel import bmi
class Component(bmi.Model):
    def __init__(self):
        super().__init__(["wind_x", "wind_y", "u10", "v10", "air_pressure"])
"""
TESTER_CODE = "import sys; from bmi_tester.main import main; sys.exit(main())"


@pytest.mark.promise("the Basic Model Interface gives the values of the model")
@pytest.mark.night
def test_bmi_tester_of_csdms_passes(tmp_path):
    pytest.importorskip("bmi_tester", reason="needs the tester of CSDMS: pip install bmi-tester")
    make_component(tmp_path, "vortex", more_toml='tracer = [{name = "dye"}]')
    for name, text in {"component.py": COMPONENT_CODE, "pytest.ini": "[pytest]"}.items():
        (tmp_path / name).write_text(text)
    line = [sys.executable, "-c", TESTER_CODE, "component:Component", "--root-dir=.", "--config-file=sea.toml"]
    paths = os.pathsep.join([str(tmp_path), str(ROOT), os.environ.get("PYTHONPATH", "")])
    environ = os.environ | {"PYTHONPATH": paths, "PYTEST_ADDOPTS": f"-c {tmp_path}/pytest.ini --rootdir={tmp_path}"}
    process = subprocess.run(line, cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=300, check=False)
    assert process.returncode == 0, process.stdout[-5000:] + process.stderr[-2000:]
    assert process.stdout.count(" passed") == 4  # the bootstrap and three stages
    assert "not a valid standard name" not in process.stdout
