"""The command line: what it refuses, with which message and exit code, and that it starts fast."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from swmodel import cases
from swmodel.cli import main
from swmodel.errors import FilesError, NumericalError, SetupError, UsageError, exit_code

ROOT = Path(__file__).parents[2]
HEAVY = ("jax", "mpi4py", "mpi4jax", "netCDF4", "matplotlib")


@pytest.fixture
def swmodel(tmp_path, monkeypatch):
    """Runs the program in an empty folder: swmodel("run jet") -> result with exit_code, stdout, stderr."""
    monkeypatch.chdir(tmp_path)
    return lambda line: CliRunner().invoke(main, line if isinstance(line, list) else line.split())


@pytest.mark.fault("more ranks than cells")
@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("run jett", 'jett: there is no case or file of this name; did you mean "jet"?'),
        ("run nothing.toml", "nothing.toml: there is no such file"),
        ("run jet --dtype float46", '--dtype float46: no choice "float46"; did you mean "float64"?'),
        ("run jet -s grid.n_x=3", 'no such key; did you mean "nx"?'),
        ("run jet -s grid.nx", "-s grid.nx: write it as section.key=value"),
        ("run jet --layout 2by2", "--layout 2by2: must"),
        ("run jet --nproc 4 --layout 3x1", "layout 3x1 has 3 blocks, but there are 4 processes"),
        ("run inertial --nproc 4 -s grid.nx=1 -s grid.ny=3", "4 processes are too many for a grid of 3 x 1 cells"),
        ("check-gradient jet --executor reference", "executor reference: it has no derivatives"),
        ("run jet --nproc 2 --executor reference", "the reference runs on one process, not on 2"),
        ("run jet --steps 3 --days 2", "--days 2: give steps or days, not both"),
        ("run jet -s physics.depth=-3", "-s physics.depth=-3: must be above 0"),
        ("run jet --nprok 2", "No such option '--nprok'."),
        ("rnu jet", "No such command 'rnu'. Did you mean 'run'?"),
        ("run", "Missing argument 'CASE|FILE'"),
        ("plot nowhere", "nowhere"),
        ("plot nowhere --time soon", '"soon" is not a length of time'),
        ("info nowhere", "nowhere"),
    ],
)
def test_wrong_input_is_named_and_nothing_is_written(swmodel, tmp_path, line, message):
    result = swmodel(line)
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert (result.exit_code, list(tmp_path.iterdir())) == (2, [])


@pytest.mark.fault("the time step is too long at the start")
def test_the_largest_time_step_is_named(swmodel):
    result = swmodel("run jet -s grid.nx=24 -s grid.ny=12 -s time.dt=1000")
    assert result.exit_code == 2
    assert "time.dt" in result.stderr
    assert "largest" in result.stderr


@pytest.mark.promise("nothing is overwritten by accident, also from Python")
@pytest.mark.fault("output exists already")
@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"notes.txt": ""}, "outputs/jet exists and is not empty; give --force"),
        ({"status.json": json.dumps({"state": "completed"})}, "outputs/jet holds a run (completed); give --force"),
    ],
)
def test_a_folder_with_files_is_refused_and_kept(swmodel, tmp_path, files, message):
    folder = tmp_path / "outputs/jet"
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / name).write_text(text)
    result = swmodel("run jet")
    assert (result.exit_code, message in result.stderr) == (2, True)
    assert {path.name: path.read_text() for path in folder.iterdir()} == files


@pytest.mark.parametrize(
    ("kept", "holds", "goes_on"),
    [
        ("restart/step-0000000001.nc", "a run (stopped)", "`swmodel resume out`"),
        ("output.nc", "a run (stopped)", ""),
        ("ensemble.nc", "an ensemble (stopped)", ""),
        ("sensitivity.nc", "derivatives (stopped)", ""),
        ("progress.h5", "an assimilation (stopped)", "`swmodel assimilate out/config.toml --output out --resume`"),
    ],
)
def test_only_what_can_go_on_is_told_how(swmodel, tmp_path, kept, holds, goes_on):
    (tmp_path / "out" / kept).parent.mkdir(parents=True)
    for name in (kept, "config.toml"):
        (tmp_path / "out" / name).write_text("")
    (tmp_path / "out/status.json").write_text(json.dumps({"state": "stopped"}))
    for command in ("run jet", "sensitivity jet --of mass --wrt eta"):
        result = swmodel(f"{command} --quiet --output out")
        assert result.exit_code == 2
        assert result.stderr.startswith(f"Error: out holds {holds}; give --force")
        assert ("or continue it by" in result.stderr, goes_on in result.stderr) == (bool(goes_on), True)


@pytest.mark.fault("the folder is not writable")
@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("check-gradient jet --json none/check.json", "none"),
        ("run jet -o file", "file"),
        ("run jet -o file/run", "file is a file"),
    ],
)
def test_a_folder_that_cannot_be_written_is_refused(swmodel, tmp_path, line, words):
    (tmp_path / "file").write_text("")
    result = swmodel(line)
    assert (result.exit_code, [path.name for path in tmp_path.iterdir()]) == (5, ["file"])
    assert words in result.stderr


def test_cases_are_listed_with_their_first_line(swmodel):
    result = swmodel("cases")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    for name in cases.names():
        assert any(
            line.startswith(f"{name} ") and cases.about(cases.get(name)()).splitlines()[0] in line for line in lines
        )


def test_init_writes_a_configuration_that_runs_as_the_case(swmodel, tmp_path):
    from swmodel import load

    mine, whole = tmp_path / "my.toml", tmp_path / "whole.toml"
    assert swmodel(f"init jet -o {mine}").stdout == ""
    assert mine.read_text() == swmodel("init jet").stdout
    whole.write_text(swmodel("init jet --all").stdout)
    assert load(mine, environ={}) == load(whole, environ={}) == load("jet", environ={})
    assert len(mine.read_text().splitlines()) < 60 < len(whole.read_text().splitlines())
    again = swmodel(f"init jet -o {mine}")
    assert (again.exit_code, str(mine) in again.stderr) == (5, True)
    changed = swmodel("init jet -s grid.nx=90")
    assert "\nnx = 90 " in changed.stdout
    assert changed.stderr.startswith("grid.nx=90 makes the domain 450 km wide instead of 1800 km; ")


def test_the_package_shows_its_public_names_and_loads_them_when_they_are_used():
    program = "import swmodel, sys; print([n for n in dir(swmodel) if n[0] != '_'], *sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    names, _, modules = done.stdout.partition("] ")
    assert set(re.findall(r"\w+", names)) == {
        "Case", "Config", "ConfigError", "Parametric", "Simulation", "Term", "bmi", "errors", "functional", "gradients",
        "load", "local", "operators", "option", "plot", "resolve", "typing",
    }  # fmt: skip
    assert not {"numpy", "pydantic", *HEAVY} & {module.partition(".")[0] for module in modules.split()}


def test_an_unexpected_exception_is_one_line_and_70(swmodel, monkeypatch):
    monkeypatch.delenv("SWMODEL_DEBUG", raising=False)
    monkeypatch.setattr("swmodel.files.run_folder.check_vacant", lambda *arguments: 1 / 0)
    result = swmodel("run jet")
    assert result.exit_code == 70
    assert result.stderr.startswith("Internal error: ZeroDivisionError: division by zero (")
    assert len(result.stderr.splitlines()) == 1
    monkeypatch.setenv("SWMODEL_DEBUG", "1")
    assert "Traceback" in swmodel("run jet").stderr


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UsageError(), 2),
        (SetupError(), 3),
        (ModuleNotFoundError("no mpi4jax", name="mpi4jax"), 3),
        (NumericalError(), 4),
        (FilesError(), 5),
        (PermissionError(), 5),
        (ModuleNotFoundError("a bug", name="swmodel.nothing"), 70),
        (ZeroDivisionError(), 70),
        (KeyboardInterrupt(), 75),
    ],
)
def test_exit_codes(error, code):
    assert exit_code(error) == code


def test_what_computes_nothing_imports_neither_jax_nor_mpi():
    lines = ["--version", "run --help", "bench table --help", "bench tabel", "cases", "init jet", "run jet --nproc 0"]
    program = f"""import sys
from swmodel.cli import main
for line in {lines}:
    try: main(line.split())
    except SystemExit: print('HEAVY', line, [name for name in {HEAVY} if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60)
    found = [line for line in done.stdout.splitlines() if line.startswith("HEAVY ")]
    assert found == [f"HEAVY {line} []" for line in lines]
