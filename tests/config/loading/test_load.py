"""The sources of a configuration, which of them takes precedence, and the text that loads the same configuration."""

import math
import tomllib

import pytest
from support.config_file import write_toml

from swmodel import ConfigError, cases, load
from swmodel.config import config_hash, to_toml
from swmodel.config.loading.case_check import declaration_problems
from swmodel.config.loading.toml import template
from swmodel.config.options.case import case_name
from swmodel.config.options.model import Config, GridOptions
from swmodel.model.resolve import choose_executor, resolve
from swmodel.model.validate import check_config
from swmodel.setup.checks.extremes import survey
from swmodel.setup.checks.stability import dt_from_state
from swmodel.setup.fields.netcdf_input import read
from swmodel.setup.positions.gauges import make_gauges
from swmodel.setup.setup import setup_of

#: Four degrees of latitude.
SPHERE = {"grid.kind": "latlon", "grid.south": 0.0, "grid.north": 4.0, "grid.dlat": 0.1, "grid.periodic_x": False}


def test_later_sources_replace_earlier_ones(tmp_path, monkeypatch):
    """The order is: defaults, case, file, environment, overrides."""
    source = write_toml(tmp_path, '[case]\nname = "jet"\n[physics]\nbeta = 3e-11\n')
    environ, overrides = {"SWMODEL_PHYSICS_BETA": "4e-11"}, {"physics.beta": 5e-11}
    configs = [Config(), load("jet", environ={}), load(source, environ={}), load(source, environ=environ)]
    configs.append(load(source, overrides, environ))
    assert [config.physics.beta for config in configs] == [0.0, 2e-11, 3e-11, 4e-11, 5e-11]
    monkeypatch.setenv("SWMODEL_GRID_NX", "17")
    assert load("jet").grid.nx == 17
    config = load(write_toml(tmp_path, '[case]\nname = "inertial"\nspeed = 7\n'), environ={})
    assert (config.case.name, config.case.speed) == ("inertial", 7.0)
    assert load(write_toml(tmp_path, "[grid]\nnx = 10\n"), environ={}) == load("jet", {"grid.nx": 10}, {})
    monkeypatch.chdir("/")  # relative paths in a file start from its folder, those of overrides from the working folder
    source = write_toml(tmp_path, '[input]\ndepth = "deep.nc:z"\nmask = "/data/mask.nc"\n')
    section = load(source, ["input.eta=2020"], {}).input
    assert (section.depth, section.mask, section.eta) == (f"{tmp_path}/deep.nc:z", "/data/mask.nc", "/2020")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("grid.nx=1e3", 1000), ("grid.dx = 2.5e3", 2500.0), ("grid.periodic_x=False", False),
        ("grid.origin=middle", "middle"), ('grid.origin="middle"', "middle"), ("output.fields=h,u", ("h", "u")),
        ("output.fields=", ()), ('output.every="1.5 days"', 129600.0), ("output.every=none", None),
        ("time.dt=.5 s", 0.5),
    ],
)  # fmt: skip
def test_overrides_are_toml_or_bare_words(text, value):
    section, key = text.split("=")[0].strip().split(".")
    assert getattr(getattr(load("jet", [text], {}), section), key) == value
    variable = f"SWMODEL_{section.upper()}_{key.upper()}"
    assert load("jet", environ={variable: text.split("=", 1)[1].strip()}) == load("jet", [text], {})


@pytest.mark.parametrize(
    ("section", "key_1", "value_1", "key_2", "value_2"),
    [("run", "days", 2.0, "steps", 10), ("time", "dt", 5.0, "cfl", 0.2), ("output", "every", 60.0, "every_steps", 4)],
)
def test_later_of_two_alternatives_removes_the_earlier(tmp_path, section, key_1, value_1, key_2, value_2):
    for earlier, old, later, new in ((key_1, value_1, key_2, value_2), (key_2, value_2, key_1, value_1)):
        config = load(write_toml(tmp_path, f"[{section}]\n{earlier} = {old}\n"), {f"{section}.{later}": new}, {})
        options = getattr(config, section)
        assert (getattr(options, later), getattr(options, earlier)) == (new, None)


def test_cell_size_follows_from_domain_length_and_number(tmp_path):
    """Any source may give the number of cells; of domain length and cell size, the one from the later source counts."""
    source = write_toml(tmp_path, "[grid]\nlx = 1e6\nnx = 70\n")
    grid = load(source, environ={}).grid
    assert (grid.nx, grid.dx, grid.dy, grid.lx) == (70, 1e6 / 70, 5e3, None)
    assert load(source, ["grid.nx=30"], {}).grid.dx == 1e6 / 30
    assert Config(grid=GridOptions(nx=70, lx=1e6)).grid.dx == 1e6 / 70
    assert load(source, ["grid.dx=7"], {}).grid.dx == load(source, environ={"SWMODEL_GRID_DX": "7"}).grid.dx == 7.0
    assert load("jet", ["grid.lx=1e6"], {"SWMODEL_GRID_DX": "10"}).grid.dx == 1e6 / 360
    text = to_toml(load(source, environ={}))
    assert "lx" not in text
    assert load(write_toml(tmp_path, text), environ={}) == load("jet", {"grid.nx": 70, "grid.dx": 1e6 / 70}, {})


@pytest.mark.fault("an override changes the size of the domain; sizes of domain and cell contradict each other")
def test_sizes_of_domain_and_cell_agree_or_give_the_number(tmp_path):
    text = "[grid]\nny = 30\ndy = 0.1\nly = "
    assert load(write_toml(tmp_path, f"{text}3.0000000000000001\n"), environ={}).grid.dy == 0.1
    with pytest.raises(ConfigError, match=r"my\.toml:4: grid\.ly: 3\.001 m"):
        load(write_toml(tmp_path, f"{text}3.001\n"), environ={})
    for overrides, cells in (
        ({"grid.lx": 7e4, "grid.dx": 1e3, "grid.ly": 1e4, "grid.dy": 500.0}, (70, 20)),
        ({"grid.lx": 7e4, "grid.dx": 1e3}, (70, 60)),
        ({**SPHERE, "grid.west": -10.0, "grid.east": 10.0, "grid.dlon": 0.1}, (200, 40)),
    ):
        grid = load("rest", overrides, {}).grid
        assert (grid.nx, grid.ny) == cells


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        ([], ("sharded", 2, 2, "2x2")), (["run.nproc=1"], ("sharded", 1, 2, "2x1")),
        (["run.nproc=1", "run.devices=4"], ("sharded", 1, 4, "4x1")), (["run.devices=1"], ("mpi", 2, 1, "2x1")),
        (["run.nproc=1", "run.devices=4", "run.layout=1x4"], ("sharded", 1, 4, "1x4")),
        (["run.transport=mpi", "run.nproc=4"], ("mpi", 4, 1, "4x1")),
        (["run.transport=serial", "run.nproc=1"], ("serial", 1, 1, "1x1")),
    ],
)  # fmt: skip
def test_resumed_run_may_have_other_processes_and_transports(tmp_path, overrides, expected):
    """The command line changes the configuration of a run on two processes with two devices each."""
    text = '[run]\nnproc = 2\ndevices = 2\nlayout = "2x2"\ntransport = "sharded"\nexecutor = "xla"\n'
    run = resolve(load(write_toml(tmp_path, text), ["grid.ny=360", *overrides], {})).run
    assert (run.transport, run.nproc, run.devices, run.layout) == expected


RUN_VARIANTS = [
    *({"time.cfl": 0.3}, {"time.dt": 10.0}, {"run.steps": 3}, {"output.every": None}),
    {"output.every_steps": 5, "output.diagnostics_every_steps": 2, "output.means": ["u", "speed"]},
    {"run.days": None, "output.fields": [], "run.layout": "1x1", "input.depth": 'odd "name" \\ \x7f\t.nc'},
]


@pytest.mark.parametrize("name", cases.names())
def test_cases_of_the_package_pass_the_checks_of_user_cases(name):
    assert (case_name(cases.get(name)), [*declaration_problems(cases.get(name))]) == (name, [])


@pytest.mark.parametrize("case", cases.names())
def test_configuration_survives_a_round_trip_through_toml(tmp_path, case):
    for number, overrides in enumerate([{}, *RUN_VARIANTS] if case == "jet" else [{}]):
        config = load(case, overrides, {})
        assert load(write_toml(tmp_path, to_toml(config, comments=number % 2 == 0)), environ={}) == config
    changed = load(case, {"physics.manning": 0.02, "output.means": ["eta"]}, environ={})
    assert load(write_toml(tmp_path, template(changed)), environ={}) == changed
    overrides = {"grid.nx": 16, "grid.ny": 12, "time.cfl": 0.2, "run.executor": "reference"}
    resolved = resolve(load(case, overrides, {}))
    text = to_toml(resolved)
    reloaded = resolve(load(write_toml(tmp_path, text), environ={}))
    assert (reloaded, to_toml(reloaded)) == (resolved, text)
    assert config_hash(reloaded) == config_hash(resolved) != config_hash(load(case, environ={}))
    assert list(tomllib.loads(text)) == list(Config.model_fields)


def test_resolved_run_has_steps_layout_and_executor():
    config = load("jet", {"grid.nx": 12, "grid.ny": 9, "time.dt": 100.0, "run.days": 0.5, "run.nproc": 3}, {})
    run, fastest = resolve(config).run, choose_executor(setup_of(config))
    assert (run.steps, run.days, run.layout, run.executor, run.transport) == (432, None, "1x3", fastest, "mpi")
    for days, steps in ((0, 0), (1e-9, 1), (149.9 / 864, 150), (150.1 / 864, 150), (1.0, 864)):
        overrides = {"time.dt": 100.0, "run.days": days, "run.executor": "reference"}
        assert resolve(load("jet", overrides, {})).run.steps == steps
    for overrides, start in (
        ({"grid.nx": 6, "grid.ny": 6, "run.nproc": 50}, "run.nproc: 50 processes"),
        ({"run.layout": "2x2"}, "run.layout: layout 2x2"),
        ({"input.depth": "/none.nc", "time.cfl": 0.1}, "input.depth: there is no file /none.nc"),
    ):
        with pytest.raises(ConfigError, match=f"^{start}"):
            resolve(load("jet", overrides, {}))


@pytest.mark.fault("records miss the requested times")
@pytest.mark.parametrize(
    "intervals", [{"output.every": 3600.0, "restart.every": 5400.0}, {"output.every_steps": 5, "run.days": 0.7}]
)
def test_automatic_time_step_divides_intervals_and_length_of_run(intervals):
    every_step = {"output.every_steps": 1, "run.steps": 1}
    steps_only, config = (load("rest", each | {"run.executor": "reference"}, {}) for each in (every_step, intervals))
    dt, longest = resolve(config).time.dt, dt_from_state(steps_only, survey(setup_of(steps_only)))
    assert 0.5 * longest < dt <= longest
    for interval in (config.output.every, config.output.spectra, config.restart.every, 86400 * (config.run.days or 0)):
        assert interval is None or math.isclose(round(interval / dt) * dt, interval, rel_tol=1e-12)


STATION_FILE = "name, x, y, note\n# the first one\nold harbour, 2e5, 1e5, steep\n\nbuoy,3e5,1.5e5,\n"


@pytest.mark.fault("the configuration of a run with many gauges cannot be read again")
def test_station_file_equals_tables_of_stations(tmp_path):
    """The configuration of a run lists all stations; loaded again, it gives the same ones."""
    tables = [{"name": "old harbour", "x": 2e5, "y": 1e5}, {"name": "buoy", "x": 3e5, "y": 1.5e5}]
    expected = load("rest", {"output.stations": tables}, {}).output
    (tmp_path / "gauges.csv").write_text(STATION_FILE)
    config = load(write_toml(tmp_path, '[case]\nname = "rest"\n[output]\nstations = "gauges.csv"\n'), {}, {})
    assert config.output == load("rest", [f"output.stations={tmp_path / 'gauges.csv'}"], {}).output == expected
    assert load(write_toml(tmp_path, to_toml(config)), {}, {}).output == expected


@pytest.mark.fault("a bad line in a file of gauges is ignored, or gauges of tables given with it are lost")
@pytest.mark.parametrize(
    ("text", "tables", "words"),
    [
        (STATION_FILE.replace("3e5", "3e5 m"), "", "gauges.csv:5, x: "),
        (STATION_FILE.replace("3e5", "nan"), "", "gauges.csv:5, x: "),
        (STATION_FILE.replace("buoy,", ""), "", "gauges.csv:5: "),
        (STATION_FILE.replace("buoy", ""), "", "gauges.csv:5, name: "),
        (STATION_FILE.replace(" x,", " lon,"), "", "name, lon, lat"), ("name,x,y\n", "", "0 stations"),
        ("name,x,y\n" + "".join(f"g{k},1,1\n" for k in range(30_000)), "", "30000 stations"),
        (STATION_FILE, '[[station]]\nname = "a"\nx = 1e5\ny = 1e5\n', "not both"),
    ],
    ids=lambda argument: argument if len(argument) < 40 else "",
)  # fmt: skip
def test_bad_lines_and_stations_from_two_sources_are_refused(tmp_path, text, tables, words):
    (tmp_path / "gauges.csv").write_text(text)
    with pytest.raises(ConfigError) as error:
        load(write_toml(tmp_path, f'[output]\nstations = "gauges.csv"\n{tables}'), {}, {})
    assert words in str(error.value)


@pytest.mark.slow
@pytest.mark.fault("each gauge opens the files of the grid again")
def test_files_are_opened_as_often_for_many_stations_as_for_one(tmp_path, monkeypatch):
    from swmodel.files.relief import GridRequest, make_grid

    make_grid(tmp_path / "sea.nc", GridRequest((-40.0, -20.0, 30.0, 40.0), 1.0))
    open_file, calls = read.open_file, []
    monkeypatch.setattr(read, "open_file", lambda *args: calls.append(args) or open_file(*args))

    def count_calls(n_stations):
        stations = [{"name": f"g{k}", "lon": -39.0 + 0.02 * k, "lat": 35.0} for k in range(n_stations)]
        grid = {"grid.file": str(tmp_path / "sea.nc"), "run.executor": "reference"}
        config = load("sea", grid | {"output.stations": stations}, {})
        calls.clear()
        make_gauges(setup_of(check_config(config)))
        return len(calls)

    assert count_calls(60) == count_calls(1)
