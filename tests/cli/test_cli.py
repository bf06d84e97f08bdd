"""The command line refuses wrong input, has documented exit codes and starts fast; `doctor` warns of untested JAX."""

import json
import shlex
import subprocess
import sys

import click
import pytest
from conftest import ROOT
from support.command import invoke_swmodel
from support.user_case import write_bump

from swmodel import load
from swmodel.cli import COMMAND_GROUPS, main
from swmodel.cli.doctor.findings import check_jax_version
from swmodel.errors import FilesError, NumericalError, SetupError, UsageError, exit_code

SLOW_IMPORTS = ("jax", "mpi4py", "mpi4jax", "netCDF4", "matplotlib", "scipy")
COMMANDS = {command.name: command for command in sum(COMMAND_GROUPS.values(), ())}


@pytest.fixture
def run_swmodel(tmp_path, monkeypatch):
    """A function of a line such as "run jet" that runs the program in an empty folder; returns click's Result."""
    monkeypatch.chdir(tmp_path)
    return lambda line: invoke_swmodel(*line.split())


@pytest.mark.fault("more ranks than cells")
@pytest.mark.fault("the time step is too long at the start")
@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("run nothing.toml", "nothing.toml"), ("run jet --dtype float46", '"float64"'),
        ("run inertial --nproc 4 -s grid.nx=1 -s grid.ny=3", "3 x 1 cells"),
        ("check-gradient jet --executor reference", "reference"), ("check-gradient jet --memory 0GB", "0GB"),
        ("run jet --steps 3 --days 2", "--days 2"),
        ("run jet -s physics.depth=-3", "-s physics.depth=-3"),
        ("run jet -s grid.nx=24 -s grid.ny=12 -s time.dt=1000", "time.dt: 1000 s is above the largest"),
        ("run jet --nprok 2", "--nprok"), ("rnu jet", "'run'"), ("run", "CASE|FILE"), ("plot nowhere", "nowhere"),
        ("plot nowhere --time soon", '"soon"'), ("info nowhere", "nowhere"),
    ],
)  # fmt: skip
def test_wrong_input_is_named_and_nothing_is_written(run_swmodel, tmp_path, line, message):
    result = run_swmodel(line)
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert (result.exit_code, list(tmp_path.iterdir())) == (2, [])


@pytest.mark.promise("nothing is overwritten by accident, also from Python")
@pytest.mark.fault("output exists already")
def test_folder_with_other_files_is_refused_and_left_unchanged(run_swmodel, tmp_path):
    folder = tmp_path / "outputs/jet"
    folder.mkdir(parents=True)
    files = {"notes.txt": "", "status.json": json.dumps({"state": "completed"})}
    for name, text in files.items():
        (folder / name).write_text(text)
    result = run_swmodel("run jet")
    assert (result.exit_code, "outputs/jet" in result.stderr, "--force" in result.stderr) == (2, True, True)
    assert "swmodel resume" not in result.stderr
    assert {path.name: path.read_text() for path in folder.iterdir()} == files
    (folder / "restart").mkdir()
    for name in ("config.toml", "restart/step-0000000001.nc"):
        (folder / name).write_text("")
    assert "`swmodel resume outputs/jet`" in run_swmodel("run jet").stderr


@pytest.mark.slow
@pytest.mark.fault("the folder is not writable")
def test_unwritable_folder_is_refused(run_swmodel, tmp_path):
    (tmp_path / "file").write_text("")
    for line in "check-gradient jet --json none/check.json", "run jet -o file", "run jet -o file/run":
        result = run_swmodel(line)
        assert (result.exit_code, [path.name for path in tmp_path.iterdir()]) == (5, ["file"])
        assert line.split()[-1].split("/")[0] in result.stderr


def test_init_writes_a_configuration_equal_to_that_of_the_case(run_swmodel, tmp_path):
    short_file, complete_file = tmp_path / "my.toml", tmp_path / "whole.toml"
    assert run_swmodel(f"init jet -o {short_file}").stdout == ""
    assert short_file.read_text() == run_swmodel("init jet").stdout
    complete_file.write_text(run_swmodel("init jet --all").stdout)
    assert load(short_file, environ={}) == load(complete_file, environ={}) == load("jet", environ={})
    assert len(short_file.read_text().splitlines()) < 60 < len(complete_file.read_text().splitlines())
    repeated = run_swmodel(f"init jet -o {short_file}")
    assert (repeated.exit_code, str(short_file) in repeated.stderr) == (5, True)
    overridden = run_swmodel("init jet -s grid.nx=90")
    assert "\nnx = 90 " in overridden.stdout
    assert overridden.stderr.startswith("grid.nx=90 ")
    page = run_swmodel("cases jet").stdout
    assert (page.splitlines()[0] in run_swmodel("cases").stdout, "\nspeed = 10.0 " in page) == (True, True)


@pytest.mark.fault("a case file is missing, is not Python, raises, or defines no case or several")
def test_every_command_that_takes_a_case_takes_a_case_file(run_swmodel, tmp_path):
    """Each command executes the case file, as its error shows, and writes nothing."""
    write_bump(tmp_path, "height = 0.5\nraise ValueError('for a reason')\n")
    for line in (
        *("run bump.py", "init bump.py", "cases bump.py", "assimilate bump.py", "check-gradient bump.py"),
        *("sensitivity bump.py --of energy --wrt eta", "ensemble bump.py --perturb initial.eta=0.1,5e4"),
    ):
        result = run_swmodel(line)
        assert result.exit_code == 2
        assert result.stderr.startswith("Error: bump.py:2: ValueError: for a reason")
    assert [path.name for path in tmp_path.iterdir()] == ["bump.py"]


def test_errors_have_documented_exit_codes(run_swmodel, monkeypatch):
    """An unexpected exception gives a message of one line and exit code 70, and a traceback with SWMODEL_DEBUG."""
    no_mpi, bug = ModuleNotFoundError(name="mpi4jax"), ModuleNotFoundError(name="swmodel.nothing")
    codes = {UsageError(): 2, SetupError(): 3, no_mpi: 3, NumericalError(): 4, FilesError(): 5, PermissionError(): 5}
    codes |= {MemoryError(): 3, RuntimeError("RESOURCE_EXHAUSTED: Out of memory"): 3}
    codes |= {bug: 70, ZeroDivisionError(): 70, KeyboardInterrupt(): 75}
    assert {error: exit_code(error) for error in codes} == codes
    monkeypatch.delenv("SWMODEL_DEBUG", raising=False)
    monkeypatch.setattr("swmodel.files.run_folder.check_overwritable", lambda *arguments: 1 / 0)
    result = run_swmodel("run jet")
    assert (result.exit_code, len(result.stderr.splitlines())) == (70, 1)
    assert "ZeroDivisionError" in result.stderr
    monkeypatch.setenv("SWMODEL_DEBUG", "1")
    assert "Traceback" in run_swmodel("run jet").stderr


@pytest.mark.slow
def test_commands_without_computation_import_no_jax_or_mpi():
    """`import swmodel` does not even import NumPy."""
    lines = ["--version", "run --help", "bench table --help", "bench tabel", "cases", "init jet", "run jet --nproc 0"]
    program = f"""import sys, swmodel
print('SLOW', dir(swmodel) and {{'numpy', 'pydantic'}} & set(sys.modules))
from swmodel.cli import main
for line in {lines}:
    try: main(line.split())
    except SystemExit: print('SLOW', {set(SLOW_IMPORTS)} & set(sys.modules))
"""
    process = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60)
    imports = [line for line in process.stdout.splitlines() if line.startswith("SLOW ")]
    assert imports == ["SLOW set()"] * (1 + len(lines))


def parse_line(line):
    """The name of the command in a line, after click has parsed its options without executing it."""
    words = shlex.split(line)
    words = words[words.index("swmodel") + 1 :] if "swmodel" in words else words
    command, context = main, click.Context(main)
    while isinstance(command, click.Group):
        name, *words = words
        command = command.get_command(context, name)
    command.make_context(name, words, parent=context)
    return name


@pytest.mark.parametrize("name", sorted({*COMMANDS} - {"doctor", "bench"}))
def test_help_shows_examples_that_its_command_accepts(name):
    context = click.Context(COMMANDS[name], info_name=name, parent=click.Context(main))
    lines = map(str.strip, COMMANDS[name].get_help(context).splitlines())
    assert name in {parse_line(line) for line in lines if line.startswith(("swmodel ", "mpiexec "))}


@pytest.mark.parametrize(("version", "tested"), [("0.9.2", False), ("0.10", True), ("0.12.0", True), ("0.13", False)])
def test_doctor_warns_of_untested_jax(version, tested):
    finding = check_jax_version(version)
    assert (finding.advice == "", finding.is_broken) == (tested, False)
