"""Files examined by another process, as HDF5 may crash, hang or ask for any amount of memory on a damaged one."""

from __future__ import annotations

import json
import os
import signal
import stat
import sys
from pathlib import Path
from subprocess import DEVNULL, TimeoutExpired, run
from typing import NamedTuple

from ..journal import journal_of, recover

#: Processor time that the look at a file may take, s, besides that for its size, bytes per second; wall-clock time: so
#: many times as much, for a slow disk and a busy machine.
SECONDS, SLOWEST_BYTES_PER_SECOND, WALL = 10.0, 2e7, 6.0

#: How often a file is read that is being written.
ATTEMPTS = 3

#: How many damaged places are named.
NAMED = 3

ROOT = Path(__file__).parents[2]
PROGRAM = "import sys; sys.path.insert(0, sys.argv[1]); from swmodel.integrity.program import main; main(sys.argv[2])"


#: The module that examines a file of records.
EXAMINE = "swmodel.integrity.examine"


class Job(NamedTuple):
    """A file to examine, by `examine(path, **options)` of a module."""

    path: Path
    module: str = EXAMINE
    options: dict = {}  # noqa: RUF012  nobody changes it


def facts(jobs: list[Job]) -> list[dict]:
    """What is found in each file, with "problem", why it cannot be used, in words, if there is any; by one process."""
    found = [why_no_file(job.path) for job in jobs]
    here = [place for place, problem in enumerate(found) if problem is None]
    found = [{"problem": problem} for problem in found]
    for _ in range(ATTEMPTS):
        for place in here:
            recover(jobs[place].path)
        for place, one in zip(here, examined([jobs[place] for place in here]), strict=True):
            found[place] = one | ({"problem": in_words(one)} if one.get("damaged") else {})
        here = [place for place in here if "problem" in found[place] and journal_of(jobs[place].path).exists()]
        if not here:
            break
    return found


def why_no_file(path) -> str | None:
    """Why there is no file to read at a path; None if there is one."""
    path = Path(path)
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return "cannot be read: it is a link to nothing" if path.is_symlink() else "there is no such file"
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    if stat.S_ISREG(mode):
        return None if os.access(path, os.R_OK) else "cannot be read: no permission"
    return f"cannot be read: it is {'a folder' if stat.S_ISDIR(mode) else 'no file'}"


def examined(jobs: list[Job]) -> list[dict]:
    """What the program says of each file; another process goes on behind one on which it ends."""
    if not jobs:
        return []
    limits = [SECONDS + job.path.stat().st_size / SLOWEST_BYTES_PER_SECOND for job in jobs]
    listed = json.dumps([(job.module, str(job.path), job.options, s) for job, s in zip(jobs, limits, strict=True)])
    line = [sys.executable, "-P", "-c", PROGRAM, str(ROOT), listed]
    environ = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    code = None
    try:
        done = run(line, capture_output=True, text=True, timeout=WALL * sum(limits), stdin=DEVNULL, env=environ)
        said, code = done.stdout, done.returncode
    except TimeoutExpired as error:
        said = (error.stdout or b"").decode()
    found = [json.loads(each) for each in said.splitlines()]
    if len(found) == len(jobs):
        return found
    if code in (None, -signal.SIGXCPU, -signal.SIGKILL):
        problem = f"cannot be read within {limits[len(found)]:.0f} s"
    else:
        problem = f"cannot be read: HDF5 crashed on it (exit code {code})"
    return [*found, {"problem": problem}, *examined(jobs[len(found) + 1 :])]


def in_words(found: dict) -> str:
    """What is damaged."""
    places = found["damaged"]
    named = [place(name, record, found.get("steps", ())) for name, record in places[:NAMED]]
    more = [f"and {len(places) - NAMED} more"] if len(places) > NAMED else []
    return "damaged: " + ", ".join(named + more)


def place(name: str, record: int | None, steps=()) -> str:
    """A damaged place."""
    where = name if name == "header" else f"variable {name}"
    if record is None:
        return where
    return f"{where} in record {record}" + (f" (step {steps[record]})" if record < len(steps) else "")
