"""Examination of files in another process, as HDF5 may crash, hang or exhaust the memory on a damaged file."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from subprocess import DEVNULL, run
from typing import NamedTuple

from ...errors import FilesError
from ...extras import require
from ..journal import journal_of, recover
from .examine import HEADER

#: Most attempts to read a file that is being written.
ATTEMPTS = 3

#: Most damaged places in a message.
NAMED = 3

#: The shell ignores signals to all processes of a job, and limits the memory, KiB. The program needs some 100 MB.
LINE = 'trap "" INT TERM HUP; ulimit -c 0; ulimit -v 4194304; exec "$@"'
PROGRAM = (
    "import sys; sys.path.insert(0, sys.argv[1]); from swmodel.files.integrity.examine import main; main(sys.argv[2])"
)
ROOT = Path(__file__).parents[3]

#: Differences in a file that another program has rewritten: xarray rounds times.
WRITTEN_ANEW = ("header", "time", "time_bounds")


class Job(NamedTuple):
    """A file to examine: "whole", all except fields ("look"), or as a "restart" file."""

    path: Path
    kind: str = "whole"


def facts(jobs: list[Job]) -> list[dict]:
    """The facts of one process about each file; "problem" has the reason if a file cannot be used.

    ModuleNotFoundError: one is a store of Zarr, and the package zarr is missing.
    """
    for store in (job.path for job in jobs if os.path.isdir(job.path)):
        require(store, "zarr")
    found: list[dict] = [{} for _ in jobs]
    left = list(range(len(jobs)))
    for _ in range(ATTEMPTS):
        for place in left:
            recover(jobs[place].path)
        for place, one in zip(left, examined([jobs[place] for place in left]), strict=True):
            found[place] = one | ({"problem": in_words(one)} if one.get("damaged") else {})
        left = [place for place in left if "problem" in found[place] and journal_of(jobs[place].path).exists()]
    return found


def examined(jobs: list[Job]) -> list[dict]:
    """The facts of the program about each file; if it ends at a file, another process continues with the next."""
    if not jobs:
        return []
    listed = json.dumps([(str(job.path), job.kind) for job in jobs])
    line = ["sh", "-c", LINE, "sh", sys.executable, "-P", "-c", PROGRAM, str(ROOT), listed]
    environ = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    done = run(line, capture_output=True, text=True, stdin=DEVNULL, env=environ, start_new_session=True)
    found = [json.loads(each) for each in done.stdout.splitlines(keepends=True) if each.endswith("\n")]
    if len(found) == len(jobs):
        return found
    late = done.returncode == -signal.SIGXCPU
    why = "it takes too long" if late else f"HDF5 crashed on it (exit code {done.returncode})"
    return [*found, {"problem": f"cannot be read: {why}"}, *examined(jobs[len(found) + 1 :])]


def warning_for(path, found: dict) -> str | None:
    """A warning about a file whose intact values are usable; None for none.

    FilesError: a "problem" other than changed names and attributes.
    """
    if "problem" not in found:
        return None
    places = found.get("damaged", ())
    if HEADER in places and all(name in WRITTEN_ANEW for name, _ in places):
        return f"{path}: {found['problem']}: names, units and times may differ from those of the model"
    raise FilesError(f"{path}: {found['problem']}")


def in_words(found: dict) -> str:
    """The damaged parts, in words."""
    places = found["damaged"]
    named = [damaged_part(name, record, found.get("steps", ())) for name, record in places[:NAMED]]
    more = [f"and {len(places) - NAMED} more"] if len(places) > NAMED else []
    return "damaged: " + ", ".join(named + more)


def damaged_part(name: str, record: int | None, steps=()) -> str:
    """A damaged part, in words."""
    where = name if name == "header" else f"variable {name}"
    if record is None:
        return where
    return f"{where} in record {record}" + (f" (step {steps[record]})" if record < len(steps) else "")
