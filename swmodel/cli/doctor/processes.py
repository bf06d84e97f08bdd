"""Starting processes that report facts, and reading what they print."""

from __future__ import annotations

import json
import subprocess

from ...model import launch
from .exchange import MARK

TIMEOUT = 120.0  # s
#: The beginning of the lines in which `spawn` says that a process has ended, but not why.
NOISE = "swmodel.parallel.spawn: "


def exchange(command: list[str], timeout: float = TIMEOUT, **environ: str) -> tuple[dict, str]:
    """Facts that the processes of `command` report, and the last other line they print; killed after `timeout` s."""
    process = launch.start(command, 2, env=launch.rank_environment(2) | environ)
    try:
        output, _ = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        launch.kill(process)
        output = f"{process.communicate()[0]}no answer after {timeout:g} s\n"
    return decode(output)


def decode(output: str) -> tuple[dict, str]:
    """The facts in the output of processes, and the last other line; lines of two processes may be joined."""
    facts, other = {}, []
    for piece in output.replace(MARK, f"\n{MARK}").splitlines():
        if piece.startswith(MARK):
            fact, end = json.JSONDecoder().raw_decode(piece.removeprefix(MARK))
            facts |= fact
            piece = piece.removeprefix(MARK)[end:]
        if piece.strip() and not piece.startswith(NOISE):
            other.append(piece.strip())
    return facts, other[-1] if other else ""
