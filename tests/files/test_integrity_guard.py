"""The process that examines files: its limits of time, and what a signal or its end says about a file: nothing."""

import os
import select
import signal
import subprocess
import sys

import netCDF4
import pytest
from conftest import ROOT
from support.restarts import FILES

from swmodel.files.integrity import guard
from swmodel.files.integrity.examine import examine
from swmodel.files.verify import verdicts


def act(action):
    """The program, which does something before it examines a file."""
    return (
        "import os, resource, signal, sys, time; sys.path.insert(0, sys.argv[1])\n"
        "from swmodel.files.integrity import examine, program\n"
        "real = examine.examine\n"
        "def look(path, **options):\n"
        f"    {action}\n"
        "    return real(path, **options)\n"
        "examine.examine = look\n"
        "program.main(sys.argv[2])\n"
    )


def test_the_time_for_a_file_goes_by_the_unpacked_size_of_what_is_read(tmp_path):
    """Zeros are packed a thousandfold."""
    path = tmp_path / "zeros.nc"
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("time")
        file.createDimension("y", 1000)
        file.createVariable("h", "f8", ("time", "y", "y"), compression="zlib", chunksizes=(1, 500, 1000))
        file["h"][0:2] = 0.0
        file.createVariable("time", "f8", ("time",), chunksizes=(2,))[:] = 0.0
    assert path.stat().st_size < 100_000
    for full, nbytes in ((True, 16_000_016), (False, 16)):
        found = []
        examine(path, full=full, allow=found.append)
        assert found == [nbytes]


def test_each_file_has_limits_of_time_of_its_own(halfway, monkeypatch):
    limits = "'cpu': resource.getrlimit(resource.RLIMIT_CPU)[0], 'wall': signal.getitimer(signal.ITIMER_REAL)[0]"
    monkeypatch.setattr(guard, "PROGRAM", act(f"options['allow'](2e9); return {{{limits}}}"))
    for found in guard.facts([guard.Job(halfway / name) for name in FILES]):
        assert 110 <= found["cpu"] < 125
        assert 600 < found["wall"] <= 660


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_all_processes_of_a_job_says_nothing_about_a_file(halfway, monkeypatch, number):
    """One to those of a terminal does not come to the program at all."""
    action = f"assert os.getsid(0) == os.getpid(); os.kill(os.getpid(), {number:d})"
    monkeypatch.setattr(guard, "PROGRAM", act(action))
    assert verdicts(halfway / "diagnostics.nc") == {"diagnostics.nc": "intact"}


def test_neither_does_one_that_comes_before_the_program_ignores_it(halfway, monkeypatch, tmp_path):
    once = tmp_path / "once"
    kill = f"import os\nif not os.path.exists({str(once)!r}):\n    os.mkdir({str(once)!r}); os.kill(os.getpid(), 15)\n"
    monkeypatch.setattr(guard, "PROGRAM", kill + act("pass"))
    assert verdicts(halfway / "diagnostics.nc") == {"diagnostics.nc": "intact"}
    assert once.exists()


def test_the_program_ends_with_what_started_it(halfway, tmp_path):
    told = tmp_path / "pid"
    os.mkfifo(told)
    program = act(f"open({str(told)!r}, 'w').write(str(os.getpid())); time.sleep(600)")
    job = f"guard.PROGRAM = {program!r}; guard.facts([guard.Job({str(halfway / 'diagnostics.nc')!r})])"
    line = [sys.executable, "-c", f"from swmodel.files.integrity import guard; {job}"]
    with subprocess.Popen(line, cwd=ROOT) as parent:
        pipe = os.open(told, os.O_RDONLY | os.O_NONBLOCK)
        select.select([pipe], [], [], 60)
        child = os.pidfd_open(int(os.read(pipe, 100)))
        os.close(pipe)
        parent.kill()
    try:
        assert select.select([child], [], [], 30)[0]
    finally:
        os.close(child)


def test_half_a_line_of_the_program_is_passed_over(halfway, monkeypatch):
    """It may end in the middle of one."""
    half = """sys.stdout.write('{"dam'); sys.stdout.flush(); os.kill(os.getpid(), 11)"""
    monkeypatch.setattr(guard, "PROGRAM", act(half))
    words = "cannot be read: HDF5 crashed on it (exit code -11)"
    assert verdicts(halfway / "diagnostics.nc") == {"diagnostics.nc": words}
