"""A run on several processes, killed and resumed again and again at random moments, has the bits of an undisturbed one.

Each cycle resumes the run and ends it by force or by request. Most cycles first wait for a new restart file and then
for a random time, so that they make progress; a few strike at any moment since the start of the program. At the end the
run is resumed once more, to a step that it has not reached. Then snapshots, diagnostics.nc and the last restart file
are compared bit for bit with those of an undisturbed run of that length, which writes a restart only at its end.
"""

import argparse
import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from support.faults import PROGRAM, SMALL, swmodel, wait_until_free
from support.long_run import TAG, processes_of, ranks_of
from support.restarts import assert_same_run

from swmodel.files.restart.folder import candidates, step_of

RESTART_STEPS = 200
CASE = ["run", "jet", *SMALL, "-s", "time.stepper=ab3", "-s", "time.dt=18"]
RESTARTS = ["-s", f"restart.every_steps={RESTART_STEPS}"]
RECORDS = ["-s", "output.every_steps=300", "-s", "output.means=eta", "-s", "output.diagnostics_every_steps=80"]
#: Numbers of ranks: of the run as it begins, and of those that resume it. In a store of Zarr blocks of three ranks are
#: others than those of the files.
RANKS = {"netcdf": "2", "zarr": "43"}

#: Share of the cycles that strike at any moment since the start; latest strike after the start, and after a restart, s.
ANY_MOMENT, LATEST, AFTER = 0.15, 4.0, 0.6


def strike_rank(process, folder, number):
    """Kill one rank."""
    _send(ranks_of(folder).get(number), signal.SIGKILL)


def strike_all(process, folder):
    """Kill all processes of the run, like a crash of the machine."""
    for pid in processes_of(folder):
        _send(pid, signal.SIGKILL)


def strike_launcher(process, folder, number=signal.SIGKILL):
    """Send a signal to the program that the user has started."""
    _send(process.pid, number)


#: name: (what is done, exit codes of the program that may follow)
STRIKES = {
    "SIGKILL of rank 0": (lambda *run: strike_rank(*run, 0), {70}),
    "SIGKILL of rank 1": (lambda *run: strike_rank(*run, 1), {70}),
    "SIGKILL of all": (strike_all, {-signal.SIGKILL}),
    "SIGKILL of the launcher": (strike_launcher, {-signal.SIGKILL}),
    "SIGTERM": (lambda *run: strike_launcher(*run, signal.SIGTERM), {75}),
    "SIGINT": (lambda *run: strike_launcher(*run, signal.SIGINT), {75}),
}


def _send(pid, number):
    with contextlib.suppress(ProcessLookupError):
        if pid is not None:
            os.kill(pid, number)


@contextlib.contextmanager
def ending(folder):
    """A context that leaves no process of the run behind, whatever ends it."""
    try:
        yield
    finally:
        strike_all(None, folder)


def reached(run) -> int:
    """The step of the newest restart file; 0 if there is none."""
    return max(map(step_of, candidates(run)), default=0)


def formats(store: str) -> list[str]:
    """The options with the formats of a run."""
    return ["-s", f"output.format={store}", "-s", f"restart.format={store}"]


def begin_run(store: str, ranks: str, *options: str) -> list[str]:
    """The command that begins a run."""
    return [*CASE, *RECORDS, *formats(store), "--nproc", ranks, "--quiet", *options]


def resume(ranks: str) -> list[str]:
    """The command that continues the run."""
    return ["resume", "run", "--nproc", ranks, "--quiet"]


def cycle(folder, chance: random.Random, store: str = "netcdf", strike: str = "") -> str:
    """Resume the run in `folder`/run, or begin it anew, and end it by a strike, "" for any; returns a line about it.

    Raises:
        AssertionError: it did not end, left processes behind, or ended otherwise than it should.
    """
    run = folder / "run"
    begin = reached(run)
    line = begin_run(store, RANKS[store][0], *RESTARTS, "-o", "run", "--days", "10000", "--force")
    line = resume(chance.choice(RANKS[store])) if begin else line
    name = strike or chance.choice(list(STRIKES))
    early = not strike and chance.random() < ANY_MOMENT and begin > 0
    act, codes = STRIKES[name]
    environ = os.environ | {TAG: str(folder)}
    with ending(folder), (folder / "err.txt").open("w+") as err:
        process = subprocess.Popen([*PROGRAM, *line], cwd=folder, env=environ, stderr=err, stdout=err)
        deadline = time.monotonic() + 300
        while not early and reached(run) <= begin:
            assert process.poll() is None, f"ended by itself: {_text(err)}"
            assert time.monotonic() < deadline, "no progress"
            time.sleep(0.02)
        time.sleep(chance.uniform(0, LATEST if early else AFTER))
        act(process, folder)
        if early:  # the rank to be killed may not have been there yet
            time.sleep(0.5)
            strike_launcher(process, folder, signal.SIGTERM)
        code = process.wait(60)
        while processes_of(folder):
            assert time.monotonic() < deadline, f"left behind: {processes_of(folder).keys()}"
            time.sleep(0.02)
        wait_until_free(run)
        assert code in codes | ({75, -signal.SIGTERM} if early else set()), f"{name}: exit code {code}: {_text(err)}"
        assert "Traceback" not in _text(err), f"{name}: {_text(err)}"
    when = "at any moment" if early else "after a restart"
    return f"{name} {when}: exit code {code}, from step {begin} to {reached(run)}"


def _text(file):
    file.seek(0)
    return file.read()


def soak(folder, strikes, seed: int, say=print, store: str = "netcdf") -> int:
    """Disturb a run in `folder` by strikes, "" for any, then compare it with an undisturbed one.

    Returns its number of steps. `store`: the format of its output and restart files.

    Raises:
        AssertionError: something differs, or a cycle did not end as it should.
    """
    chance = random.Random(seed)
    for number, strike in enumerate(strikes, 1):
        say(f"{number}/{len(strikes)} {cycle(folder, chance, store, strike)}")
    steps = reached(folder / "run") + RESTART_STEPS // 2 + 1
    for line in (resume("2"), begin_run(store, "1", "-o", "undisturbed")):
        done = swmodel(folder, *line, "--steps", steps)
        assert done.returncode == 0, done.stderr
    assert_same_run(folder / "run", folder / "undisturbed", steps)
    return steps


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cycles", type=int, default=100)
    parser.add_argument("--format", choices=RANKS, default="netcdf")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    arguments = parser.parse_args()
    begin = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="swmodel-soak-"))
    print(f"seed {arguments.seed}, in {folder}, which stays if something is wrong", flush=True)
    steps = soak(
        folder, [""] * arguments.cycles, arguments.seed, lambda text: print(text, flush=True), arguments.format
    )
    shutil.rmtree(folder)
    minutes = (time.monotonic() - begin) / 60
    print(f"The same bits after {steps} steps and {arguments.cycles} cycles; {minutes:.1f} minutes")


if __name__ == "__main__":
    main()
