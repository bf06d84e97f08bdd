"""`swmodel sensitivity`: what it refuses, without JAX and before anything is written, and that it stops when asked."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from swmodel.cli import main
from swmodel.errors import Stopped
from swmodel.files.status import read_status
from swmodel.gradients import sensitivity

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SMALL = "-s grid.nx=23 -s grid.ny=11 -s grid.dx=8e4 -s grid.dy=8e4"


@pytest.fixture
def swmodel(tmp_path, monkeypatch):
    """Runs `swmodel sensitivity jet` on a small grid in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return lambda line: CliRunner().invoke(main, f"sensitivity jet {SMALL} {line}".split())


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--of sealevel:1,2 --wrt eta", '--of sealevel:1,2: no quantity "sealevel"; did you mean "sea_level"?'),
        ("--of heat --wrt eta", "write eta:X,Y; sea_level:X,Y; transport:x=X or transport:y=Y"),
        ("--of sea_level --wrt eta", '"" is no position; write x and y in m, sea_level:X,Y'),
        ("--of sea_level:nan,2 --wrt eta", "x = nan m is outside the domain"),
        ("--of sea_level:1e5,-1e5 --wrt eta", "y = -100000 m is outside the domain, -40000 to 840000 m"),
        ("--of transport:1e5 --wrt eta", '"1e5" is no section; write transport:x=X'),
        ("--of transport:x=1,x=2 --wrt eta", "is no section"),
        ("--of transport:from=1 --wrt eta", "is no section"),
        ("--of transport:x=-1e6 --wrt eta", "x = -1e+06 m is outside the domain"),
        ("--of transport:x=1e5,from=2e5,to=1e5 --wrt eta", "from=200000 is not below to=100000"),
        ("--of transport:y=-4e4 --wrt eta", "no water flows through it"),
        ("--of energy:3 --wrt eta", "of the whole domain; leave out 3"),
        ("--of energy --wrt dept", '--wrt dept: no such field; did you mean "depth"?'),
        ("--of energy --wrt salt", "no such field; fields are eta, u, v, depth, "),
        ("--of energy --wrt eta --executor reference", "executor reference: it has no derivatives"),
        ("--of energy", "Missing option '--wrt'"),
    ],
)
def test_wrong_input_is_named_and_nothing_is_written(swmodel, tmp_path, line, message):
    result = swmodel(line)
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert (result.exit_code, list(tmp_path.iterdir())) == (2, [])


def test_a_station_on_land_is_refused():
    import numpy as np
    from support.random_case import configuration

    from swmodel.errors import UsageError
    from swmodel.gradients.quantities import parse

    mask = np.ones((7, 9))
    mask[2:4, 3] = 0.0
    config = configuration(7, 9, {"mask": mask})
    with pytest.raises(UsageError, match="the station at x = 14000 m, y = 12500 m is on land; the nearest water is"):
        parse("sea_level:14e3,12.5e3", config)
    with pytest.raises(UsageError, match="all land or wall"):
        parse("transport:x=12e3,from=1e4,to=2e4", config)


def test_it_is_checked_without_jax(tmp_path):
    program = (
        "import sys, swmodel\n"
        "from swmodel.gradients.sensitivity import check_request\n"
        "check_request(swmodel.resolve(swmodel.load('jet')), 'transport:x=1e5', ['depth', 'viscosity'])\n"
        "print(*(name for name in ('jax', 'mpi4py', 'netCDF4', 'matplotlib') if name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_the_command_says_what_it_found_and_where(swmodel, tmp_path):
    result = swmodel("--of sea_level:8e5,4e5 --wrt eta --wrt gravity --steps 3 --output out --mean")
    assert result.exit_code == 0, result.output
    assert "mean sea level at x = 800 km, y = 400 km: " in result.output
    assert "by eta: largest " in result.output
    assert "by gravity: " in result.output
    assert "6/6  backward, step 0 of 3" in result.output
    files = {path.name for path in (tmp_path / "out").iterdir()}
    assert files == {"config.toml", "sensitivity.nc", "sensitivity.png", "status.json"}
    again = swmodel("--of sea_level:8e5,4e5 --wrt eta --steps 3 --output out")
    assert again.exit_code == 2
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
def test_a_signal_ends_it_soon_whatever_it_computes(tmp_path):
    done = subprocess.run([sys.executable, "-c", BUSY], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (75, "stopped by SIGINT; nothing is kept, start again\n")
    assert read_status(tmp_path / "out")["state"] == "stopped"


@pytest.mark.fault("a tidal analysis in the configuration stops a task that makes none")
@pytest.mark.night
def test_tides_that_a_run_of_this_length_could_not_tell_apart_do_not_stop_it(swmodel, tmp_path):
    analysed = '-s output.harmonics=["M2","S2"] --of mass --wrt eta --steps 2 --output out'
    assert swmodel(analysed).exit_code == 0
    assert sorted(path.name for path in (tmp_path / "out").glob("*.nc")) == ["sensitivity.nc"]


@pytest.mark.night
def test_a_signal_stops_it_between_pieces(tmp_path):
    import swmodel

    config = swmodel.resolve(swmodel.load("jet", [*SMALL.replace("-s ", "").split(), "run.steps=5000"], environ={}))
    options = {"of": "mass", "wrt": ["eta"], "mean": False, "memory": None}
    events = []

    def report(event):
        events.append(event)
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(Stopped, match=r"stopped by SIGINT on the way forward, at step \d+; nothing is saved") as error:
        sensitivity.compute(config, tmp_path, options, report, "", lambda function: None)
    assert error.value.exit_code == 75
    assert len(events) == 1
    assert list(tmp_path.iterdir()) == []
