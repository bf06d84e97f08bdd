"""A run from Python into a folder that no other run holds, with the lock and the refusals of the command line."""

from __future__ import annotations

import contextlib
import logging
from pathlib import Path

from ..errors import UsageError
from ..files import lock, run_folder
from ..files.restart.folder import choose, compare
from .calls import Calls
from .run import NONE, on_first, run
from .validate import require_length

log = logging.getLogger(__name__)


def take_and_run(model, directory, progress=None, force: bool = False, calls: Calls = NONE) -> None:
    """Run a model into a folder that no other run holds, as the command line does; see `Simulation.run` for errors.

    Args:
        force: replace what is already in the folder.
    """
    require_length(model.config)
    if model.step > model.config.run.steps:
        raise UsageError(f"step {model.step} is beyond the {model.config.run.steps} steps of the run")
    with contextlib.ExitStack() as stack:
        resume = on_first(model.transport, lambda: take(stack, model, Path(directory), force))
        if resume:
            calls.want(model.restart.config.python.calls)
        if not resume or model.step < model.config.run.steps:
            run(model, directory, progress, resume=resume, calls=calls)
        elif model.transport.rank == 0:
            log.warning("%s: step %d is reached already; more run.steps prolong the run", directory, model.step)


def take(stack, model, directory: Path, force: bool) -> bool:
    """Hold the folder until the context `stack` ends; whether the model goes on with the run in it.

    It does if it comes from a restart file of that run and has not been advanced since. After an error the folder is as
    it was.
    """
    resume = model.restart is not None and model.step == model.restart.step
    resume = resume and Path(model.restart.path).resolve().parent == (directory / run_folder.RESTARTS).resolve()
    if resume and force:
        raise UsageError(
            f"{directory} holds the run that this Simulation goes on with; leave out force=True, or give another folder"
        )
    run_folder.check_vacant(directory, force or resume, python=True)
    stack.enter_context(lock.held(directory))
    run_folder.check_vacant(directory, force or resume, python=True, held=True)  # another run may just have ended
    if resume:
        restart, _ = choose(directory, Path(model.restart.path).name)
        compare(model.config, restart)
    return resume
