"""Kill and resume a run on several processes at random moments, and check that it has the bits of an undisturbed run.

Each cycle resumes the run, and kills it or asks it to stop. Most cycles first wait for a new restart file and then for
a random time, so that the run makes progress; a few interrupt the program at any moment after its start. At the end the
run is resumed once more, to a step that it has not reached. Then snapshots, diagnostics.nc and the last restart file
are compared bit for bit with those of an undisturbed run of that length, which writes a restart file only at its end.
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
from support.faults import PROGRAM, SMALL_OPTIONS, run_swmodel, wait_until_free
from support.long_run import TAG_VARIABLE, processes_of, ranks_of
from support.restarts import assert_same_run

from swmodel.files.restart.folder import list_restart_files, step_of

RESTART_STEPS = 200
RUN_COMMAND = ["run", "jet", *SMALL_OPTIONS, "-s", "time.stepper=ab3", "-s", "time.dt=18"]
RESTART_OPTIONS = ["-s", f"restart.every_steps={RESTART_STEPS}"]
RECORD_OPTIONS = ["-s", "output.every_steps=300", "-s", "output.means=eta", "-s", "output.diagnostics_every_steps=80"]
#: Possible numbers of ranks, one digit each; the run starts with the first. The blocks of three ranks differ from the
#: chunks of the Zarr store.
RANKS_OF_FORMAT = {"netcdf": "2", "zarr": "43"}

#: Fraction of cycles that interrupt at any moment; longest wait before the interruption in these and in others, s.
FRACTION_AT_ANY_MOMENT, MAX_DELAY_AFTER_START_SECONDS, MAX_DELAY_AFTER_RESTART_SECONDS = 0.15, 4.0, 0.6


def kill_rank(process, folder, number):
    send_signal(ranks_of(folder).get(number), signal.SIGKILL)


def kill_all_processes(process, folder):
    """Kill all processes of the run, as a crash of the machine would."""
    for pid in processes_of(folder):
        send_signal(pid, signal.SIGKILL)


def signal_launcher(process, folder, signal_number=signal.SIGKILL):
    send_signal(process.pid, signal_number)


#: {name: (function that interrupts the run, exit codes that the program may then have)}
INTERRUPTIONS = {
    "SIGKILL of rank 0": (lambda *run: kill_rank(*run, 0), {70}),
    "SIGKILL of rank 1": (lambda *run: kill_rank(*run, 1), {70}),
    "SIGKILL of all": (kill_all_processes, {-signal.SIGKILL}),
    "SIGKILL of the launcher": (signal_launcher, {-signal.SIGKILL}),
    "SIGTERM": (lambda *run: signal_launcher(*run, signal.SIGTERM), {75}),
    "SIGINT": (lambda *run: signal_launcher(*run, signal.SIGINT), {75}),
}


def send_signal(pid, signal_number):
    with contextlib.suppress(ProcessLookupError):
        if pid is not None:
            os.kill(pid, signal_number)


@contextlib.contextmanager
def kill_at_end(folder):
    """A context that leaves no process of the run behind, however it ends."""
    try:
        yield
    finally:
        kill_all_processes(None, folder)


def newest_restart_step(run) -> int:
    """The step of the newest restart file; 0 if there is none."""
    return max(map(step_of, list_restart_files(run)), default=0)


def format_options(file_format: str) -> list[str]:
    return ["-s", f"output.format={file_format}", "-s", f"restart.format={file_format}"]


def start_command(file_format: str, ranks: str, *options: str) -> list[str]:
    return [*RUN_COMMAND, *RECORD_OPTIONS, *format_options(file_format), "--nproc", ranks, "--quiet", *options]


def resume_command(ranks: str) -> list[str]:
    return ["resume", "run", "--nproc", ranks, "--quiet"]


def interrupt_once(folder, rng: random.Random, file_format: str = "netcdf", interruption: str = "") -> str:
    """Start or resume the run in `folder`/run, and interrupt it, at random if `interruption` is ""; returns a message.

    Raises:
        AssertionError: the run ended by itself, wrote no restart file, left processes behind, printed a traceback, or
            had an unexpected exit code.
        subprocess.TimeoutExpired: the run did not end.
    """
    run = folder / "run"
    start_step = newest_restart_step(run)
    command = start_command(
        file_format, RANKS_OF_FORMAT[file_format][0], *RESTART_OPTIONS, "-o", "run", "--days", "10000", "--force"
    )
    command = resume_command(rng.choice(RANKS_OF_FORMAT[file_format])) if start_step else command
    name = interruption or rng.choice(list(INTERRUPTIONS))
    at_any_moment = not interruption and rng.random() < FRACTION_AT_ANY_MOMENT and start_step > 0
    interrupt, expected_codes = INTERRUPTIONS[name]
    environ = os.environ | {TAG_VARIABLE: str(folder)}
    with kill_at_end(folder), (folder / "err.txt").open("w+") as err:
        process = subprocess.Popen([*PROGRAM, *command], cwd=folder, env=environ, stderr=err, stdout=err)
        deadline = time.monotonic() + 300
        while not at_any_moment and newest_restart_step(run) <= start_step:
            assert process.poll() is None, f"the run ended by itself: {read_text(err)}"
            assert time.monotonic() < deadline, "the run has not written a new restart file"
            time.sleep(0.02)
        time.sleep(rng.uniform(0, MAX_DELAY_AFTER_START_SECONDS if at_any_moment else MAX_DELAY_AFTER_RESTART_SECONDS))
        interrupt(process, folder)
        if at_any_moment:  # the rank to kill may not have started yet
            time.sleep(0.5)
            signal_launcher(process, folder, signal.SIGTERM)
        code = process.wait(60)
        while processes_of(folder):
            assert time.monotonic() < deadline, f"processes of the run still exist: {processes_of(folder).keys()}"
            time.sleep(0.02)
        wait_until_free(run)
        assert code in expected_codes | ({75, -signal.SIGTERM} if at_any_moment else set()), (
            f"{name}: exit code {code}: {read_text(err)}"
        )
        assert "Traceback" not in read_text(err), f"{name}: {read_text(err)}"
    when = "at any moment" if at_any_moment else "after a restart"
    return f"{name} {when}: exit code {code}, from step {start_step} to {newest_restart_step(run)}"


def read_text(file):
    file.seek(0)
    return file.read()


def soak(folder, interruptions, seed: int, log=print, file_format: str = "netcdf") -> int:
    """Interrupt a run in `folder`, then compare it with an undisturbed run; returns its number of steps.

    `interruptions` are those of the cycles (see `interrupt_once`); `file_format` is that of output and restart files.

    Raises:
        AssertionError: something differs.
        AssertionError, subprocess.TimeoutExpired: see `interrupt_once`.
    """
    rng = random.Random(seed)
    for number, interruption in enumerate(interruptions, 1):
        log(f"{number}/{len(interruptions)} {interrupt_once(folder, rng, file_format, interruption)}")
    steps = newest_restart_step(folder / "run") + RESTART_STEPS // 2 + 1
    for command in (resume_command("2"), start_command(file_format, "1", "-o", "undisturbed")):
        process = run_swmodel(folder, *command, "--steps", steps)
        assert process.returncode == 0, process.stderr
    assert_same_run(folder / "run", folder / "undisturbed", steps)
    return steps


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cycles", type=int, default=100, help="number of interruptions")
    parser.add_argument(
        "--format", choices=RANKS_OF_FORMAT, default="netcdf", help="format of output and restart files"
    )
    parser.add_argument("--seed", type=int, default=random.randrange(10**6), help="default: a random seed")
    args = parser.parse_args()
    start_time = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="swmodel-soak-"))
    print(f"seed {args.seed}, in {folder}, which is kept if a check fails", flush=True)
    steps = soak(folder, [""] * args.cycles, args.seed, lambda text: print(text, flush=True), args.format)
    shutil.rmtree(folder)
    minutes = (time.monotonic() - start_time) / 60
    print(f"The same bits after {steps} steps and {args.cycles} cycles; {minutes:.1f} minutes")


if __name__ == "__main__":
    main()
