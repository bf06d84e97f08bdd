"""A run of fields given in Python goes on from its restart files, with what they were given by gone."""

from functools import partial

import h5py
import numpy as np
import pytest
from click.testing import CliRunner
from support.restarts import assert_same_run

import swmodel
from swmodel import Case, ConfigError, operators
from swmodel.cli import main
from swmodel.files.restart.folder import path_of
from swmodel.setup.fields import evaluate

pytestmark = pytest.mark.slow

SMALL = {"grid.nx": 12, "grid.ny": 8, "grid.dx": 1e4, "grid.dy": 1e4, "grid.periodic_x": False, "time.dt": 20.0}
SMALL |= {"run.executor": "reference", "run.steps": 6, "restart.every_steps": 3}
DEPTH = 100.0 + np.random.default_rng(5).random((8, 12))


def wind(at):
    return 0.1 * np.sin(at.y / 3e4) + 0.0 * at.x


FIELDS = {"depth": DEPTH, "wind_x": wind, "eta": 0.01}


def simulation(fields=None, terms=(), **options):
    overrides = SMALL | {name.replace("__", "."): value for name, value in options.items()}
    return swmodel.Simulation(Case, overrides, fields=fields or FIELDS, terms=terms)


@pytest.fixture
def run(tmp_path):
    simulation().run(tmp_path / "run")
    return tmp_path / "run"


def resume(folder, *arguments):
    return CliRunner().invoke(main, ["resume", str(folder), "--quiet", *map(str, arguments)])


@pytest.mark.night
def test_the_command_line_goes_on_with_it_however_often(run, tmp_path):
    """Also when the restart files are gone that it has read the fields from."""
    for steps in (9, 21):
        done = resume(run, "--steps", steps)
        assert (done.exit_code, done.stderr) == (0, "")
    simulation(run__steps=21).run(tmp_path / "whole")
    assert_same_run(run, tmp_path / "whole", 21)


def test_a_restart_file_alone_has_all_that_was_handed_over(run, tmp_path):
    alone = tmp_path / "alone.nc"
    path_of(run, 3).rename(alone)
    with h5py.File(alone) as file:
        np.testing.assert_array_equal(file["given_depth"][:], DEPTH)
        assert file["given_wind_x"].attrs["units"] == b"Pa"
    model = swmodel.Simulation.from_restart(alone)
    assert (model.step, model.config.python.names) == (3, ["depth", "wind_x", "eta"])
    model.advance(3)
    whole = simulation()
    whole.advance(6)
    assert all(a.tobytes() == b.tobytes() for a, b in zip(model.state, whole.state, strict=True))


@pytest.mark.parametrize("given", [{"u", "v", "wind_x", "wind_y"}, {"u", "wind_y"}], ids=["both", "one"])
def test_eastward_and_northward_components_are_turned_again(given, tmp_path):
    """On a grid about another pole, where each component along the axes is made of both."""
    sphere = {"grid.kind": "latlon", "grid.nx": 12, "grid.ny": 8, "grid.west": 0.0, "grid.east": 60.0}
    sphere |= {"grid.south": 10.0, "grid.north": 50.0, "grid.pole": [-42.0, 76.0], "grid.periodic_x": False}
    options = {name: value for name, value in SMALL.items() if not name.startswith("grid.")} | sphere
    functions = {name: lambda at, by=by: by * np.sin(np.radians(at.lat + by * at.lon)) for by, name in
                 enumerate(("u", "v", "wind_x", "wind_y"), 1)}  # fmt: skip
    fields = {name: functions[name] for name in given}
    swmodel.Simulation(Case, options, fields=fields).run(tmp_path / "run")
    assert resume(tmp_path / "run", "--steps", 9).exit_code == 0
    swmodel.Simulation(Case, options | {"run.steps": 9}, fields=fields).run(tmp_path / "whole")
    assert_same_run(tmp_path / "run", tmp_path / "whole", 9)
    kept = swmodel.Simulation.from_restart(path_of(tmp_path / "run", 9)).config
    made = swmodel.Simulation(Case, options, fields=fields).config
    for name in functions:
        ours, theirs = (evaluate(config, name, np.arange(8), np.arange(12)) for config in (kept, made))
        np.testing.assert_array_equal(ours, theirs)
        assert np.abs(ours).max() > 0.1


@pytest.mark.fault("a damaged field in a restart file")
def test_a_damaged_field_is_found_and_the_older_file_taken(run):
    with h5py.File(path_of(run, 6), "r+") as file:
        file["given_depth"][3, 4] += 1e-9
    done = resume(run, "--steps", 9)
    assert done.exit_code == 0
    assert "damaged: variable given_depth; continues from step-0000000003.nc" in done.stderr


def drag(state, grid, t, roughness):
    return {"u": -operators.mx_f(roughness) * state.u}


def stronger(state, grid, t, roughness):
    return {"u": -2 * operators.mx_f(roughness) * state.u}


stronger.__name__ = "drag"


@pytest.mark.fault("the term or class differs when a run continues")
def test_a_run_with_a_term_goes_on_where_the_same_is_handed_over_again(tmp_path):
    options = {"run__executor": "xla", "run__reproducible": True}
    folder = tmp_path / "run"
    simulation({"roughness": 1e-4}, [drag], **options).run(folder)
    done = resume(folder, "--steps", 9)
    assert done.exit_code == 2
    words = "python.terms: drag comes from Python and lies in no file; continue the run there, as swmodel."
    assert words in done.stderr
    with pytest.raises(ConfigError, match=words):
        swmodel.Simulation.resume(folder)
    other = swmodel.Simulation.resume(folder, {"run.steps": 9}, terms=[stronger])
    with pytest.raises(ConfigError, match=r"python\.drag: SHA-256 \w+\.\.\. before, SHA-256 \w+\.\.\. now"):
        other.run(folder)
    model = swmodel.Simulation.resume(folder, {"run.steps": 9}, terms=[drag])
    model.run(folder)
    assert model.step == 9


@pytest.mark.fault("a run continues with other values in time, or without them")
@pytest.mark.night
def test_fields_that_vary_in_time_are_given_again(tmp_path):
    """They lie in no file; others are not taken for them."""

    def gusts(at, t, size=0.1):
        return size * np.sin(at.y / 3e4 + t / 50) + 0.0 * at.x

    def simulation_of(**options):
        fields = FIELDS | {"wind_x": gusts}
        return simulation(fields, **{"forcing__every": 50.0} | options)

    simulation_of().run(tmp_path / "run")
    refused = resume(tmp_path / "run", "--steps", 9)
    assert refused.exit_code == 5
    assert "wind_x varies in time and comes from Python; continue the run there, as " in refused.stderr
    assert 'swmodel.Simulation.resume(DIR, fields={"wind_x": ...}).run(DIR)' in refused.stderr
    other = partial(gusts, size=0.2)
    with pytest.raises(ConfigError, match=r"python.wind_x: SHA-256 \w+\.\.\. before, SHA-256 \w+\.\.\. now"):
        swmodel.Simulation.resume(tmp_path / "run", {"run.steps": 9}, fields={"wind_x": other}).run(tmp_path / "run")
    swmodel.Simulation.resume(tmp_path / "run", {"run.steps": 9}, fields={"wind_x": gusts}).run(tmp_path / "run")
    simulation_of(run__steps=9).run(tmp_path / "whole")
    assert_same_run(tmp_path / "run", tmp_path / "whole", 9)
