"""Open sides: waves leave and come in, water is counted, and nothing happens at rest."""

import re

import numpy as np
import pytest
import xarray
from support.known_answers import order
from support.random_case import configuration, random_fields
from support.ranks import run_ranks
from support.stepping import after

import swmodel
from swmodel.cases.gulf_tide import PERIOD
from swmodel.config import ConfigError
from swmodel.config.build import build_grid, build_params, build_state, scheme_of
from swmodel.config.checks.remarks import relaxation
from swmodel.errors import NumericalError
from swmodel.executors.reference import Reference
from swmodel.model.health.verdict import Health
from swmodel.model.validate import check_config
from swmodel.ocean.coordinates import metrics
from swmodel.ocean.grid import as_patches
from swmodel.ocean.inflow import flow_through, inflow
from swmodel.ocean.patch import Patch
from swmodel.parallel.decomposition import block as block_of

G, H = 9.81, 100.0
C = np.sqrt(G * H)
LINEAR = {
    **{"physics__viscosity": 0.0, "physics__quadratic_drag": 0.0, "physics__f0": 0.0},
    **{"time__stepper": "rk4", "grid__periodic_x": False},
}


def stepped(ny, nx, fields, steps, **options):
    """h, u, v after so many steps of the reference."""
    fields = {"depth": np.full((ny, nx), H)} | fields
    return after("reference", configuration(ny, nx, fields, **LINEAR | options), steps)[:3]


def energy(h, u, v):
    """Of g eta²/2 + H (u² + v²)/2 in all cells."""
    return (0.5 * G * (h - H) ** 2 + 0.5 * H * (u**2 + v**2)).sum()


def left_of_a_pulse(nx, axis):
    """The part of the energy of a pulse that is left once it has gone through both sides."""
    spacing, length = 200e3 / nx, 200e3
    across = (np.arange(nx) + 0.5) * spacing
    pulse = np.broadcast_to(1e-5 * np.exp(-0.5 * ((across - length / 2) / 8e3) ** 2), (3, nx))
    ring = {"x": {"grid__periodic_y": True, "grid__periodic_x": False}, "y": {"grid__periodic_x": True}}[axis]
    sides = ("west", "east") if axis == "x" else ("south", "north")
    eta, shape = (pulse, (3, nx)) if axis == "x" else (pulse.T, (nx, 3))
    dt = 0.5 * spacing / C
    size = {"grid__dx": spacing, "grid__dy": spacing, "time__dt": dt, "open_sides__sides": sides}
    now = stepped(*shape, {"eta": eta}, round(0.8 * length / C / dt), **ring | size)
    return energy(*now) / (0.5 * G * (eta**2).sum())


@pytest.mark.parametrize("axis", ["x", "y"])
def test_a_pulse_leaves_to_fourth_order(axis):
    """Of energy; its width is 8 cells at the finer spacing: 6e-6 are left."""
    coarse, fine = left_of_a_pulse(100, axis), left_of_a_pulse(200, axis)
    assert fine < 7e-6
    assert order(coarse, fine) == pytest.approx(4, abs=0.15)


@pytest.mark.parametrize("degrees", [45, 60])
def test_oblique_waves_are_reflected_as_the_law_says(degrees):
    """(1 - cos)/(1 + cos) of their amplitude, but for what 16 cells in a wavelength resolve."""
    nx, ny, dx, length = 160, 8, 1e3, 16e3
    cos, sin = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    dy, dt, k = length / sin / ny, 0.5 * dx / C, 2 * np.pi / length

    def wave(x, y):
        return 1e-6 * np.exp(-0.5 * ((x - 70e3) / 18e3) ** 2) * np.cos(k * (cos * x + sin * y))

    x, y = (np.arange(nx)[None, :] + 0.5) * dx, (np.arange(ny)[:, None] + 0.5) * dy
    fields = {"u": G / C * cos * wave(x + dx / 2, y), "v": G / C * sin * wave(x, y + dy / 2), "eta": wave(x, y)}
    size = {"grid__dx": dx, "grid__dy": dy, "time__dt": dt, "grid__periodic_y": True}
    steps = round(1.7 * (nx * dx - 70e3) / (C * cos) / dt)
    h, *_ = stepped(ny, nx, fields, steps, open_sides__sides=("east",), **size)
    amplitude = np.sqrt(((h - H) ** 2).sum() / (fields["eta"] ** 2).sum())
    assert amplitude == pytest.approx((1 - cos) / (1 + cos), rel=0.1)


def test_a_kelvin_wave_comes_in_and_leaves():
    """With twice its level outside, at rest: against its formula after two periods, over its amplitude."""
    ny, nx, spacing, f = 6, 20, 30e3, 1e-4
    w, amplitude = 2 * np.pi / PERIOD, 1e-5
    y, x = (np.arange(ny)[:, None] + 0.5) * spacing, (np.arange(nx)[None, :] - 0.5) * spacing  # x from the open face
    fields = {"outside_m2_cosine": 2 * amplitude * np.exp(-y * f / C) * (x < 3 * spacing)}
    dt = 0.5 * spacing / C
    size = {"grid__dx": spacing, "grid__dy": spacing, "time__dt": dt, "physics__f0": f}
    steps = round(2 * PERIOD / dt)
    h, _, v = stepped(ny, nx, fields, steps, open_sides__sides=("west", "east"), **size)
    eta = amplitude * np.exp(-y * f / C) * np.cos(w * (x / C - steps * dt))
    assert np.abs((h - H - eta)[:, 1:-1]).max() < 0.01 * amplitude
    assert np.abs(v).max() < 0.01 * amplitude * G / C


def test_a_current_is_given_from_outside():
    """A uniform transport goes through two open sides as it is."""
    options = {"open_sides__transport_x": 3.0, "grid__periodic_y": True, "time__dt": 30.0}
    u = np.full((3, 12), 3.0 / H) * ~np.isin(np.arange(12), (0, 10, 11))
    now = stepped(3, 12, {"u": u}, 50, open_sides__sides=("west", "east"), **options)
    np.testing.assert_allclose(now[1], u, rtol=1e-12)
    np.testing.assert_allclose(now[0], H, rtol=1e-14)


@pytest.mark.parametrize("sphere", [False, True])
def test_what_flows_in_is_what_there_is_more(sphere):
    """The sum of dh/dt over the cells is the transport through the open faces, written here for each of them."""
    fields = random_fields(9, 11, amplitude=0.1)
    given = {"open_sides__level": 0.2, "open_sides__transport_x": 4.0, "open_sides__sides": ("west",)}
    config = configuration(9, 11, fields, sphere=sphere, grid__periodic_x=False, **given)
    model = Reference(config)
    state = model.start().state
    rate = model.tendency(state).h
    depth, wet = fields["depth"], fields["mask"] > 0
    eta = state.h - depth
    level = eta[:, 1] + 0.5 * wet[:, 2] * (eta[:, 1] - eta[:, 2])
    inflow = 4.0 + np.sqrt(9.81 * (depth[:, 0] + depth[:, 1]) / 2) * (0.2 - level)
    sizes = metrics(config.grid, range(9))
    faces = inflow * sizes["dy"].u[:, 0] * (wet[:, 0] & wet[:, 1])
    volume = (rate * sizes["area"].centre).sum()
    assert volume == pytest.approx(faces.sum(), rel=1e-12)


def test_at_rest_nothing_happens():
    """Over rough ground, with islands and the sea level that is given outside."""
    fields = random_fields(9, 11) | {"eta": np.full((9, 11), 0.3), "u": np.zeros((9, 11)), "v": np.zeros((9, 11))}
    fields = {name: fields[name] for name in ("depth", "mask", "eta", "u", "v")}
    sides = {"open_sides__sides": ("west", "east", "south", "north"), "open_sides__level": 0.3}
    config = configuration(9, 11, fields, grid__periodic_x=False, physics__f0=1e-4, **sides)
    h, u, v = after("reference", config, 200)[:3]
    assert max(np.abs(u).max(), np.abs(v).max()) < 1e-13


def test_under_air_that_differs_from_place_to_place_nothing_happens_either():
    """Over rough ground, with islands: sea level is as by a barometer on both sides, with a sponge and without."""
    pressure = 101325.0 + 800 * np.random.default_rng(3).standard_normal((9, 11))
    eta = 0.3 - (pressure - 101325.0) / (1025.0 * G)
    fields = {name: values for name, values in random_fields(9, 11).items() if name in ("depth", "mask")}
    fields |= {"air_pressure": pressure, "eta": eta}
    sides = {"open_sides__sides": ("west", "east", "south", "north"), "open_sides__level": 0.3}
    for sponge in ({}, {"sponge__rate": 1e-3, "sponge__width": 1e4}):
        config = configuration(9, 11, fields, grid__periodic_x=False, **sides, **sponge)
        h, u, v = after("reference", config, 200)[:3]
        assert max(np.abs(u).max(), np.abs(v).max()) < 1e-13


def after_a_storm(speed, pressure):
    """Sea level over that of a barometer with a moving storm, where a low has come in through a side by a half.

    Largest difference over the height of the storm's sea level; it is 1/(1 - speed²/gH) of a barometer's inside.
    """
    nx, dx, width, low, deep = 40, 15e3, 80e3, -3000.0, 1000.0

    class Storm(swmodel.Case):
        def air_pressure(self, config, at, t):
            away = (at.x + 3.5 * width - speed * t) / width
            return 101325.0 + low * np.exp(-0.5 * away**2)

    options = {
        **{"grid.nx": nx, "grid.ny": 3, "grid.dx": dx, "grid.dy": dx, "grid.periodic_x": False},
        **{"grid.periodic_y": True, "physics.depth": deep, "time.stepper": "rk4", "time.dt": 100.0},
        **{"open_sides.sides": ["west", "east"], "open_sides.pressure": pressure, "forcing.every": 600.0},
        **{"run.steps": round(4 * width / speed / 100.0), "run.executor": "reference", "run.dtype": "float64"},
    }
    simulation = swmodel.Simulation(swmodel.load(Storm, options, environ={}))
    simulation.advance(simulation.config.run.steps)
    x = (np.arange(nx) + 0.5) * dx
    away = (x + 3.5 * width - speed * simulation.time) / width
    height = -low / (1025.0 * G)
    expected = height * np.exp(-0.5 * away**2) / (1 - speed**2 / (G * deep))
    return np.abs(simulation.field("eta")[1] - expected)[1:-1].max() / height


def test_a_storm_that_crosses_a_side_pumps_no_water():
    """But for F/(1 - F)/2 of its height, F = speed/sqrt(gH), as the current under it is not given outside."""
    for speed in (10.0, 20.0):
        froude = speed / np.sqrt(G * 1000.0)
        assert after_a_storm(speed, 101325.0) == pytest.approx(froude / (1 - froude) / 2, rel=0.05)
    assert after_a_storm(20.0, "none") > 0.4


def test_health_takes_the_larger_of_the_records_that_levels_outside_lie_between():
    """They rise from zero, and are highest between two looks: no alarm; what comes in is bounded by the highest."""
    levels = np.zeros((6, 4, 20)) + np.array([0.0, 1.5, 0.2, -3.0, 0.1, 0.0])[:, None, None]
    options = {"grid__periodic_x": False, "open_sides__sides": ("west",), "run__steps": 60, "forcing__every": 200.0}
    fields = {"depth": np.full((4, 20), 20.0), "outside_level": levels}
    rising = configuration(4, 20, fields, run__executor="reference", **options)
    simulation = swmodel.Simulation(rising)
    health = Health(simulation)
    for steps, highest in ((0, 1.5), (8, 1.5), (14, 3.0), (15, 3.0), (8, 3.0)):
        simulation.take_steps(steps)
        health.check()
        steady = configuration(4, 20, {"depth": fields["depth"]}, open_sides__level=highest, **options)
        assert health.power == pytest.approx(Health(swmodel.Simulation(steady)).power, rel=1e-12)
        coming_in = 0.25 * G * np.sqrt(G * 20.0) * highest**2 * 4 * steady.grid.dy
        assert health.power * health.area == pytest.approx(coming_in, rel=1e-6)
    assert np.abs(simulation.field("eta")).max() > 0.2
    simulation.set(u=30.0)
    with pytest.raises(NumericalError, match="times what the run can have"):
        health.check()


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (
            {"grid.periodic_x": True, "open_sides.sides": ["west"]},
            "open_sides.sides: there is no west side where grid.periodic_x is true",
        ),
        ({"open_sides.level": 0.1}, "open_sides.level: has no effect without open_sides.sides"),
        ({"open_sides.m2_amplitude": 0.1}, "open_sides.m2_amplitude: has no effect without open_sides.sides"),
        ({"open_sides.sides": ["south", "south"]}, "open_sides.sides: south, south: each is named once"),
        ({"open_sides.sides": ["south"], "open_sides.k1_phase": 9.0}, "open_sides.k1_phase: has no effect where"),
        (
            {"open_sides.sides": ["south"], "open_sides.m4_amplitude": 0.1, "time.dt": "4 h"},
            "open_sides: M4 has a period of 22357.1 s, which must be above two time steps",
        ),
        (
            {
                "open_sides.sides": ["south"],
                "open_sides.m2_amplitude": 0.1,
                "open_sides.nodal": False,
                "tide.constituents": ["M2"],
                "time.start": "2012-03-01",
            },
            "open_sides.nodal: the tides outside and inside have the same Moon",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused(options, problem):
    with pytest.raises(ConfigError, match=re.escape(problem)):
        check_config(swmodel.load("rest", {"time.dt": 20.0, **options}, {}))


def test_a_side_on_land_and_a_field_that_does_not_cover_the_side_are_refused():
    fields = {"mask": np.ones((5, 6)), "outside_level": np.zeros((5, 6))}
    fields["mask"][:, 0] = 0
    fields["outside_level"][[1, 3, 4], 5] = np.nan
    options = {"grid__periodic_x": False, "open_sides__sides": ("west", "east")}
    with pytest.raises(ConfigError) as raised:
        check_config(configuration(5, 6, fields, **options))
    assert "there is no water along the west side" in str(raised.value)
    assert "outside_level: has no value at rows 1 and 3 to 4 of the east side" in str(raised.value)
    for column in (4, 5):  # a mask without one of the two cells is the remedy
        mask = np.ones((5, 6))
        mask[[1, 3, 4], column] = 0
        check_config(configuration(5, 6, fields | {"mask": mask}, **options | {"open_sides__sides": ("east",)}))


def test_what_is_outside_need_not_be_known_at_a_corner_of_two_open_sides():
    """Through which nothing comes in; steady and in records in time."""
    level = np.zeros((2, 5, 6))
    level[:, [0, 0, -1, -1], [0, -1, 0, -1]] = np.nan
    options = {"grid__periodic_x": False, "open_sides__sides": ("west", "east", "south", "north")}
    for given in (level[0], level):
        model = swmodel.Simulation(configuration(5, 6, {"outside_level": given}, run__executor="reference", **options))
        model.advance(1)
        assert np.isfinite(model.field("eta")).all()
        check_config(model.config)


def test_air_pressure_that_is_counted_from_elsewhere_is_refused():
    """As a departure from the mean, or in hPa; it is not where that is said."""
    fields = {"air_pressure": np.full((5, 6), 300.0)}
    options = {"grid__periodic_x": False, "open_sides__sides": ("west",)}
    with pytest.raises(ConfigError, match=r"air_pressure is 300 Pa at row 0 of the west side, 10 m of water off"):
        check_config(configuration(5, 6, fields, **options))
    for pressure in (0.0, None):
        check_config(configuration(5, 6, fields, open_sides__pressure=pressure, **options))


def test_health_knows_what_comes_in(tmp_path):
    """A tide of two metres fills a basin at rest without an alarm; an instability is still noticed."""
    options = {
        **{"grid.periodic_x": False, "grid.nx": 30, "grid.ny": 4, "physics.depth": 20.0, "run.executor": "reference"},
        **{"open_sides.sides": ["west"], "open_sides.m2_amplitude": 2.0, "run.days": 1.0, "run.check_every_steps": 5},
    }
    simulation = swmodel.Simulation(swmodel.load("rest", options, environ={}))
    simulation.run(tmp_path / "tide")
    assert np.abs(simulation.field("eta")).max() > 1.0
    health = Health(simulation)
    simulation.set(u=30.0)
    with pytest.raises(NumericalError, match="times what the run can have"):
        health.check()


def test_health_knows_what_a_sponge_brings_of_the_water_outside():
    """One that raises all of a basin by two metres gives no more than the bound; without it there would be an alarm."""
    options = {
        **{"grid.periodic_x": False, "grid.nx": 60, "grid.ny": 4, "grid.dx": 1e4, "grid.dy": 1e4, "time.dt": 100.0},
        **{"physics.depth": 20.0, "open_sides.sides": ["west"], "open_sides.level": 2.0, "run.executor": "reference"},
        **{"sponge.sides": ["west"], "sponge.rate": 2e-3, "sponge.width": 1e8, "run.dtype": "float64"},
    }
    simulation = swmodel.Simulation(swmodel.load("rest", options, environ={}))
    health, unaware = Health(simulation), Health(simulation)
    alone = swmodel.load("rest", options | {"sponge.rate": 0.0}, environ={})
    unaware.power = Health(swmodel.Simulation(alone)).power
    for _ in range(12):
        before = health.last.energy
        simulation.take_steps(2)
        health.check()
        assert health.last.energy <= 1.001 * (before + 200.0 * health.power) + health.rest**2
    assert simulation.field("eta")[:, 1:].min() > 1.5
    with pytest.raises(NumericalError, match="times what the run can have"):
        unaware.check()
    simulation.set(u=30.0)
    with pytest.raises(NumericalError, match="times what the run can have"):
        health.check()


def test_what_a_sponge_relaxes_to_is_given_in_most_of_it():
    """Of four columns of cells inside; where it is not, it relaxes to zero, which is said."""
    options = {"grid__periodic_x": False, "open_sides__sides": ("west",), "grid__periodic_y": True}
    wide = {"sponge__rate": 1e-4, "sponge__width": 2e4, "sponge__sides": ("west",)}
    for columns, refused, missing in ((2, True, 15), (4, False, 5), (5, False, 0)):
        fields = {"outside_level": np.full((5, 12), np.nan)}
        fields["outside_level"][:, :columns] = 0.1
        check_config(configuration(5, 12, fields, **options))
        config = configuration(5, 12, fields, **options, **wide)
        words = f"outside_level: has no value at {missing} of the 20 cells of the sponge, which relaxes to"
        if refused:
            with pytest.raises(ConfigError, match=f"{words} it"):
                check_config(config)
        else:
            check_config(config)
        assert list(relaxation(config)) == ([f"input.{words} zero there"] if missing else [])


FLAT = {"depth": lambda at: 50.0 + 0 * at.lat, "mask": lambda at: 1.0 + 0 * at.lat, "eta": lambda at: 0 * at.lat}


def test_a_run_lies_within_another_one(tmp_path):
    """One way: it has sea level and current at its sides from the file of the other, and the same wave passes."""
    kind = {"kind": "latlon", "dlon": 0.05, "dlat": 0.05, "rotation": 0.0, "periodic_x": False}
    common = {"time.stepper": "rk3", "time.dt": 60.0, "run.executor": "reference", "run.dtype": "float64"}
    outer = {f"grid.{key}": value for key, value in (kind | {"west": 0.0, "south": -0.2, "nx": 80, "ny": 8}).items()}
    inner = {f"grid.{key}": value for key, value in (kind | {"west": 1.5, "south": -0.2, "nx": 40, "ny": 8}).items()}
    files = {"output.every_steps": 6, "run.steps": 108, "time.start": "2000-01-01"}

    def pulse(at):
        return 1e-3 * np.exp(-0.5 * ((at.lon - 0.8) / 0.2) ** 2) + 0 * at.lat

    whole = swmodel.Simulation(swmodel.load("rest", outer | common | files, environ={}), fields=FLAT | {"eta": pulse})
    whole.run(tmp_path / "outer")
    path = f"{tmp_path}/outer/output.nc"
    given = {"input.outside_level": f"{path}:eta", "input.outside_current_x": f"{path}:u"}
    options = inner | common | given | {"open_sides.sides": ["west", "east"], "time.start": "2000-01-01"}
    part = swmodel.Simulation(swmodel.load("rest", options | {"run.steps": 108}, environ={}), fields=FLAT)
    part.advance(102)
    with xarray.open_dataset(path) as data:
        there = data["eta"][17].values[:, 30:70]
    assert np.abs(there).max() > 2e-4
    assert np.abs(part.field("eta") - there)[:, 1:-1].max() < 0.03 * np.abs(there).max()


#: Water comes in through all sides, between islands, in steps of Adams and Bashforth.
BASIN = {
    **{"grid__periodic_x": False, "grid__periodic_y": False, "time__stepper": "ab2", "physics__f0": 1e-4},
    **{"open_sides__sides": ("west", "east", "south", "north"), "open_sides__m2_amplitude": 0.4},
    **{"open_sides__transport_x": 3.0, "open_sides__current_y": 0.05, "run__executor": "reference"},
}


def test_the_volume_changes_by_what_the_series_say_came_in():
    """Times the weights of the time stepper; and by that each face has the current that the fields say."""
    fields = random_fields(9, 11, amplitude=0.1)
    model = swmodel.Simulation(configuration(9, 11, fields, **BASIN))
    density, epsilon, before = model.config.physics.density, model.config.time.ab2_epsilon, 0.0
    for step in range(4):
        numbers = model.diagnostics()
        inflow = sum(numbers[f"inflow_{side}"] for side in BASIN["open_sides__sides"])
        weights = (1.5 + epsilon, -0.5 - epsilon) if step else (1.0, 0.0)
        model.advance(1)
        gained = (model.diagnostics()["mass"] - numbers["mass"]) / density
        expected = model.dt * (weights[0] * inflow + weights[1] * before)
        assert abs(expected) > 1e5
        assert gained == pytest.approx(expected, abs=1e-14 * numbers["mass"] / density)
        before = inflow
    eta, u, wet = model.field("eta"), model.field("u"), fields["mask"] > 0
    depth = 0.5 * (fields["depth"][:, 0] + fields["depth"][:, 1])
    inner = (np.arange(9) > 0) & (np.arange(9) < 8)
    level = eta[:, 1] + 0.5 * wet[:, 2] * (eta[:, 1] - eta[:, 2])
    through = model.config.grid.dy * (u[:, 0] * (depth + level))[inner & wet[:, 0] & wet[:, 1]]
    assert model.diagnostics()["inflow_west"] == pytest.approx(through.sum(), rel=1e-12)


@pytest.mark.parametrize("executor", ["reference", "native"])
def test_where_water_comes_in_it_is_as_fast_as_inside(executor):
    """A uniform transport: speed and its mean are the same in all cells inside, and it comes in and leaves."""
    options = {"open_sides__transport_x": 3.0, "grid__periodic_y": True, "run__executor": executor}
    fields = {"depth": np.full((4, 12), H), "u": np.full((4, 12), 3.0 / H) * ~np.isin(np.arange(12), (0, 10, 11))}
    config = configuration(4, 12, fields, open_sides__sides=("west", "east"), **LINEAR | options)
    model = swmodel.Simulation(config)
    means = model.means(["speed", "u"])
    for _ in range(3):
        model.advance(1)
        means.add(model.carry.state)
    numbers, inflow = model.diagnostics(), 3.0 * 4 * config.grid.dy
    assert numbers["inflow_west"] == pytest.approx(inflow, rel=1e-12)
    assert numbers["inflow_east"] == pytest.approx(-inflow, rel=1e-12)
    assert numbers["max_speed"] == pytest.approx(3.0 / H, rel=1e-12)
    for fields in (model.fields(["speed", "u"]), means.values()):
        np.testing.assert_allclose(fields["speed"][:, 1:-1], 3.0 / H, rtol=1e-12)
        np.testing.assert_allclose(fields["u"][:, :-1], 3.0 / H, rtol=1e-12)


@pytest.mark.parametrize("executor", ["reference", "native"])
def test_gauges_and_largest_speeds_know_what_comes_in(tmp_path, executor):
    """A gauge on a face has its current, one between two faces the mean of both, by where it is."""
    (dx, dy), steps = (4e3, 5e3), 4
    places = {"west": (dx, 3.5 * dy), "between": (1.25 * dx, 3.5 * dy), "south": (5.5 * dx, dy)}
    wanted = {
        **{"output__stations": tuple({"name": name, "x": x, "y": y} for name, (x, y) in places.items())},
        **{"output__fields": ("u", "v", "speed"), "output__maxima": ("speed",), "output__every_steps": 1},
        **{"run__steps": steps, "run__executor": executor},
    }
    fields = random_fields(9, 11, land=0.0, amplitude=0.1)
    swmodel.Simulation(configuration(9, 11, fields, **BASIN | wanted)).run(tmp_path)
    with xarray.open_dataset(tmp_path / "output.nc") as found, xarray.open_dataset(tmp_path / "stations.nc") as series:
        u, v, largest = found.u.values, found.v.values, np.fmax.accumulate(found.speed.values)
        assert np.abs(u[:, 3, 0]).min() > 1e-3 < np.abs(v[:, 0, 5]).min()
        expected = np.stack([u[:, 3, 0], 0.75 * u[:, 3, 0] + 0.25 * u[:, 3, 1]], axis=1)
        np.testing.assert_allclose(series.u[:, :2], expected, rtol=1e-12)
        np.testing.assert_allclose(series.v[:, 2], v[:, 0, 5], rtol=1e-12)
        np.testing.assert_allclose(found.speed_max, largest, rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_comes_in_has_the_same_bits_on_any_layout(dtype):
    config = configuration(9, 11, random_fields(9, 11), run__dtype=dtype, **BASIN)
    width = scheme_of(config).width
    state = build_state(config, block_of(0, (1, 1), 9, 11), np.dtype(dtype))

    def inflows(transport):
        block = transport.block
        rows, columns = (np.arange(span.start - width, span.stop + width) % span.size for span in (block.y, block.x))
        padded = state._make(Patch(field[np.ix_(rows, columns)], (-width, -width)) for field in state)
        grid, params = (as_patches(make(config, block, np.dtype(dtype)), width) for make in (build_grid, build_params))
        flow = flow_through(padded, grid, params, scheme_of(config), np.full((1, 1), 1000, np.int32))
        return inflow([flow], config.open_sides.sides, transport)

    (alone,) = run_ranks(inflows, (1, 1), 9, 11)
    assert all(alone.values())
    assert run_ranks(inflows, (2, 3), 9, 11) == [alone] * 6


def test_a_tide_given_with_its_transport_comes_in_as_it_is():
    """A progressive wave, whose level and transport U = c eta an atlas has, and not the wave that comes in alone."""
    ny, nx, spacing = 3, 30, 20e3
    w, amplitude = 2 * np.pi / PERIOD, 1e-5
    x = (np.arange(nx) - 0.5)[None, :] * spacing + np.zeros((ny, 1))  # of centres, from the open face

    def parts(size, place):
        lag = w * place / C
        return size * np.cos(lag), size * np.sin(lag)

    names = [f"outside_m2_{what}{part}" for what in ("", "transport_x_") for part in ("cosine", "sine")]
    given = dict(zip(names, (*parts(amplitude, x), *parts(amplitude * C, x + spacing / 2)), strict=True))
    start = {"eta": given["outside_m2_cosine"], "u": given["outside_m2_transport_x_cosine"] / H}
    size = {"grid__dx": spacing, "grid__dy": spacing, "time__dt": 0.5 * spacing / C, "grid__periodic_y": True}
    steps = round(1.6 * PERIOD / size["time__dt"])
    sides = {"open_sides__sides": ("west", "east")}
    eta = amplitude * np.cos(w * (x / C - steps * size["time__dt"]))
    h, *_ = stepped(ny, nx, given | start, steps, **sides, **size)
    assert np.abs((h - H - eta)[:, 1:-1]).max() < 0.002 * amplitude
    level_alone = {name: values for name, values in given.items() if "transport" not in name}
    h, *_ = stepped(ny, nx, level_alone | start, steps, **sides, **size)
    assert np.abs((h - H - eta)[:, 1:-1]).max() > 0.1 * amplitude
