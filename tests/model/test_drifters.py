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
    given = {"run__steps": STEPS, "run__executor": "reference", "time__stepper": "ab3", "time__dt": 15.0}
    given |= {"output__drifters": tuple(drifters), "output__drifters_every_steps": 1, "output__fields": ("u", "v")}
    return configuration(NY, NX, fields, **(given | options))


def run(folder, *arguments, **options):
    model = swmodel.Simulation(config(*arguments, **options))
    model.run(folder)
    return xarray.load_dataset(folder / "drifters.nc", decode_times=False), model


def reference_step(x, y, before, after, dt, is_wet):
    """One step of a drifter at (x, y) m, on a doubly periodic plane; u and v [ny, nx] before and after it are given."""

    def speed(x, y, part):
        row, column = math.floor(y / DY), math.floor(x / DX)
        found = []
        for axis, (a, b) in enumerate(zip(before, after, strict=True)):
            ahead, beside = ((0, 1), (1, 0)) if axis == 0 else ((1, 0), (0, 1))
            along = x / DX - column if axis == 0 else y / DY - row
            across = y / DY - row - 0.5 if axis == 0 else x / DX - column - 0.5
            way = 1 if across >= 0 else -1

            def face(j, i, a=a, b=b, ahead=ahead):
                flows = is_wet[j % NY, i % NX] and is_wet[(j + ahead[0]) % NY, (i + ahead[1]) % NX]
                return flows, ((1 - part) * a + part * b)[j % NY, i % NX]

            ends = []
            for back in (1, 0):
                j, i = row - back * ahead[0], column - back * ahead[1]
                (flows, own), (more, other) = face(j, i), face(j + way * beside[0], i + way * beside[1])
                other = other if more else own
                ends.append((own * (1 - abs(across)) + other * abs(across)) if flows else 0.0)
            found.append(ends[0] * (1 - along) + ends[1] * along)
        return np.array(found)

    at = np.array([x, y])
    k1 = speed(*at, 0.0)
    k2 = speed(*(at + dt / 2 * k1), 0.5)
    k3 = speed(*(at + dt / 2 * k2), 0.5)
    k4 = speed(*(at + dt * k3), 1.0)
    return at + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def test_step_is_that_of_loop_over_recorded_velocities(tmp_path):
    """Where a coast stops a drifter, the loop may put it on land, by less than the error of the step."""
    found, model = run(tmp_path / "run", grid__periodic_y=True, output__every_steps=1)
    fields = xarray.load_dataset(tmp_path / "run" / "output.nc", decode_times=False).fillna(0)
    is_wet, held, moved = FIELDS["mask"] > 0, 0, []
    for step in range(STEPS):
        before, after = ([fields[name].values[k].astype(float) for name in "uv"] for k in (step, step + 1))
        for n in range(0, found.x.shape[1], 7):
            start = found.x.values[step, n], found.y.values[step, n]
            end = reference_step(*start, before, after, model.dt, is_wet)
            away = (np.array([found.x[step + 1, n], found.y[step + 1, n]]) - end) / (NX * DX, NY * DY)
            moved.append(np.hypot(*(end - start)))
            on_land = not is_wet[int(end[1] // DY) % NY, int(end[0] // DX) % NX]
            held += on_land
            assert np.hypot(*((away - np.rint(away)) * (NX * DX, NY * DY))) < (50.0 if on_land else 1e-8)
    assert np.median(moved) > 50.0
    assert held < 0.02 * len(moved)


def fields_at_rest():
    fields = dict.fromkeys(("eta", "u", "v"), np.zeros((NY, NX)))
    return fields | {"mask": np.ones((NY, NX)), "depth": np.full((NY, NX), 50.0)}


def drifters_after(u, v, steps, drifters, fields=None, **options):
    """The drifters of a steady current after some steps, and their accumulator."""
    model = swmodel.Simulation(config(fields or fields_at_rest(), drifters, run__steps=1, **options))
    model.state = model.state._replace(u=u.astype(model.config.run.dtype), v=v.astype(model.config.run.dtype))
    floats = DrifterAccumulator(model)
    floats.start({})
    floats.start = floats.values()
    floats.inputs()
    for _ in range(steps):
        floats.add_state(model.state)
    return floats.values(), floats


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_current_towards_coast_ends_before_it(dtype):
    """The current is faster than a stable step allows; the coast is straight, with one corner that sticks out."""
    water = np.ones((NY, NX))
    water[:, 6:] = water[4, 5] = 0.0
    u, v = np.full((NY, NX), 250.0), np.full((NY, NX), 3.0)
    v[-1] = 0.0
    u, v = (a * water * np.roll(water, -1, axis) for a, axis in ((u, 1), (v, 0)))
    fields = fields_at_rest() | {"mask": water}
    _, floats = drifters_after(u, v, 200, (DRIFTERS_EVERYWHERE,), fields, run__dtype=dtype)
    cells = floats.restart_fields()
    assert (water[cells[ROW], cells[COLUMN]] > 0).all()
    assert (cells[COLUMN] >= 4).all()
    assert all((cells[name] >= -0.5).all() and (cells[name] < 0.5).all() for name in (NORTH, EAST))


def test_rotation_of_sphere_shifts_all_longitudes_alike():
    options = {"sphere": True, "grid__dlon": 5.0, "grid__periodic_x": False, "time__dt": 15.0}
    box = {"box": (310.0, 320.0, 20.0, 40.0), "spacing": 2.5}
    latitude = np.radians(10.0 + 5.0 * (np.arange(NY) + 0.5))[:, None]
    u = np.radians(0.5) / 15.0 * SPHERE["radius"] * np.cos(latitude) * (np.arange(NX) < NX - 1)
    after, floats = drifters_after(u, 0 * u, 10, (box,), **options)
    np.testing.assert_allclose(after["lon"] - floats.start["lon"], 5.0, rtol=1e-12)
    np.testing.assert_array_equal(after["lat"], floats.start["lat"])


def test_drifters_that_leave_are_missing_from_then_on(tmp_path):
    fields = fields_at_rest() | {"eta": np.full((NY, NX), 10.0)}
    found, _ = run(tmp_path / "run", fields, (DRIFTERS_EVERYWHERE,), run__steps=40, **OPEN_BOUNDARY_OPTIONS)
    gone = np.isnan(found.x.values)
    assert 0 < gone[-1].sum() < gone.shape[1]
    assert (gone[1:] >= gone[:-1]).all()
    assert (found.x.values[-1][~gone[-1]] < (NX - 1) * DX).all()
    assert (found.x.values[0][gone[-1]] > (NX - 3) * DX).all()


@pytest.mark.parametrize(
    "given", [{"run__executor": "native"} | OPEN_BOUNDARY_OPTIONS, *night_params({"run__executor": "xla"})]
)
def test_tracks_within_loop_have_bits_of_single_steps(tmp_path, given):
    together, _ = run(tmp_path / "together", output__drifters_every_steps=4, **given)
    alone, _ = run(tmp_path / "alone", **given)
    for name in "xy":
        np.testing.assert_array_equal(together[name], alone[name][::4])


def test_drifter_file_is_a_cf_file_of_trajectories(tmp_path):
    found, _ = run(tmp_path / "run", fields_at_rest(), ((10e3, 12e3), (30e3, 21e3)), run__steps=1)
    assert found.featureType == "trajectory"
    assert found.trajectory.cf_role == "trajectory_id"
    assert found.x.shape == (2, 2)
    assert_satisfies_cf(tmp_path / "run" / "drifters.nc")


ON_LAND = [(place + 0.5) * size for place, size in zip(np.argwhere(FIELDS["mask"] == 0)[0], (DY, DX), strict=True)]
REFUSED = [
    ([[1e9, 0.0]], "outside the domain"),
    ([ON_LAND[::-1]], "on land; the nearest water"),
    ([{"at": (1e3, 1e3), "box": (0.0, 1e3, 0.0, 1e3), "spacing": 100.0}], "number 1: .*other positions"),
    ([{"box": (0.0, 1e3, 0.0, 1e3)}], "number 1: .*spacing"),
    ([{"box": (0.0, 4e4, 0.0, 4e4), "spacing": 50.0}], "more than 100000"),
    ([{"box": (0.0, 4e4, 0.0, 4e4), "spacing": 1e-3}], "too large"),
    ([{"lon": 1.0, "lat": 2.0}], "x and y"),
    ([{"box": (1e3, 0.0, 0.0, 1e3), "spacing": 10.0}], "rising order"),
    ([{"box": (0.0, 1e3, -1e4, -5e3), "spacing": 10.0}], "no water"),
]


def test_unusable_drifters_are_refused():
    for drifters, words in REFUSED:
        with pytest.raises(ConfigError, match=f"output.drifters: .*{words}"):
            swmodel.Simulation(config(drifters=drifters))
    for key in ("drifters_every", "drifters_every_steps"):
        with pytest.raises(ConfigError, match=f"output.{key}: "):
            swmodel.Simulation(config(drifters=(), **{"output__drifters_every_steps": None, f"output__{key}": 30}))
    for at in ("[1.0]", "[1.0, 2.0, 3.0]", "[nan, 1.0]", '"here"'):
        with pytest.raises(ConfigError, match="output.drifters"):
            swmodel.load("jet", {"output.drifters": f"[{at}]"}, environ={})


@pytest.mark.fault("drifters of a table in degrees on a plane, or in metres on a sphere")
def test_positions_in_file_are_those_of_the_grid(tmp_path):
    path = tmp_path / "floats.csv"
    path.write_text("y,speed,x\n20e3,1,30e3\n\n# one more\n5e3,2,10e3\n")
    model = swmodel.Simulation("jet", {"output.drifters": str(path), "run.executor": "reference", "run.steps": 1})
    model.run(tmp_path / "run")
    with netCDF4.Dataset(tmp_path / "run" / "drifters.nc") as found:
        np.testing.assert_allclose([found["x"][0], found["y"][0]], [[30e3, 10e3], [20e3, 5e3]], atol=1.0)
    path.write_text("lon,lat\n5,10\n")
    with pytest.raises(ConfigError, match="x and y"):
        swmodel.Simulation("jet", {"output.drifters": str(path)})
