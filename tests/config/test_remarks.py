"""What is said of a configuration that is right but may not be meant: where it holds only; what is offered works."""

import re

import netCDF4
import numpy as np
import pytest
from click.testing import CliRunner

from swmodel import load
from swmodel.cases import names
from swmodel.cli import main
from swmodel.config import to_toml
from swmodel.config.loading.load import gather
from swmodel.config.remarks import apart, components, dividing, domain, record_times, remarks, unsent
from swmodel.model.resolve import resolve


def said(source, overrides=(), environ=None):
    return list(domain(gather(source, overrides, environ or {})))


def size(source, overrides=(), environ=None):
    grid = load(source, overrides, environ or {}).grid
    return grid.nx * grid.dx, grid.ny * grid.dy


@pytest.mark.fault("an override changes the size of the domain; sizes of domain and cell contradict each other")
@pytest.mark.parametrize(
    ("overrides", "lines", "repaired"),
    [
        (
            ["grid.nx=72", "grid.ny=36"],
            [
                "grid.nx=72 makes the domain 360 km wide instead of 1800 km; grid.lx=1800000 keeps it",
                "grid.ny=36 makes the domain 180 km high instead of 900 km; grid.ly=900000 keeps it",
            ],
            ["grid.nx=72", "grid.ny=36", "grid.lx=1800000", "grid.ly=900000"],
        ),
        (
            ["grid.dy=2000"],
            ["grid.dy=2000 makes the domain 360 km high instead of 900 km; grid.ny=450 keeps it"],
            ["grid.dy=2000", "grid.ny=450"],
        ),
        (
            ["grid.dx=7e3"],
            ["grid.dx=7000 makes the domain 2520 km wide instead of 1800 km; grid.lx=1800000 in its place keeps it"],
            ["grid.lx=1800000"],
        ),
        (["grid.nx=360"], [], []),
        (["grid.nx=72", "grid.dx=1e3"], [], ["grid.nx=360"]),
        (["grid.lx=1e6"], [], []),
    ],
)
def test_a_domain_that_changes_its_size_is_said_with_what_keeps_it(overrides, lines, repaired):
    """Nothing is said of one that was given a size."""
    assert said("jet", overrides) == lines
    assert said("jet", repaired) == []
    assert size("jet", repaired) == size("jet")


def test_a_complete_file_is_what_is_meant_and_what_overrides_a_part_of_it_is_said(tmp_path):
    file = tmp_path / "my.toml"
    file.write_text(to_toml(load("jet", ["grid.nx=72"], {})))
    assert said(file) == []
    (line,) = said(file, environ={"SWMODEL_GRID_NX": "36"})
    assert line.startswith("grid.nx=36 makes the domain 180 km wide instead of 360 km;")
    assert said(file, ["grid.lx=5e5"], {"SWMODEL_GRID_NX": "36"}) == []
    assert said(file, ["grid.nx=72"], {"SWMODEL_GRID_NX": "many"}) == []  # a wrong value that is replaced
    file.write_text("[grid]\nnx = 72\nlx = 1e6\n")
    assert said(file, ["grid.nx=100"]) == []
    file.write_text("[grid]\nnx = 72\n")
    assert said(file)[0].startswith("grid.nx=72 makes")


#: Keys of [grid].
SPHERE = {"kind": "latlon", "west": 0.0, "east": 9.0, "south": 0.0, "north": 6.0}


@pytest.mark.fault("a Coriolis parameter of a plane is given on a sphere")
def test_a_coriolis_parameter_in_place_of_the_rotation_of_a_sphere_is_said():
    sphere = {f"grid.{key}": value for key, value in SPHERE.items()}

    def found(**physics):
        overrides = sphere | {f"physics.{key}": value for key, value in physics.items()}
        return remarks(resolve(load("rest", overrides, {})), gather("rest", overrides, {}), records=False)

    assert found() == []  # that of the case is of its plane
    assert load("rest", sphere, {}).physics.f0 == 0
    (line,) = found(f0=1e-4)
    assert line.startswith("physics.f0 = 0.0001 replaces the rotation of the sphere; physics.f0=0")


@pytest.mark.fault("a Coriolis parameter of a plane is given on a sphere")
def test_a_coriolis_parameter_of_a_file_stays_unless_the_file_is_for_a_plane(tmp_path):
    file, physics = tmp_path / "my.toml", {"f0": 2e-4, "beta": 1e-11}

    def coriolis(grid, overrides):
        tables = {"case": {"name": "rest"}, "physics": physics, "grid": grid}
        file.write_text(
            "".join(f"[{name}]\n" + "".join(f"{k} = {v!r}\n" for k, v in t.items()) for name, t in tables.items())
        )
        config = load(file, overrides, {})
        return config.physics.f0, config.physics.beta

    assert coriolis(SPHERE, {}) == coriolis(SPHERE, {"grid.kind": "latlon"}) == coriolis({}, {}) == (2e-4, 1e-11)
    assert coriolis({}, {f"grid.{key}": value for key, value in SPHERE.items()}) == (0.0, 0.0)


def test_a_wind_of_one_component_is_said():
    one, both = ({f"input.wind_{name}": f"winds.nc:{name}" for name in names} for names in ("x", "xy"))
    lines = ["input.wind_x is given and input.wind_y is not: that component is 0 everywhere"]
    assert list(components(load("rest", one, environ={}))) == lines
    assert list(components(load("rest", both, environ={}))) == []
    assert list(components(load("double_gyre", {}, environ={}))) == []


@pytest.mark.parametrize(
    ("inside", "outer", "said"),
    [
        (["M2", "K1"], ["K1", "M2"], []),
        (["M2"], ["K1"], ["tide.constituents: nothing of M2", "open_sides.constituents: K1 enters"]),
        (["M2", "S2"], [], ["tide.constituents: nothing of M2, S2"]),
        (["M2", "SSA"], ["M2", "M4"], []),  # SSA cannot be outside, and M4 has no potential
        ([], ["M2"], []),
    ],
)
def test_a_constituent_only_inside_or_only_outside_open_sides_is_said(inside, outer, said):
    """Unless the run has no potential of a tide, as a small sea."""
    tides = {"tide.constituents": inside, "open_sides.constituents": outer, "open_sides.amplitude": [0.1] * len(outer)}
    config = load("sea", tides | {"open_sides.sides": ["south"], "time.start": "2012-03-01"}, environ={})
    found = list(apart(config))
    assert [line.startswith(words) for line, words in zip(found, said, strict=True)] == [True] * len(said)
    assert list(apart(load("sea", tides, environ={}))) == []


@pytest.mark.night
@pytest.mark.parametrize("name", names())
def test_records_of_every_case_lie_on_its_time_steps(name):
    config = resolve(load(name, environ={}))
    assert list(record_times(config)) == []
    if load(name, environ={}).time.dt is None and config.output.every is not None:
        number = config.output.every / config.time.dt
        assert abs(number - round(number)) <= 1e-15 * number


@pytest.mark.parametrize(("every", "dt"), [(86400.0, 19.9547), (2592000.0, 358.85), (10.0, 11.0), (5e8, 0.3)])
def test_the_time_step_that_is_offered_divides_the_interval_in_every_bit_and_is_not_longer(every, dt):
    step, number = dividing(every, dt, 1000)
    assert dt / 1.11 < step <= dt or number <= 20
    assert all((k * number) * step == k * every for k in range(1, 1001))


@pytest.mark.fault("an output interval below a time step, or that no time step divides")
def test_the_offered_time_step_puts_the_records_at_their_times(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    line = "run jet -s time.dt=18 -s grid.nx=24 -s grid.ny=12 -s output.every=10min -s output.fields=h"
    line += " --executor reference"

    def run(*more):
        done = CliRunner().invoke(main, [*line.split(), "--days", str(1 / 48), "--force", *more])
        assert done.exit_code == 0, done.output
        with netCDF4.Dataset("outputs/jet/output.nc") as data:
            return data["time"][:].tolist(), done.stderr

    times, told = run()
    assert (np.remainder(times[1:], 600) > 0.1).any()
    (step,) = re.findall(r"does not divide output.every = 600 s: .*; (time\.dt=[\d.]+) divides it", told)
    assert told.count("makes the domain") == 2
    times, told = run("-s", step)
    assert times == [0.0, 600.0, 1200.0, 1800.0]
    assert "does not divide" not in told
    assert run("--quiet")[1] == ""


def test_what_sends_messages_is_said_to_have_no_effect_unless_it_has():
    def found(**run):
        return [*unsent(resolve(load("rest", {f"run.{key}": value for key, value in run.items()}, environ={})))]

    for run in ({}, {"transport": "sharded", "devices": 2}, {"nproc": 2, "transport": "sharded"}):
        assert found(**run) == []
        (line,) = found(**run, exchange="ffi")
        assert line.startswith('run.exchange="ffi" has no effect')
    assert found(nproc=2, exchange="ffi") == found(nproc=2) == []
