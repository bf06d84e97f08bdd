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

#: {words of the refusal: (case, what it is given)}
BAD = {
    "physics.beta": ("jet", {"grid.periodic_y": True}),
    "cannot be separated": ("rest", {"output.harmonics": ["M2", "S2"], "time.start": "2020-01-01"}),
    "largest stable time step": ("rest", {"time.dt": 3600.0}),
    "sponge.width": ("rest", {"sponge.rate": 1e-4}),
    "has no wind_x": ("rest", {"output.fields": ["eta", "wind_x"]}),
    "there is no file": ("rest", {"input.depth": "nowhere.nc"}),
    "run.layout": ("rest", {"run.layout": "2x3"}),
}


def from_file(case, given, folder):
    (folder / "run.toml").write_text(to_toml(swmodel.load(case, given)))
    return swmodel.Simulation(folder / "run.toml")


def by_command(name):
    def door(case, given, folder):
        words = [word for key, value in given.items() for word in ("-s", f"{key}={value}".replace("'", '"'))]
        extra = ["--of", "energy", "--to", "eta"] if name == "sensitivity" else []
        done = CliRunner().invoke(main, [name, case, *words, *extra, "-o", str(folder / "run")])
        assert done.exit_code == 2, done.output
        assert not (folder / "run").exists()
        raise ConfigError(line.removeprefix("Error: ") for line in done.output.splitlines())

    return door


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
OTHERWISE = {"cannot be separated": {"ensemble", "sensitivity"}, "run.layout": {"ensemble"}}


@pytest.mark.fault("Python, derivatives, ensembles or assimilation accept a configuration that the command refuses")
@pytest.mark.parametrize("words", BAD)
def test_all_that_make_a_run_refuse_bad_configuration(tmp_path, words):
    (case, given), told = BAD[words], {}
    for name in DOORS.keys() - OTHERWISE.get(words, set()):
        with pytest.raises(ConfigError) as caught:
            DOORS[name](case, SMALL | given, tmp_path)
        assert exit_code(caught.value) == 2
        told[name] = [line for line in caught.value.problems if words in line]
    assert all(len(lines) == 1 and lines == told["run"] for lines in told.values()), told


@pytest.mark.fault("Python, derivatives, ensembles or assimilation accept a configuration that the command refuses")
def test_run_to_its_end_needs_a_length(tmp_path):
    given = SMALL | {"run.days": None}
    model = swmodel.Simulation("jet", given)
    model.advance(2)
    for door in (lambda: model.run(tmp_path / "run"), lambda: Problem(swmodel.load("jet", given), "eta", observe)):
        with pytest.raises(ConfigError, match=r"run\.days"):
            door()
    assert not (tmp_path / "run").exists()
