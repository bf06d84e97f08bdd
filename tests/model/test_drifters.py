"""Drifters follow the current: comparisons with loops over recorded velocities and with analytic tracks."""

import math

import netCDF4
import numpy as np
import pytest
import xarray
from support.cf_checker import assert_satisfies_cf
from support.marks import night_params
from support.random_case import SPHERE, configuration, random_fields, section

import swmodel
from swmodel import ConfigError
from swmodel.model.accumulators import DrifterAccumulator
from swmodel.setup.positions.drifters import COLUMN, EAST, NORTH, ROW

pytestmark = pytest.mark.slow

NY, NX, STEPS = 9, 11, 8
FIELDS = random_fields(NY, NX, land=0.2)
FIELDS |= {name: 10 * FIELDS[name] for name in "uv"}
del FIELDS["tracer"]
#: A plane with cells of 4 km by 5 km, and a lattice of drifters on it.
DX, DY = 4e3, 5e3
DRIFTERS_EVERYWHERE = {"box": (500.0, NX * DX, 500.0, NY * DY), "spacing": 1700.0}
#: An open boundary through which a tide drives water out.
OPEN_BOUNDARY_OPTIONS = {"grid__periodic_x": False} | section("open_boundaries", sides=("east",), phase=(180.0,))
OPEN_BOUNDARY_OPTIONS |= {"open_boundaries__constituents": ("M2",), "open_boundaries__amplitude": (20.0,)}


def config(fields=FIELDS, drifters=(DRIFTERS_EVERYWHERE,), **options):
    defaults = {"run__steps": STEPS, "run__executor": "reference", "time__stepper": "ab3", "time__dt": 15.0}
    defaults |= {"output__drifters": tuple(drifters), "output__drifters_every_steps": 1, "output__fields": ("u", "v")}
    return configuration(NY, NX, fields, **(defaults | options))


def run(folder, *arguments, **options):
    model = swmodel.Simulation(config(*arguments, **options))
    model.run(folder)
    return xarray.load_dataset(folder / "drifters.nc", decode_times=False), model


def reference_step(x, y, before, after, dt, is_wet):
    """The position, m, after a step from (x, y) on a doubly periodic plane, with (u, v) `before` and `after` it."""

    def velocity(x, y, fraction):
        row, column = math.floor(y / DY), math.floor(x / DX)
        components = []
        for axis, (a, b) in enumerate(zip(before, after, strict=True)):
            ahead, beside = ((0, 1), (1, 0)) if axis == 0 else ((1, 0), (0, 1))
            along = x / DX - column if axis == 0 else y / DY - row
            across = y / DY - row - 0.5 if axis == 0 else x / DX - column - 0.5
            side = 1 if across >= 0 else -1

            def face(j, i, a=a, b=b, ahead=ahead):
                is_open = is_wet[j % NY, i % NX] and is_wet[(j + ahead[0]) % NY, (i + ahead[1]) % NX]
                return is_open, ((1 - fraction) * a + fraction * b)[j % NY, i % NX]

            face_values = []
            for back in (1, 0):  # first the face in the west or south, then that in the east or north
                j, i = row - back * ahead[0], column - back * ahead[1]
                is_open, value = face(j, i)
                has_neighbour, neighbour = face(j + side * beside[0], i + side * beside[1])
                neighbour = neighbour if has_neighbour else value
                face_values.append((value * (1 - abs(across)) + neighbour * abs(across)) if is_open else 0.0)
            components.append(face_values[0] * (1 - along) + face_values[1] * along)
        return np.array(components)

    position = np.array([x, y])
    k1 = velocity(*position, 0.0)
    k2 = velocity(*(position + dt / 2 * k1), 0.5)
    k3 = velocity(*(position + dt / 2 * k2), 0.5)
    k4 = velocity(*(position + dt * k3), 1.0)
    return position + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def test_drifters_move_as_in_loop_over_recorded_velocities(tmp_path):
    """The model stops a drifter at a coast; the loop may put it on land, less than 50 m from its place in the model."""
    drifters, model = run(tmp_path / "run", grid__periodic_y=True, output__every_steps=1)
    fields = xarray.load_dataset(tmp_path / "run" / "output.nc", decode_times=False).fillna(0)
    is_wet, n_on_land, distances, size = FIELDS["mask"] > 0, 0, [], np.array([NX * DX, NY * DY])
    for step in range(STEPS):
        before, after = ([fields[name].values[k].astype(float) for name in "uv"] for k in (step, step + 1))
        for n in range(0, drifters.x.shape[1], 7):
            start = drifters.x.values[step, n], drifters.y.values[step, n]
            end = reference_step(*start, before, after, model.dt, is_wet)
            difference = (np.array([drifters.x[step + 1, n], drifters.y[step + 1, n]]) - end) / size
            distances.append(np.hypot(*(end - start)))
            on_land = not is_wet[int(end[1] // DY) % NY, int(end[0] // DX) % NX]
            n_on_land += on_land
            assert np.hypot(*((difference - np.rint(difference)) * size)) < (50.0 if on_land else 1e-8)
    assert np.median(distances) > 50.0
    assert n_on_land < 0.02 * len(distances)


def fields_at_rest():
    fields = dict.fromkeys(("eta", "u", "v"), np.zeros((NY, NX)))
    return fields | {"mask": np.ones((NY, NX)), "depth": np.full((NY, NX), 50.0)}


def move_drifters(u, v, steps, drifters, fields=None, **options):
    """The positions of drifters before and after some steps in a steady current, and their accumulator."""
    model = swmodel.Simulation(config(fields or fields_at_rest(), drifters, run__steps=1, **options))
    model.state = model.state._replace(u=u.astype(model.config.run.dtype), v=v.astype(model.config.run.dtype))
    accumulator = DrifterAccumulator(model)
    accumulator.start({})
    initial_positions = accumulator.values()
    accumulator.inputs()
    for _ in range(steps):
        accumulator.add_state(model.state)
    return initial_positions, accumulator.values(), accumulator


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_drifters_in_current_towards_coast_stay_in_water(dtype):
    """The current is faster than a stable step allows; one land cell sticks out from the straight coast."""
    mask = np.ones((NY, NX))
    mask[:, 6:] = mask[4, 5] = 0.0
    u, v = np.full((NY, NX), 250.0), np.full((NY, NX), 3.0)
    v[-1] = 0.0
    u, v = (velocity * mask * np.roll(mask, -1, axis) for velocity, axis in ((u, 1), (v, 0)))
    fields = fields_at_rest() | {"mask": mask}
    *_, accumulator = move_drifters(u, v, 200, (DRIFTERS_EVERYWHERE,), fields, run__dtype=dtype)
    cells = accumulator.restart_fields()
    assert (mask[cells[ROW], cells[COLUMN]] > 0).all()
    assert (cells[COLUMN] >= 4).all()
    assert all((cells[name] >= -0.5).all() and (cells[name] < 0.5).all() for name in (NORTH, EAST))


def test_solid_body_rotation_shifts_all_longitudes_equally():
    options = {"sphere": True, "grid__dlon": 5.0, "grid__periodic_x": False, "time__dt": 15.0}
    box = {"box": (310.0, 320.0, 20.0, 40.0), "spacing": 2.5}
    latitude = np.radians(10.0 + 5.0 * (np.arange(NY) + 0.5))[:, None]
    u = np.radians(0.5) / 15.0 * SPHERE["radius"] * np.cos(latitude) * (np.arange(NX) < NX - 1)
    before, after, _ = move_drifters(u, 0 * u, 10, (box,), **options)
    np.testing.assert_allclose(after["lon"] - before["lon"], 5.0, rtol=1e-12)
    np.testing.assert_array_equal(after["lat"], before["lat"])


def test_drifters_that_leave_the_domain_are_missing_afterwards(tmp_path):
    fields = fields_at_rest() | {"eta": np.full((NY, NX), 10.0)}
    drifters, _ = run(tmp_path / "run", fields, (DRIFTERS_EVERYWHERE,), run__steps=40, **OPEN_BOUNDARY_OPTIONS)
    is_missing = np.isnan(drifters.x.values)
    assert 0 < is_missing[-1].sum() < is_missing.shape[1]
    assert (is_missing[1:] >= is_missing[:-1]).all()
    assert (drifters.x.values[-1][~is_missing[-1]] < (NX - 1) * DX).all()
    assert (drifters.x.values[0][is_missing[-1]] > (NX - 3) * DX).all()


@pytest.mark.parametrize(
    "options", [{"run__executor": "native"} | OPEN_BOUNDARY_OPTIONS, *night_params({"run__executor": "xla"})]
)
def test_tracks_computed_in_loop_have_bits_of_single_steps(tmp_path, options):
    in_loop, _ = run(tmp_path / "in_loop", output__drifters_every_steps=4, **options)
    in_single_steps, _ = run(tmp_path / "in_single_steps", **options)
    for name in "xy":
        np.testing.assert_array_equal(in_loop[name], in_single_steps[name][::4])


def test_drifter_file_is_a_cf_file_of_trajectories(tmp_path):
    drifters, _ = run(tmp_path / "run", fields_at_rest(), ((10e3, 12e3), (30e3, 21e3)), run__steps=1)
    assert drifters.featureType == "trajectory"
    assert drifters.trajectory.cf_role == "trajectory_id"
    assert drifters.x.shape == (2, 2)
    assert_satisfies_cf(tmp_path / "run" / "drifters.nc")


LAND_ROW, LAND_COLUMN = np.argwhere(FIELDS["mask"] == 0)[0]
#: Drifters, and a pattern that the message about them matches.
UNUSABLE_DRIFTERS = [
    ([[1e9, 0.0]], "outside the domain"),
    ([[(LAND_COLUMN + 0.5) * DX, (LAND_ROW + 0.5) * DY]], "on land; the nearest water"),
    ([{"at": (1e3, 1e3), "box": (0.0, 1e3, 0.0, 1e3), "spacing": 100.0}], "number 1: .*other positions"),
    ([{"box": (0.0, 1e3, 0.0, 1e3)}], "number 1: .*spacing"),
    ([{"box": (0.0, 4e4, 0.0, 4e4), "spacing": 50.0}], "more than 100000"),
    ([{"box": (0.0, 4e4, 0.0, 4e4), "spacing": 1e-3}], "too large"),
    ([{"lon": 1.0, "lat": 2.0}], "x and y"),
    ([{"box": (1e3, 0.0, 0.0, 1e3), "spacing": 10.0}], "rising order"),
    ([{"box": (0.0, 1e3, -1e4, -5e3), "spacing": 10.0}], "no water"),
]


def test_unusable_drifters_are_refused():
    for drifters, pattern in UNUSABLE_DRIFTERS:
        with pytest.raises(ConfigError, match=f"output.drifters: .*{pattern}"):
            swmodel.Simulation(config(drifters=drifters))
    for key in ("drifters_every", "drifters_every_steps"):
        with pytest.raises(ConfigError, match=f"output.{key}: "):
            swmodel.Simulation(config(drifters=(), **{"output__drifters_every_steps": None, f"output__{key}": 30}))
    for position in ("[1.0]", "[1.0, 2.0, 3.0]", "[nan, 1.0]", '"here"'):
        with pytest.raises(ConfigError, match="output.drifters"):
            swmodel.load("jet", {"output.drifters": f"[{position}]"}, environ={})


@pytest.mark.fault("drifters of a table in degrees on a plane, or in metres on a sphere")
def test_table_of_drifters_needs_coordinates_of_grid(tmp_path):
    path = tmp_path / "drifters.csv"
    path.write_text("y,speed,x\n20e3,1,30e3\n\n# one more\n5e3,2,10e3\n")
    model = swmodel.Simulation("jet", {"output.drifters": str(path), "run.executor": "reference", "run.steps": 1})
    model.run(tmp_path / "run")
    with netCDF4.Dataset(tmp_path / "run" / "drifters.nc") as data:
        np.testing.assert_allclose([data["x"][0], data["y"][0]], [[30e3, 10e3], [20e3, 5e3]], atol=1.0)
    path.write_text("lon,lat\n5,10\n")
    with pytest.raises(ConfigError, match="x and y"):
        swmodel.Simulation("jet", {"output.drifters": str(path)})
