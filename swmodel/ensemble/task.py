"""The task `ensemble`: steps of all members, and between them records, restarts, health and progress."""

from __future__ import annotations

import logging
import time
from pathlib import Path

import numpy as np

from ..config import to_toml
from ..environment import peak_memory
from ..errors import STOPPED, Stopped, exit_code
from ..run import CHUNK_SECONDS, schedules
from ..run_folder import CONFIG, write_config
from ..schedule import Schedule
from ..status import read_status, write_status
from ..stop import Stop
from . import restart
from .health import Health
from .members import Members
from .records import Records

NAME, PICTURE = "ensemble.nc", "ensemble.png"

log = logging.getLogger(__name__)


def compute(config, directory, options, report, command_line, watch) -> None:
    """Leave ensemble.nc, ensemble.h5 and ensemble.png; see `cli.job.TASKS`.

    Options: `resume`, go on from the restart file in the folder.

    Raises:
        NumericalError: the solution of a member blew up.
        FilesError: a file could not be read or written.
        Stopped: a signal or the wall-clock limit has ended it; the restart file is in the folder.
    """
    directory, members = Path(directory), Members(config)
    watch(lambda: members.step)
    transport, state, code, message, peak = members.transport, "completed", 0, "", None
    try:
        with Stop(config.run.walltime) as stop:
            reason = Loop(members, config, directory, report, command_line, options.get("resume")).run(stop)
        peak = int(transport.reduce(np.asarray(peak_memory(), np.int64), "max"))
        if transport.rank == 0:
            write_config(directory, to_toml(config))
            draw(directory)
        if reason:
            raise Stopped(
                f"stopped by {reason} at step {members.step} (day {members.time / 86400:.3f}); continue with "
                f"`swmodel ensemble {directory / CONFIG} --output {directory} --resume`"
            )
    except BaseException as error:
        code, message = exit_code(error), str(error)
        state = "stopped" if code == STOPPED else "failed"
        raise
    finally:
        if transport.rank == 0:
            numbers = status(members, config) | {"peak_memory_bytes": peak or peak_memory()}
            write_status(directory, state=state, exit_code=code, message=message, **numbers)


class Loop:
    """Runs members to the end of the configuration; see `compute`."""

    def __init__(self, members, config, directory: Path, report, command_line: str, resume: bool):
        self.members, self.config, self.directory, self.report = members, config, directory, report
        self.steps, self.resume = config.run.steps, resume
        options, dt = config.restart, config.time.dt
        self.snapshots = schedules(config)[0]
        self.restarts = Schedule(dt, self.steps, options.every_steps, options.every)
        self.keep = None
        if resume:
            before, first = schedules(restart.load(directory, members, config))[0], members.step
            over = first >= self.steps
            self.keep = lambda step: step < first or (step == first and (over or before.regular(step)))
        self.health = Health(members)
        self.records = Records(directory / NAME, config, members.transport, command_line, self.keep)
        self.begin = self.written = time.monotonic()

    def run(self, stop: Stop) -> str | None:
        """Run to the end, or until asked to stop; the reason for that."""
        members, transport, first, chunk, overdue = self.members, self.members.transport, self.members.step, 1, False
        with self.records:
            while True:
                step = members.step
                if (step > first or not self.resume) and (self.snapshots.due(step) or step == first):
                    self.records.write(members)
                self.tell()
                reason = stop.asked(transport) if step < self.steps else None
                if step > first and (step == self.steps or self.restarts.regular(step)) or overdue or reason:
                    stop.reserve = self.save()
                if step >= self.steps or reason:
                    return reason
                until = min(self.snapshots.next(step), self.restarts.next(step), step + chunk)
                until = min(until, step + (self.config.run.check_every_steps or chunk))
                members.advance(until - step)
                self.health.check()
                each = members.loop_seconds / (members.step - members.first_step)
                chunk, overdue = transport.broadcast((max(1, int(CHUNK_SECONDS / each)), self.overdue()))

    def save(self) -> float:
        """Write the restart file; the wall-clock seconds that it took."""
        begin = time.monotonic()
        self.records.flush()
        restart.save(self.directory, self.members, self.config)
        self.written = time.monotonic()
        return self.written - begin

    def overdue(self) -> bool:
        """Whether a restart is due by the clock of this process."""
        every = self.config.restart.every_wall
        return every is not None and time.monotonic() - self.written >= every

    def tell(self) -> None:
        """Report progress."""
        members, wall = self.members, time.monotonic() - self.begin
        done = members.step - members.first_step
        if members.transport.rank == 0:
            self.report(
                {
                    "step": members.step,
                    "steps": self.steps,
                    "model_seconds": members.time,
                    "cell_updates_per_second": None,
                    "member_steps_per_second": speed(members),
                    "cfl": None,
                    "energy": None,
                    "wall_seconds": wall,
                    "eta_seconds": wall * (self.steps - members.step) / done if done else None,
                }
            )


def speed(members) -> float:
    """Members times steps per second of the time loop so far, of all processes together."""
    steps = members.step - members.first_step
    return members.total * steps / members.loop_seconds if members.loop_seconds else 0.0


def status(members, config) -> dict:
    """What status.json says besides how the ensemble ended."""
    run, grid = config.run, config.grid
    return {
        "members": members.total,
        "steps": members.step,
        "model_seconds": members.time,
        "wall_seconds": time.perf_counter() - members.begun,
        "compile_seconds": members.compile_seconds,
        "member_steps_per_second": speed(members),
        "cell_updates_per_second": speed(members) * grid.nx * grid.ny,
        "nproc": run.nproc,
        "devices": run.devices,
        "layout": [1, 1],
        "executor": run.executor,
        "transport": "serial",
        "dtype": run.dtype,
    }


def draw(directory: Path) -> None:
    """Draw the picture; without one, the results are as good."""
    from ..plotting.dataset import PlotError
    from ..plotting.ensemble import plot_ensemble

    try:
        plot_ensemble(directory / NAME, directory / PICTURE)
    except PlotError as error:
        log.warning("no picture: %s", error)


def summary(directory) -> str:
    """How long it took, how fast it was, and what to type next."""
    status = read_status(directory)
    parts = [(status["devices"], "devices"), (status["nproc"], "processes")]
    where = next((f"{count} {what}" for count, what in parts if count > 1), "1 process")
    return (
        f"{directory}: {NAME}, {PICTURE}, {restart.NAME}, config.toml, status.json\n"
        f"{status['members']} members, {status['steps']} steps, {status['model_seconds'] / 86400:.4g} model days in "
        f"{status['wall_seconds']:.1f} s, of which compilation {status['compile_seconds']:.1f} s\n"
        f"{status['member_steps_per_second']:.4g} members x steps per second on {where}\n"
        f"Next: swmodel plot {Path(directory) / NAME}"
    )
