"""`swmodel sensitivity`: what it refuses, without JAX and before anything is written, and that it stops when asked."""

import subprocess
import sys

import pytest
from click.testing import CliRunner
from support.processes import python

from swmodel.cli import main
from swmodel.files.status import read_status

pytestmark = pytest.mark.slow

SMALL = "-s grid.nx=23 -s grid.ny=11 -s grid.dx=8e4 -s grid.dy=8e4"


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs `swmodel sensitivity jet` on a small grid in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return lambda line: CliRunner().invoke(main, f"sensitivity jet {SMALL} {line}".split())


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--of sealevel:1,2 --wrt eta", '"sea_level"'),
        ("--of heat --wrt eta", "eta:X,Y; sea_level:X,Y; transport:x=X"),
        ("--of sea_level --wrt eta", "sea_level:X,Y"),
        ("--of sea_level:nan,2 --wrt eta", "x = nan m"),
        ("--of sea_level:1e5,-1e5 --wrt eta", "y = -100000 m is outside the domain, -40000 to 840000 m"),
        ("--of transport:1e5 --wrt eta", '"1e5"'),
        ("--of transport:x=1,x=2 --wrt eta", "section"),
        ("--of transport:from=1 --wrt eta", "section"),
        ("--of transport:x=-1e6 --wrt eta", "x = -1e+06 m"),
        ("--of transport:x=1e5,from=2e5,to=1e5 --wrt eta", "from=200000"),
        ("--of transport:y=-4e4 --wrt eta", "no water"),
        ("--of energy:3 --wrt eta", "leave out 3"),
        ("--of energy --wrt dept", '"depth"'),
        ("--of energy --wrt salt", "eta, u, v, depth, "),
        ("--of energy --wrt eta --executor reference", "executor reference"),
        ("--of energy", "--wrt"),
    ],
)
def test_wrong_input_is_named_and_nothing_is_written(run, tmp_path, line, message):
    result = run(line)
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert (result.exit_code, list(tmp_path.iterdir())) == (2, [])


CHECK = """
import sys, swmodel
from swmodel.gradients.sensitivity import check_request
check_request(swmodel.resolve(swmodel.load('jet')), 'transport:x=1e5', ['depth', 'viscosity'])
print(*(name for name in ('jax', 'mpi4py', 'netCDF4', 'matplotlib') if name in sys.modules))
"""


def test_request_is_checked_without_jax():
    assert python(CHECK) == []


@pytest.mark.fault("a tidal analysis in the configuration stops a task that makes none")
def test_command_shows_derivatives_and_leaves_its_files(run, tmp_path):
    """Also with an analysis of tides that a run of this length could not tell apart."""
    analysed = '-s output.harmonics=["M2","S2"]'
    result = run(f"--of sea_level:8e5,4e5 --wrt eta --wrt gravity --steps 3 --output out --mean {analysed}")
    assert result.exit_code == 0, result.output
    for words in ("mean sea level at x = 800 km, y = 400 km: ", "by eta: largest ", "by gravity: ", "step 0 of 3"):
        assert words in result.output
    files = {path.name for path in (tmp_path / "out").iterdir()}
    assert files == {"config.toml", "sensitivity.nc", "sensitivity.png", "status.json"}
    assert run("--of sea_level:8e5,4e5 --wrt eta --steps 3 --output out").exit_code == 2
    for line in ("info out", "plot out/sensitivity.nc --field d_sea_level_d_eta"):
        done = CliRunner().invoke(main, line.split())
        assert done.exit_code == 0, done.output


#: The command, with a computation that no handler of Python interrupts, as compilation is one.
BUSY = """
import ctypes, os, signal
from swmodel.cli import main
from swmodel.gradients import sensitivity

def compute(*arguments):
    os.kill(os.getpid(), signal.SIGINT)
    ctypes.CDLL(None).sigwait(ctypes.create_string_buffer(128), ctypes.byref(ctypes.c_int()))

sensitivity.compute = compute
main(["sensitivity", "jet", "--of", "mass", "--to", "eta", "--steps", "2", "--executor", "xla", "--quiet", "-o", "out"])
"""


@pytest.mark.fault("Ctrl-C has no effect while a gradient is compiled")
@pytest.mark.night
def test_signal_ends_the_command_whatever_it_computes(tmp_path):
    done = subprocess.run([sys.executable, "-c", BUSY], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 75
    assert "SIGINT" in done.stderr
    assert done.stderr.count("\n") == 1
    assert read_status(tmp_path / "out")["state"] == "stopped"
