"""Where the values of a configuration come from, which of them holds, and that its text gives it back."""

import math
import subprocess
import sys
import tomllib

import pytest

from swmodel import cases, load
from swmodel.config import ConfigError, config_hash, to_toml
from swmodel.config.loading.toml import template
from swmodel.config.options.model import Config, Grid
from swmodel.model.resolve import fastest_executor, for_processes, resolve
from swmodel.setup.checks.extremes import survey
from swmodel.setup.checks.stability import dt_from_state
from swmodel.setup.setup import setup_of

#: Four degrees of latitude.
SPHERE = {
    "grid.kind": "latlon", "grid.south": 0.0, "grid.north": 4.0, "grid.dlat": 0.1, "grid.periodic_x": False,
}  # fmt: skip


@pytest.fixture
def file(tmp_path):
    """write(text): the path of a TOML file."""

    def write(text):
        path = tmp_path / "my.toml"
        path.write_text(text)
        return path

    return write


def test_later_sources_replace_earlier_ones(file):
    """defaults < case < file < environment < overrides."""
    source = file('[case]\nname = "jet"\n[physics]\nbeta = 3e-11\n')
    environ, overrides = {"SWMODEL_PHYSICS_BETA": "4e-11"}, {"physics.beta": 5e-11}
    configs = [Config(), load("jet", environ={}), load(source, environ={}), load(source, environ=environ)]
    configs.append(load(source, overrides, environ))
    assert [config.physics.beta for config in configs] == [0.0, 2e-11, 3e-11, 4e-11, 5e-11]


def test_a_file_names_its_case_and_without_one_it_is_the_jet(file):
    config = load(file('[case]\nname = "inertial"\nspeed = 7\n'), environ={})
    assert (config.case.name, config.case.speed) == ("inertial", 7.0)
    assert load(file("[grid]\nnx = 10\n"), environ={}) == load("jet", {"grid.nx": 10}, {})


def test_the_environment_of_the_process_counts(monkeypatch):
    monkeypatch.setenv("SWMODEL_GRID_NX", "17")
    assert load("jet").grid.nx == 17


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("grid.nx=1e3", 1000),
        ("grid.dx = 2.5e3", 2500.0),
        ("grid.periodic_x=False", False),
        ("grid.origin=middle", "middle"),
        ('grid.origin="middle"', "middle"),
        ("run.layout=2x3", "2x3"),
        ("run.layout=", ""),
        ("output.fields=h,u", ("h", "u")),
        ('output.fields=["h", "u"]', ("h", "u")),
        ("output.fields=", ()),
        ('output.every="1.5 days"', 129600.0),
        ("output.every=10min", 600.0),
        ("output.every=none", None),
        ("time.dt=.5 s", 0.5),
    ],
)
def test_values_of_overrides_are_toml_or_bare_words(text, value):
    section, key = text.split("=")[0].strip().split(".")
    assert getattr(getattr(load("jet", [text], {}), section), key) == value
    variable = f"SWMODEL_{section.upper()}_{key.upper()}"
    assert load("jet", environ={variable: text.split("=", 1)[1].strip()}) == load("jet", [text], {})


def test_file_names_start_from_the_folder_of_the_file_that_gives_them(file, tmp_path, monkeypatch):
    monkeypatch.chdir("/")
    config = load(file('[input]\ndepth = "deep.nc:z"\nmask = "/data/mask.nc"\n'), ["input.eta=2020"], {})
    assert (config.input.depth, config.input.mask) == (f"{tmp_path}/deep.nc:z", "/data/mask.nc")
    assert config.input.eta == "/2020"


@pytest.mark.parametrize(
    ("section", "first", "low", "second", "high"),
    [("run", "days", 2.0, "steps", 10), ("time", "dt", 5.0, "cfl", 0.2), ("output", "every", 60.0, "every_steps", 4)],
)
def test_one_of_two_alternatives_given_later_removes_the_other(file, section, first, low, second, high):
    for one, value, other, later in ((first, low, second, high), (second, high, first, low)):
        source = file(f"[{section}]\n{one} = {value}\n")
        assert getattr(getattr(load(source, environ={}), section), one) == value
        config = getattr(load(source, {f"{section}.{other}": later}, {}), section)
        assert getattr(config, other) == later
        assert getattr(config, one) is None


def test_the_size_of_the_domain_gives_that_of_its_cells_whichever_source_has_their_number(file):
    source = file("[grid]\nlx = 1e6\nnx = 70\n")
    grid = load(source, environ={}).grid
    assert (grid.nx, grid.dx, grid.dy, grid.lx) == (70, 1e6 / 70, 5e3, None)
    assert load(source, ["grid.nx=30"], {}).grid.dx == 1e6 / 30
    assert Config(grid=Grid(nx=70, lx=1e6)).grid.dx == 1e6 / 70
    text = to_toml(load(source, environ={}))
    assert "lx" not in text
    assert load(file(text), environ={}) == load("jet", {"grid.nx": 70, "grid.dx": 1e6 / 70}, {})


@pytest.mark.parametrize(("first", "second", "dx"), [("dx=10", "lx=1e6", 1e6 / 360), ("lx=10", "dx=7", 7.0)])
def test_the_later_of_the_size_of_the_domain_and_that_of_a_cell_counts(file, first, second, dx):
    source, (key, number) = file(f"[grid]\n{first}\n"), second.split("=")
    assert load(source, [f"grid.{second}"], {}).grid.dx == dx
    assert load(source, environ={f"SWMODEL_GRID_{key.upper()}": number}).grid.dx == dx
    assert load("jet", [f"grid.{second}"], {f"SWMODEL_GRID_{first[:2].upper()}": first[3:]}).grid.dx == dx


@pytest.mark.fault("an override changes the size of the domain; sizes of domain and cell contradict each other")
def test_one_source_may_give_the_size_of_the_domain_and_of_a_cell_if_they_agree(file):
    both = "[grid]\nny = 30\ndy = 0.1\nly = "
    assert load(file(f"{both}3.0000000000000001\n"), environ={}).grid.dy == 0.1
    wrong = r"my\.toml:4: grid\.ly: 3\.001 m are not ny dy = 30 x 0\.1 m; leave out ly or dy"
    with pytest.raises(ConfigError, match=wrong):
        load(file(f"{both}3.001\n"), environ={})


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        ([], ("sharded", 2, 2, "2x2")),
        (["run.nproc=2"], ("sharded", 2, 2, "2x2")),
        (["run.nproc=1"], ("sharded", 1, 2, "2x1")),
        (["run.nproc=1", "run.devices=4"], ("sharded", 1, 4, "4x1")),
        (["run.nproc=1", "run.devices=4", "run.layout=1x4"], ("sharded", 1, 4, "1x4")),
        (["run.devices=1"], ("mpi", 2, 1, "2x1")),
        (["run.transport=mpi", "run.nproc=4"], ("mpi", 4, 1, "4x1")),
        (["run.transport=serial", "run.nproc=1"], ("serial", 1, 1, "1x1")),
    ],
)
def test_a_run_goes_on_with_others_processes_devices_and_transports(file, overrides, expected):
    """The config.toml of a run on two processes of two devices, with what the command line changes."""
    source = file('[run]\nnproc = 2\ndevices = 2\nlayout = "2x2"\ntransport = "sharded"\n')
    run = resolve(load(source, ["grid.ny=360", *overrides], {})).run
    assert (run.transport, run.nproc, run.devices, run.layout) == expected


@pytest.mark.parametrize("layout", ["1x1", "2x1", "3x1", ""])
@pytest.mark.parametrize(("before", "now"), [(1, 1), (1, 2), (2, 1), (2, 3)])
def test_processes_that_are_asked_for_and_those_that_are_there_decide_alike_on_the_layout(file, layout, before, now):
    source = file(f'[run]\nnproc = {before}\nlayout = "{layout}"\n')
    asked = load(source, [f"run.nproc={now}"], {})
    there = for_processes(load(source, environ={}), now)
    assert asked.run == there.run


VARIANTS = [
    {},
    {"time.cfl": 0.3},
    {"time.dt": 10.0},
    {"run.steps": 3},
    {"output.every": None},
    {"output.every_steps": 5, "output.diagnostics_every_steps": 2, "output.means": ["u", "speed"]},
    {"run.days": None, "output.fields": [], "run.layout": "1x1", "input.depth": 'odd "name" \\ \x7f\t.nc'},
]


@pytest.mark.parametrize("case", cases.names())
def test_the_text_of_a_configuration_gives_it_back(file, case):
    for number, overrides in enumerate(VARIANTS if case == "jet" else VARIANTS[:1]):
        config = load(case, overrides, {})
        assert load(file(to_toml(config, comments=number % 2 == 0)), environ={}) == config
    short = load(case, {"physics.manning": 0.02, "output.means": ["eta"]}, environ={})
    assert load(file(template(short)), environ={}) == short


@pytest.mark.parametrize("case", cases.names())
def test_the_resolved_text_needs_nothing_else(file, case):
    config = resolve(load(case, {"grid.nx": 16, "grid.ny": 12, "time.cfl": 0.2}, {}))
    text = to_toml(config)
    again = resolve(load(file(text), environ={}))
    assert again == config
    assert to_toml(again) == text
    assert config_hash(again) == config_hash(config) != config_hash(load(case, environ={}))
    assert list(tomllib.loads(text)) == list(Config.model_fields)


def test_the_template_explains_every_key_with_units_and_choices():
    config = load("jet", environ={})
    text = to_toml(config, comments=True)
    for name, section in config:
        for key, field in type(section).model_fields.items():
            assert f"# {field.description}" in text
            assert f"\n{key} =" in text or f"\n# {key} =" in text, (name, key)
    assert "# size of the domain in x; dx is lx / nx (or give dx) [m]\n# lx =\n" in text
    assert "# time stepper; ab2, ab3, rk3, rk4, leapfrog, gfb\nstepper" in text


def test_resolved_values():
    overrides = {"grid.nx": 12, "grid.ny": 9, "time.dt": 100.0, "run.days": 0.5, "run.nproc": 3}
    config = load("jet", overrides, {})
    run = resolve(config).run
    fastest = fastest_executor(setup_of(config))
    assert (run.steps, run.days, run.layout, run.executor, run.transport) == (432, None, "1x3", fastest, "mpi")


@pytest.mark.parametrize(("days", "steps"), [(0, 0), (1e-9, 1), (149.9 / 864, 150), (150.1 / 864, 150), (1.0, 864)])
def test_steps_are_days_rounded_and_at_least_one(days, steps):
    assert resolve(load("jet", {"time.dt": 100.0, "run.days": days}, {})).run.steps == steps


def test_resolving_what_does_not_fit_is_a_configuration_error():
    with pytest.raises(ConfigError, match=r"^run\.nproc: 50 processes are too many"):
        resolve(load("jet", {"grid.nx": 6, "grid.ny": 6, "run.nproc": 50}, {}))
    with pytest.raises(ConfigError, match=r"^run\.layout: layout 2x2 has 4 blocks, but there are 1 processes"):
        resolve(load("jet", {"run.layout": "2x2"}, {}))
    with pytest.raises(ConfigError, match=r"^input\.depth: there is no file /none\.nc"):
        resolve(load("jet", {"input.depth": "/none.nc", "time.cfl": 0.1}, {}))


def test_configuring_imports_neither_jax_nor_mpi_nor_netcdf():
    program = (
        "import sys, swmodel.model.validate; from swmodel.config import *; "
        "swmodel.model.validate.check_config(load('jet', ['grid.nx=9', 'grid.ny=9', 'time.cfl=0.1'], {})); "
        "print({'jax', 'mpi4py', 'mpi4jax', 'netCDF4', 'matplotlib', 'xarray'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.fault("the number of cells contradicts a given extent and cell size")
@pytest.mark.parametrize(
    ("overrides", "cells"),
    [
        ({"grid.lx": 7e4, "grid.dx": 1e3, "grid.ly": 1e4, "grid.dy": 500.0}, (70, 20)),
        ({"grid.lx": 7e4, "grid.dx": 1e3}, (70, 60)),
        ({**SPHERE, "grid.west": -10.0, "grid.east": 10.0, "grid.dlon": 0.1}, (200, 40)),
    ],
)
def test_the_number_of_cells_follows_from_their_size_and_that_of_the_domain(overrides, cells):
    grid = load("rest", overrides, {}).grid
    assert (grid.nx, grid.ny) == cells


@pytest.mark.fault("records miss the requested times")
@pytest.mark.parametrize(
    "overrides", [{"output.every": 3600.0, "restart.every": 5400.0}, {"output.every_steps": 5, "run.days": 0.7}]
)
def test_a_time_step_that_nobody_gave_divides_the_intervals_of_output(overrides):
    bare, given = load("rest", {"output.every_steps": 1, "run.steps": 1}, {}), load("rest", overrides, {})
    dt = resolve(given).time.dt
    longest = dt_from_state(bare, survey(setup_of(bare)))
    assert 0.5 * longest < dt <= longest
    for interval in (given.output.every, given.output.spectra, given.restart.every, 86400 * (given.run.days or 0)):
        assert interval is None or math.isclose(round(interval / dt) * dt, interval, rel_tol=1e-12)
