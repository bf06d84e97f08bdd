"""Whatever makes a run refuses the same configurations in the same words: commands, Python, derivatives, ensembles."""

import pytest
from click.testing import CliRunner

import swmodel
from swmodel.assimilation.experiment import prepare
from swmodel.cli import main
from swmodel.config import ConfigError, to_toml
from swmodel.errors import exit_code
from swmodel.gradients import Problem
from swmodel.model.ensemble.settings import check_ensemble

pytestmark = pytest.mark.slow

SMALL = {"grid.nx": 12, "grid.ny": 9, "run.days": 2.0}

#: {what is wrong: (case, what it is given, words of the refusal)}
BAD = {
    "beta on a ring": ("jet", {"grid.periodic_y": True}, "physics.beta"),
    "harmonics too close": (
        "rest",
        {"output.harmonics": ["M2", "S2"], "time.start": "2020-01-01"},
        "cannot be separated",
    ),
    "a tide of no date": ("rest", {"tide.constituents": ["M2"]}, "time.start"),
    "gravity reduced to more": ("rest", {"physics.reduced_gravity": True}, "physics.full_gravity"),
    "no filter": ("jet", {"time.stepper": "leapfrog", "time.robert_asselin": 0.0}, "time.robert_asselin"),
    "a time step too long": ("rest", {"time.dt": 3600.0}, "largest stable time step"),
    "a sponge of no width": ("rest", {"sponge.rate": 1e-4}, "sponge.width"),
    "a field that is not there": ("rest", {"output.fields": ["eta", "wind_x"]}, "has no wind_x"),
    "no file": ("rest", {"input.depth": "nowhere.nc"}, "there is no file"),
    "a layout of others": ("rest", {"run.layout": "2x3"}, "run.layout"),
}


def from_file(case, given, folder):
    path = folder / "run.toml"
    path.write_text(to_toml(swmodel.load(case, given)))
    return swmodel.Simulation(path)


def by_command(name):
    def door(case, given, folder):
        words = [word for key, value in given.items() for word in ("-s", f"{key}={written(value)}")]
        extra = ["--of", "energy", "--to", "eta"] if name == "sensitivity" else []
        done = CliRunner().invoke(main, [name, case, *words, *extra, "-o", str(folder / "run")])
        assert done.exit_code == 2, done.output
        assert not (folder / "run").exists()
        raise ConfigError(line.removeprefix("Error: ") for line in done.output.splitlines())

    return door


def written(value):
    return ",".join(value) if isinstance(value, list) else value


def observe(view, k):
    return view.eta


DOORS = {
    "run": by_command("run"),
    "sensitivity": by_command("sensitivity"),
    "Simulation": lambda case, given, folder: swmodel.Simulation(case, given),
    "Simulation of a file": from_file,
    "Simulation of a Config": lambda case, given, folder: swmodel.Simulation(swmodel.load(case, given)),
    "functional": lambda case, given, folder: swmodel.functional(case, given),
    "Problem": lambda case, given, folder: Problem(swmodel.load(case, given), "eta", observe),
    "assimilation": lambda case, given, folder: prepare(swmodel.load(case, given), folder, None),
    "ensemble": lambda case, given, folder: check_ensemble(swmodel.load(case, given)),
}

#: Doors that do not refuse, as they analyse no tides, or in other words, as they have no layout.
OTHERWISE = {"harmonics too close": {"ensemble", "sensitivity"}, "a layout of others": {"ensemble"}}


@pytest.mark.fault("Python, derivatives, ensembles or assimilation accept a configuration that the command refuses")
@pytest.mark.parametrize("bad", BAD)
def test_a_bad_configuration_is_refused_alike_by_all_that_make_a_run(tmp_path, bad):
    case, given, words = BAD[bad]
    told = {}
    for name in DOORS.keys() - OTHERWISE.get(bad, set()):
        with pytest.raises(ConfigError) as caught:
            DOORS[name](case, SMALL | given, tmp_path)
        assert exit_code(caught.value) == 2
        told[name] = [line for line in caught.value.problems if words in line]
    assert all(len(lines) == 1 and lines == told["run"] for lines in told.values()), told


@pytest.mark.fault("Python, derivatives, ensembles or assimilation accept a configuration that the command refuses")
def test_steps_may_be_asked_for_one_by_one_but_what_goes_to_its_end_has_a_length(tmp_path):
    given = SMALL | {"run.days": None, "run.executor": "reference"}
    model = swmodel.Simulation("jet", given)
    model.advance(2)
    endless = swmodel.load("jet", given | {"run.executor": "auto"})
    for door in (lambda: model.run(tmp_path / "run"), lambda: Problem(endless, "eta", observe)):
        with pytest.raises(ConfigError, match=r"run\.days: the run has no length"):
            door()
    assert not (tmp_path / "run").exists()
