"""Progress of a run: a bar on a terminal, a line every ten seconds elsewhere.

Under mpiexec a rank's stdout is a pipe, which cannot show a bar. So ranks that `model.launch` started print each event
as a line of JSON, which the launcher reads and displays.
"""

from __future__ import annotations

import datetime
import json
import os
import sys
import time
from pathlib import Path

from ..files.run_folder import (
    CONFIG,
    DIAGNOSTICS,
    DRIFTERS,
    ENSEMBLE,
    HARMONICS,
    OUTPUT,
    RESTART_FOLDER,
    SECTIONS,
    SNAPSHOT_FILES,
    SPECTRA,
    STATIONS,
    STATUS,
)
from ..parallel.environment import LAUNCHER_VARIABLE

MESSAGE_PREFIX = "@swmodel "
HEARTBEAT_SECONDS = 10.0


def make_reporter(quiet: bool = False, stream=None) -> Reporter:
    """The Reporter for this process; `stream`: where it writes, None for stdout."""
    stream = stream or sys.stdout
    if LAUNCHER_VARIABLE in os.environ:
        return LauncherReporter(stream)
    if quiet:
        return Reporter()
    return BarReporter(stream) if stream.isatty() and os.environ.get("TERM") != "dumb" else LineReporter(stream)


def send_message(message: dict, stream=None):
    """Write a message to the launcher as a line, in a single write, because all ranks share the pipe."""
    stream = stream or sys.stdout
    stream.write(f"{MESSAGE_PREFIX}{json.dumps(message)}\n")
    stream.flush()


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
    cells, members = event["cell_updates_per_second"], event.get("member_steps_per_second")
    progress_words = [f"step {event['step']}/{event['steps']}", f"day {event['model_seconds'] / 86400:.2f}"]
    if event["remaining_seconds"] is not None:
        progress_words.append(f"{datetime.timedelta(seconds=round(event['remaining_seconds']))} left")
    speed_words = [
        f"{cells / 1e6:.1f} million cells/s" if cells else "",
        f"{members:.4g} members x steps/s" if members else "",
        f"CFL {event['cfl']:.2f}" if event["cfl"] is not None else "",
        f"energy {event['energy']:.4e} J" if event["energy"] is not None else "",
    ]
    return "  ".join(progress_words), "  ".join(filter(None, speed_words))


class Reporter:
    """Base of displays of events on rank 0, which are context managers; this one shows nothing.

    An event is a dict: step, steps, model_seconds, cell_updates_per_second, cfl, energy, wall_seconds,
    remaining_seconds, and for an ensemble member_steps_per_second; or only step, steps and words.
    """

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def __call__(self, event: dict):
        pass


class LauncherReporter(Reporter):
    def __init__(self, stream):
        self.stream = stream

    def __call__(self, event: dict):
        send_message(event, self.stream)


class LineReporter(Reporter):
    """Prints the first and the last event, those with words, and one every ten seconds."""

    def __init__(self, stream, clock=time.monotonic):
        self.stream, self.clock = stream, clock
        self.next_time = -1.0

    def __call__(self, event: dict):
        if self.clock() >= self.next_time or event["step"] == event["steps"] or "words" in event:
            self.next_time = self.clock() + HEARTBEAT_SECONDS
            print("  ".join(format_event(event)).rstrip(), file=self.stream, flush=True)


class BarReporter(Reporter):
    """Draws a progress bar; without colours if NO_COLOR is set."""

    def __init__(self, stream):
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        text = TextColumn("{task.description}", markup=False)
        self.progress = Progress(BarColumn(20), text, console=Console(file=stream), transient=False)
        self.task = self.progress.add_task("starting", total=None)

    def __enter__(self):
        self.progress.start()
        return self

    def __exit__(self, *error):
        self.progress.stop()

    def __call__(self, event: dict):
        text = "\n".join(format_event(event))
        self.progress.update(self.task, description=text, completed=event["step"], total=event["steps"])


def describe_processes(nproc: int, devices: int) -> str:
    if devices == 1:
        return "1 process" if nproc == 1 else f"{nproc} processes"
    return f"{devices} devices" if nproc == 1 else f"{nproc} processes of {devices} devices"


def summary(status: dict, directory) -> str:
    """Files, wall time and speed of a run or an ensemble, and the next command, in words."""
    optional_files = [
        name for name in (SPECTRA, STATIONS, SECTIONS, DRIFTERS, HARMONICS) if (Path(directory) / name).is_file()
    ]
    snapshots = next((name for name in SNAPSHOT_FILES if (Path(directory) / name).exists()), OUTPUT)
    files, target, members = [snapshots, DIAGNOSTICS, *optional_files], Path(directory), ""
    speed = f"{status['cell_updates_per_second'] / 1e6:.1f} million cell updates"
    if "members" in status:
        files, target, members = (
            [ENSEMBLE, "ensemble.png", RESTART_FOLDER],
            target / ENSEMBLE,
            f"{status['members']} members, ",
        )
        speed = f"{status['member_steps_per_second']:.4g} members x steps"
    (py, px), devices = status["layout"], status.get("devices", 1)
    blocks = f" ({py}x{px} blocks)" if py * px > 1 else ""
    return (
        f"{directory}: {', '.join([*files, CONFIG, STATUS])}\n"
        f"{members}{status['steps']} steps, {status['model_seconds'] / 86400:.4g} model days in "
        f"{status['wall_seconds']:.1f} s, of which compilation {status['compile_seconds']:.1f} s\n"
        f"{speed} per second on {describe_processes(status['nproc'], devices)}{blocks}\n"
        f"Next: swmodel plot {target}"
    )
