"""A run that starts from the state of another one: the state is that to the last bit, on every block, or refused."""

import netCDF4
import numpy as np
import pytest
from click.testing import CliRunner
from support.restarts import flip

import swmodel
from swmodel.cli import main
from swmodel.config.remarks import from_zero
from swmodel.errors import ConfigError
from swmodel.gradients import Problem
from swmodel.model.ensemble.members import Members
from swmodel.model.ensemble.settings import check_ensemble
from swmodel.parallel.decomposition import Block, Span

JET = {"grid.nx": 14, "grid.ny": 9, "run.executor": "reference", "time.stepper": "rk3", "time.dt": 10.0, "run.steps": 9}
TRACER = {"physics.tracers": [{"name": "dye", "initial": 0.3}], "run.dtype": "float64"}
SPHERE = {"grid.nx": 24, "grid.ny": 16, "grid.dlon": 15.0, "grid.dlat": 10.0, "run.steps": 9, "time.dt": 300.0}


def stored(tmp_path, case, options):
    """The restart file of a run after four steps, and the run five steps later."""
    simulation = swmodel.Simulation(case, options)
    simulation.advance(4)
    simulation.write_restart(tmp_path / "four.nc")
    simulation.advance(5)
    return tmp_path / "four.nc", simulation


@pytest.mark.parametrize(
    ("case", "options"),
    [
        ("jet", JET | TRACER),
        ("jet", JET),
        ("gulf_tide", {"open_sides.constituents": [], "open_sides.amplitude": [], "run.executor": "reference"}),
        ("steady_zonal", SPHERE | {"run.executor": "reference"}),
        ("double_gyre", JET | {"run.executor": "xla", "run.dtype": "float64", "grid.nx": 10, "grid.ny": 20}),
    ],
)
def test_without_forcing_in_time_a_runge_kutta_run_goes_on_with_the_same_bits(tmp_path, case, options):
    path, whole = stored(tmp_path, case, options)
    rest = swmodel.Simulation(case, options | {"input.state": path})
    assert rest.step == 0
    rest.advance(5)
    for ours, theirs in zip(rest.state, whole.state, strict=True):
        assert ours.tobytes() == theirs.tobytes()


def test_each_block_has_its_part_of_the_state_in_either_precision(tmp_path):
    path, _ = stored(tmp_path, "jet", JET)
    with netCDF4.Dataset(path) as file:
        written = {name: np.asarray(file[name][:]) for name in ("h", "u", "v")}
    for dtype in ("float32", "float64"):
        setup = swmodel.Simulation("jet", JET | {"input.state": path, "run.dtype": dtype}).setup
        block = Block(0, (1, 1), Span(3, 8, 9), Span(5, 12, 14))
        for name, field in setup.state(block)._asdict().items():
            assert field.dtype == dtype
            assert np.array_equal(field, written[name][3:8, 5:12])


def test_members_and_derivatives_start_there(tmp_path):
    path, _ = stored(tmp_path, "jet", JET | {"run.dtype": "float64"})
    options = JET | {"run.executor": "xla", "run.dtype": "float64", "input.state": path}
    with netCDF4.Dataset(path) as file:
        h, u = (np.asarray(file[name][:]) for name in ("h", "u"))
    members = Members(check_ensemble(swmodel.load("jet", options | {"ensemble.members": 3}, environ={})))
    assert np.array_equal(members.state.h[0], h)
    assert all(np.array_equal(each, u) for each in members.state.u)
    assert not np.array_equal(members.state.h[1], h)
    problem = Problem(swmodel.load("jet", options, environ={}), ["eta", "u"], lambda view, k: view.state)
    guess = problem.first_guess()
    assert np.array_equal(guess["u"], u)
    first = problem.series(guess)
    assert np.array_equal(first.u[0], u)
    assert np.allclose(first.h[0], h, rtol=1e-15, atol=0)


def test_the_date_goes_on_unless_one_is_given_and_tides_have_grown(tmp_path):
    options = JET | {"time.start": "2020-02-28T23:59:50"}
    path, _ = stored(tmp_path, "jet", options)

    def start(config):
        return swmodel.load(config, environ={}).time.start

    mine = tmp_path / "my.toml"
    mine.write_text('[case]\nname = "jet"\n[time]\nstart = "2020-02-28T23:59:50"\n')
    assert swmodel.load(mine, {"input.state": path}, environ={}).time.start == "2020-02-29T00:00:30"
    assert swmodel.load(mine, {"input.state": path, "time.start": "2021-01-01"}, environ={}).time.start == "2021-01-01"
    mine.write_text(f'[case]\nname = "jet"\n[time]\nstart = "2020-01-01"\n[input]\nstate = "{path}"\n')
    assert start(mine) == "2020-01-01"
    tide = swmodel.load("gulf_tide", {"input.state": path, "time.start": ""}, environ={})
    assert len(list(from_zero(tide))) == 1


def test_a_tracer_comes_from_a_run_with_another_stepper(tmp_path):
    """One stores the content, the other the concentration."""
    ink = {"dye": lambda at: at.i + 0.1 * at.j}
    for one, other in (("rk3", "gfb"), ("gfb", "rk3")):
        model = swmodel.Simulation("jet", JET | TRACER | {"time.stepper": one}, fields=ink)
        model.advance(4)
        model.write_restart(tmp_path / one)
        rest = swmodel.Simulation("jet", JET | TRACER | {"time.stepper": other, "input.state": tmp_path / one})
        np.testing.assert_allclose(rest.field("dye"), model.field("dye"), rtol=1e-15)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"grid.nx": 15}, "of another grid: grid.nx is 14 there and 15 here"),
        ({"grid.periodic_x": False}, "of another grid: grid.periodic_x"),
        (TRACER, "has no dye_content"),
        ({"physics.biharmonic_viscosity": 1e9, "physics.backscatter": 0.2}, "has no subgrid_energy"),
        ({"input.eta": "other.nc"}, "has eta, which is also given otherwise"),
    ],
)
def test_a_state_that_does_not_fit_is_refused(tmp_path, options, words):
    path, _ = stored(tmp_path, "jet", JET)
    with pytest.raises(ConfigError, match=words):
        swmodel.Simulation("jet", JET | options | {"input.state": path})


def test_the_command_names_what_is_wrong_before_it_writes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    line = ["-s", "grid.nx=14", "-s", "grid.ny=9", "--steps", "3", "--executor", "reference", "--quiet", "--force"]

    def run(*more):
        return CliRunner().invoke(main, ["run", "jet", *line, *more])

    assert run("-o", "spin").exit_code == 0
    assert run("-o", "on", "--from", "spin").exit_code == 0
    kept = sorted((tmp_path / "on").rglob("*"))
    flip(tmp_path / "spin/restart/step-0000000003.nc", "u")
    for more, code, words in (
        (["--from", "spin"], 5, "damaged: variable u"),
        (["--from", "on", "-s", "grid.nx=15"], 2, "of another grid"),
        (["--from", "on"], 2, "give another folder with --output"),
        (["--from", "none"], 2, "--from none: there is no file or folder"),
        (["--from", "."], 2, "holds no restart file"),
        (["--from", "on/output.nc"], 2, "is no restart file"),
    ):
        done = run("-o", "on", *more)
        assert (done.exit_code, words in done.stderr) == (code, True), done.output
    assert sorted((tmp_path / "on").rglob("*")) == kept
