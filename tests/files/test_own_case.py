"""A run of a user's own case keeps the file of it: to go on with on any machine, and with no other."""

import os
import shutil

import netCDF4
import pytest
from click.testing import CliRunner
from support.own_case import BUMP, SHORT, write_bump
from support.restarts import assert_same_run

import swmodel
from swmodel.cli import main
from swmodel.config import ConfigError

pytestmark = pytest.mark.slow

#: Tells whenever the file of the case is executed.
TELLTALE = "import os\nos.environ['EXECUTED'] = str(int(os.environ.get('EXECUTED', 0)) + 1)\n" + BUMP


def cli(*arguments):
    return CliRunner().invoke(main, [*map(str, arguments), "--quiet"] if arguments[0] == "resume" else arguments)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A run of six steps with restart files at three and six; the original file is gone."""
    folder = tmp_path_factory.mktemp("bump")
    path = write_bump(folder)
    swmodel.Simulation(swmodel.load(path, SHORT, {})).run(folder / "run")
    path.unlink()
    return folder / "run"


@pytest.fixture
def run(made, tmp_path):
    """A copy of it in another folder."""
    return shutil.copytree(made, tmp_path / "moved")


def test_the_folder_and_the_files_of_a_run_hold_the_case(run):
    assert (run / "case.py").read_text(encoding="utf-8") == BUMP
    assert 'name = "bump"\nfile = "case.py"\nsha256 = "' in (run / "config.toml").read_text()
    for path in (run / "output.nc", run / "diagnostics.nc", run / "restart" / "step-0000000006.nc"):
        with netCDF4.Dataset(path) as data:
            assert data.case_file == BUMP
            assert data.title.startswith("A bump of sea level in a closed basin, which runs out as a ring of waves")


@pytest.mark.fault("the case file of a run has changed, or is gone")
def test_a_restart_file_alone_is_enough(run, tmp_path):
    alone = shutil.copy(run / "restart" / "step-0000000003.nc", tmp_path / "alone.nc")
    whole = swmodel.Simulation.from_restart(run)
    shutil.rmtree(run)
    other = swmodel.Simulation.from_restart(alone)
    assert (other.step, other.config) == (3, whole.config)
    other.advance(3)
    for ours, theirs in zip(other.state, whole.state, strict=True):
        assert ours.tobytes() == theirs.tobytes()


@pytest.mark.fault("the case file of a run has changed, or is gone")
def test_another_case_is_refused(run):
    was = (run / "output.nc").read_bytes()
    (run / "case.py").write_text(BUMP + "# as before\n")
    done = cli("resume", run, "--steps", 9)
    assert done.exit_code == 2
    assert done.stderr.startswith(f"Error: {run}/config.toml:3: case.file: {run}/case.py: was changed: its SHA-256 is ")
    config = (run / "config.toml").read_text().splitlines()
    (run / "config.toml").write_text("\n".join(line for line in config if not line.startswith("sha256")))
    done = cli("resume", run, "--steps", 9)
    assert done.exit_code == 2
    assert "is from another run:\nError: case.file: SHA-256 " in done.stderr
    (run / "case.py").unlink()
    done = cli("resume", run, "--steps", 9)
    assert (done.exit_code, done.stderr) == (
        2, f"Error: {run}/config.toml:3: case.file: {run}/case.py: there is no such file\n",
    )  # fmt: skip
    assert (run / "output.nc").read_bytes() == was


@pytest.mark.fault("a folder from someone else holds a case file")
@pytest.mark.night
def test_looking_at_a_run_executes_nothing(tmp_path, monkeypatch):
    path, folder = write_bump(tmp_path, TELLTALE), tmp_path / "run"
    monkeypatch.setenv("EXECUTED", "0")
    swmodel.Simulation(swmodel.load(path, SHORT, {})).run(folder)
    assert os.environ["EXECUTED"] == "1"
    (folder / "case.py").write_text(TELLTALE + "# executed anew where it is loaded\n")
    told = cli("info", str(folder))
    assert "case         bump, case.py\n" in told.stdout
    assert "changed" not in told.stdout
    assert cli("plot", str(folder), "--output", str(tmp_path / "plot.png")).exit_code == 0
    told = cli("info", "--verify", str(folder))
    assert told.exit_code == 5
    assert "case.py: damaged: its SHA-256 is not the one in config.toml\n" in told.stdout
    assert "config.toml: can be read" in told.stdout
    assert os.environ["EXECUTED"] == "1"
    (folder / "case.py").write_text(TELLTALE)
    assert "case.py: intact\n" in cli("info", "--verify", str(folder)).stdout
    (folder / "case.py").unlink()
    assert "case.py: cannot be read: No such file" in cli("info", "--verify", str(folder)).stdout


@pytest.mark.night
def test_a_class_from_python_goes_on_without_it_as_the_run_has_its_fields(tmp_path):
    class Bump(swmodel.Case):
        height: float = swmodel.option(0.5, "m", "height")

        def eta(self, config, at):
            return self.height * (at.i > 3)

    swmodel.Simulation(swmodel.load(Bump, SHORT | {"case.height": 0.2}, {})).run(tmp_path / "run")
    assert not (tmp_path / "run" / "case.py").exists()
    for case in (None, Bump):
        simulation = swmodel.Simulation.from_restart(tmp_path / "run", case=case)
        assert (simulation.step, simulation.config.case.height) == (6, 0.2)
    done = cli("resume", tmp_path / "run", "--steps", 9)
    assert (done.exit_code, done.stderr) == (0, "")
    longer = swmodel.load(Bump, SHORT | {"case.height": 0.2, "run.steps": 12}, {})
    swmodel.Simulation(longer, restart=tmp_path / "run" / "restart" / "step-0000000009.nc").run(tmp_path / "run")
    swmodel.Simulation(longer).run(tmp_path / "whole")
    assert_same_run(tmp_path / "run", tmp_path / "whole", 12)


@pytest.mark.fault("the term or class differs when a run continues")
def test_of_a_class_that_has_changed_the_run_takes_nothing(tmp_path):
    class Bump(swmodel.Case):
        def eta(self, config, at):
            return 0.1 * (at.i > 3)

    swmodel.Simulation(swmodel.load(Bump, SHORT | {"time.dt": 10.0}, {})).run(tmp_path / "run")
    Bump.eta = lambda self, config, at: 0.2 * (at.i > 3)
    longer = swmodel.load(Bump, SHORT | {"time.dt": 10.0, "run.steps": 9}, {})
    with pytest.raises(ConfigError, match=r"python\.eta: SHA-256 .* before, SHA-256 .* now"):
        swmodel.Simulation(longer, restart=tmp_path / "run" / "restart" / "step-0000000006.nc").run(tmp_path / "run")
