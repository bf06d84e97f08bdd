"""A run that starts from the state of another one has that state to the last bit, on every block, or is refused."""

import netCDF4
import numpy as np
import pytest
from support.command import invoke_swmodel
from support.restarts import flip_bit_of_variable
from support.stepping import has_same_bits

import swmodel
from swmodel.config.remarks import forcing_from_time_zero
from swmodel.gradients import Problem
from swmodel.model.ensemble.members import Members
from swmodel.model.ensemble.settings import check_ensemble
from swmodel.parallel.decomposition import Block, IndexRange

JET = {"grid.nx": 14, "grid.ny": 9, "run.executor": "reference", "time.stepper": "rk3", "time.dt": 10.0, "run.steps": 9}
XLA = {"run.executor": "xla", "run.dtype": "float64"}
TRACER = {"physics.tracers": [{"name": "dye", "initial": 0.3}], "run.dtype": "float64"}
SPHERE = {"grid.nx": 24, "grid.ny": 16, "grid.dlon": 15.0, "grid.dlat": 10.0, "run.steps": 9, "time.dt": 300.0}
SPHERE |= {"run.executor": "reference"}


def restart_and_continuation(tmp_path, case, options):
    """The restart file of a run after four steps, and the run after five more."""
    simulation = swmodel.Simulation(case, options)
    simulation.advance(4)
    simulation.write_restart(tmp_path / "four.nc")
    simulation.advance(5)
    return tmp_path / "four.nc", simulation


NO_TIDE = {"open_boundaries.constituents": [], "open_boundaries.amplitude": []}


@pytest.mark.parametrize(
    ("case", "options"),
    [("jet", JET | TRACER), ("gulf_tide", NO_TIDE | {"run.executor": "reference"}), ("steady_zonal", SPHERE)],
)
def test_unforced_runge_kutta_run_continues_with_same_bits(tmp_path, case, options):
    path, original_run = restart_and_continuation(tmp_path, case, options)
    new_run = swmodel.Simulation(case, options | {"input.state": path})
    assert new_run.step == 0
    new_run.advance(5)
    assert has_same_bits(new_run.state, original_run.state)


@pytest.mark.slow
def test_blocks_members_and_derivatives_start_from_the_state(tmp_path):
    path, _ = restart_and_continuation(tmp_path, "jet", JET)
    with netCDF4.Dataset(path) as file:
        stored_fields = {name: np.asarray(file[name][:]) for name in ("h", "u", "v")}
    for dtype in ("float32", "float64"):
        setup = swmodel.Simulation("jet", JET | {"input.state": path, "run.dtype": dtype}).setup
        for name, field in setup.state(Block(0, (1, 1), IndexRange(3, 8, 9), IndexRange(5, 12, 14)))._asdict().items():
            assert field.dtype == dtype
            np.testing.assert_array_equal(field, stored_fields[name][3:8, 5:12])
    options = JET | XLA | {"input.state": path}
    members = Members(check_ensemble(swmodel.load("jet", options | {"ensemble.members": 3}, environ={}))).state
    np.testing.assert_array_equal(members.h[0], stored_fields["h"])
    np.testing.assert_array_equal(members.u, np.broadcast_to(stored_fields["u"], (3, 9, 14)))
    assert not np.array_equal(members.h[1], stored_fields["h"])
    problem = Problem(swmodel.load("jet", options, environ={}), ["eta", "u"], lambda view, k: view.state)
    guess = problem.first_guess()
    np.testing.assert_array_equal(guess["u"], stored_fields["u"])
    np.testing.assert_allclose(problem.series(guess).h[0], stored_fields["h"], rtol=1e-15, atol=0)


def test_date_continues_unless_one_is_set(tmp_path):
    path, _ = restart_and_continuation(tmp_path, "jet", JET | {"time.start": "2020-02-28T23:59:50"})

    def start(case, options):
        return swmodel.load(case, options, environ={}).time.start

    config_file = tmp_path / "my.toml"
    config_file.write_text('[case]\nname = "jet"\n[time]\nstart = "2020-02-28T23:59:50"\n')
    assert start(config_file, {"input.state": path}) == "2020-02-29T00:00:30"
    assert start(config_file, {"input.state": path, "time.start": "2021-01-01"}) == "2021-01-01"
    config_file.write_text(f'[case]\nname = "jet"\n[time]\nstart = "2020-01-01"\n[input]\nstate = "{path}"\n')
    assert start(config_file, {}) == "2020-01-01"
    tide_without_date = swmodel.load("gulf_tide", {"input.state": path, "time.start": ""}, environ={})
    assert len(list(forcing_from_time_zero(tide_without_date))) == 1


def test_tracer_comes_from_a_run_with_another_stepper(tmp_path):
    """The stepper rk3 stores the content, gfb the concentration."""
    fields = {"dye": lambda at: at.i + 0.1 * at.j}
    for first_stepper, second_stepper in (("rk3", "gfb"), ("gfb", "rk3")):
        first_run = swmodel.Simulation("jet", JET | TRACER | {"time.stepper": first_stepper}, fields=fields)
        first_run.advance(4)
        first_run.write_restart(path := tmp_path / first_stepper)
        second_run = swmodel.Simulation("jet", JET | TRACER | {"time.stepper": second_stepper, "input.state": path})
        np.testing.assert_allclose(second_run.field("dye"), first_run.field("dye"), rtol=1e-15)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"grid.nx": 15}, "grid.nx is 14 there and 15 here"), ({"grid.periodic_x": False}, "grid.periodic_x"),
        (TRACER, "no dye_content"), ({"input.eta": "other.nc"}, "eta"),
        ({"physics.biharmonic_viscosity": 1e9, "physics.backscatter": 0.2}, "no subgrid_energy"),
    ],
)  # fmt: skip
def test_state_that_does_not_fit_the_options_is_refused(tmp_path, changes, words):
    path, _ = restart_and_continuation(tmp_path, "jet", JET)
    with pytest.raises(swmodel.ConfigError, match=f"input.state: .*{words}"):
        swmodel.Simulation("jet", JET | changes | {"input.state": path})


def test_state_whose_configuration_was_changed_is_refused(tmp_path):
    path, _ = restart_and_continuation(tmp_path, "jet", JET)
    with netCDF4.Dataset(path, "a") as file:
        file.configuration = "changed"
    with pytest.raises(swmodel.ConfigError, match="input.state: .*four.nc: its configuration was changed or damaged"):
        swmodel.Simulation("jet", JET | {"input.state": path})


def test_run_from_an_unusable_state_writes_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = ["-s", "grid.nx=14", "-s", "grid.ny=9", "--steps", "3", "--executor", "reference", "--quiet", "--force"]

    def run(*arguments):
        return invoke_swmodel("run", "jet", *options, *arguments)

    assert run("-o", "spin").exit_code == 0
    assert run("-o", "next", "--from", "spin").exit_code == 0
    before = sorted((tmp_path / "next").rglob("*"))
    flip_bit_of_variable(tmp_path / "spin/restart/step-0000000003.nc", "u")
    for arguments, exit_code, words in (
        (["spin"], 5, "damaged: variable u"), (["next", "-s", "grid.nx=15"], 2, "another grid"),
        (["next"], 2, "--output"), (["none"], 2, "--from none: "), (["next/output.nc"], 2, "not a restart file"),
    ):  # fmt: skip
        result = run("-o", "next", "--from", *arguments)
        assert (result.exit_code, words in result.stderr) == (exit_code, True), result.output
    assert sorted((tmp_path / "next").rglob("*")) == before
