"""Progress of a run: a bar on a terminal, elsewhere a line every ten seconds.

Under mpiexec a rank's stdout is a pipe, which cannot show a bar. So the ranks that `model.launch` starts print events
as lines of JSON, which the launcher reads and displays.
"""

from __future__ import annotations

import datetime
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ..files import run_folder
from ..parallel.environment import STARTED_BY_LAUNCHER_VARIABLE

MESSAGE_PREFIX = "@swmodel "
HEARTBEAT_SECONDS = 10.0
#: Result files that only some runs have.
OPTIONAL_FILES = (
    run_folder.SPECTRA,
    run_folder.STATIONS,
    run_folder.SECTIONS,
    run_folder.DRIFTERS,
    run_folder.HARMONICS,
)


@contextmanager
def make_reporter(quiet: bool = False) -> Iterator[Callable[[dict], None]]:
    """A context with the function that shows the events of a run to the user, or passes them to the launcher.

    An event is a dict: step, steps, model_seconds, cell_updates_per_second, cfl, energy, wall_seconds,
    remaining_seconds, and for an ensemble member_steps_per_second; or only step, steps and words.
    """
    if STARTED_BY_LAUNCHER_VARIABLE in os.environ:
        yield send_message
    elif quiet:
        yield lambda event: None
    elif sys.stdout.isatty() and os.environ.get("TERM") != "dumb":
        with bar_reporter() as report:
            yield report
    else:
        yield line_reporter()


def send_message(message: dict) -> None:
    """Write a message to the launcher as one line, by a single write, because all ranks share the pipe."""
    sys.stdout.write(f"{MESSAGE_PREFIX}{json.dumps(message)}\n")
    sys.stdout.flush()


def parse_message(line: str) -> dict | None:
    """The message in a line from a rank; None for ordinary text."""
    try:
        return json.loads(line.removeprefix(MESSAGE_PREFIX)) if line.startswith(MESSAGE_PREFIX) else None
    except ValueError:
        return None


def format_event(event: dict) -> tuple[str, str]:
    """Two lines about an event: step, model time and remaining time; speed, CFL number and energy.

    If the event has `words`, they are the second line, after the step.
    """
    if "words" in event:
        return f"{event['step']}/{event['steps']}", event["words"]
    cell_speed, member_speed = event["cell_updates_per_second"], event.get("member_steps_per_second")
    progress_words = [f"step {event['step']}/{event['steps']}", f"day {event['model_seconds'] / 86400:.2f}"]
    if event["remaining_seconds"] is not None:
        progress_words.append(f"{datetime.timedelta(seconds=round(event['remaining_seconds']))} left")
    speed_words = [
        f"{cell_speed / 1e6:.1f} million cells/s" if cell_speed else "",
        f"{member_speed:.4g} members x steps/s" if member_speed else "",
        f"CFL {event['cfl']:.2f}" if event["cfl"] is not None else "",
        f"energy {event['energy']:.4e} J" if event["energy"] is not None else "",
    ]
    return "  ".join(progress_words), "  ".join(filter(None, speed_words))


def line_reporter() -> Callable[[dict], None]:
    """A function that prints the first and the last event, events with words, and one event every ten seconds."""
    next_time = -1.0

    def report(event: dict) -> None:
        nonlocal next_time
        if time.monotonic() >= next_time or event["step"] == event["steps"] or "words" in event:
            next_time = time.monotonic() + HEARTBEAT_SECONDS
            print("  ".join(format_event(event)).rstrip(), flush=True)

    return report


@contextmanager
def bar_reporter() -> Iterator[Callable[[dict], None]]:
    """A context with a function that draws a progress bar; without colours if NO_COLOR is set."""
    from rich.progress import BarColumn, Progress, TextColumn

    with Progress(BarColumn(20), TextColumn("{task.description}", markup=False)) as bar:
        task = bar.add_task("starting", total=None)

        def report(event: dict) -> None:
            text = "\n".join(format_event(event))
            bar.update(task, description=text, completed=event["step"], total=event["steps"])

        yield report


def describe_processes(nproc: int, devices: int) -> str:
    if devices == 1:
        return "1 process" if nproc == 1 else f"{nproc} processes"
    return f"{devices} devices" if nproc == 1 else f"{nproc} processes with {devices} devices each"


def summary(status: dict, directory) -> str:
    """Files, wall time and speed of a run or an ensemble, and the next command, in words."""
    target = Path(directory)
    if "members" in status:
        files, target = [run_folder.ENSEMBLE, "ensemble.png", run_folder.RESTART_FOLDER], target / run_folder.ENSEMBLE
        members = f"{status['members']} members, "
        speed = f"{status['member_steps_per_second']:.4g} members x steps"
    else:
        snapshots = next((name for name in run_folder.SNAPSHOT_FILES if (target / name).exists()), run_folder.OUTPUT)
        files = [snapshots, run_folder.DIAGNOSTICS, *(name for name in OPTIONAL_FILES if (target / name).is_file())]
        members = ""
        speed = f"{status['cell_updates_per_second'] / 1e6:.1f} million cell updates"
    (py, px), devices = status["layout"], status.get("devices", 1)
    blocks = f" ({py}x{px} blocks)" if py * px > 1 else ""
    return (
        f"{directory}: {', '.join([*files, run_folder.CONFIG, run_folder.STATUS])}\n"
        f"{members}{status['steps']} steps, {status['model_seconds'] / 86400:.4g} model days in "
        f"{status['wall_seconds']:.1f} s, of which compilation {status['compile_seconds']:.1f} s\n"
        f"{speed} per second on {describe_processes(status['nproc'], devices)}{blocks}\n"
        f"Next: swmodel plot {target}"
    )
