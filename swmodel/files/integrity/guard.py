"""Examine files in another process, because HDF5 may crash, hang or exhaust the memory on a damaged file."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from subprocess import DEVNULL, run
from typing import NamedTuple

from ...errors import FilesError
from ...extras import require_package
from ..journal import journal_path, recover
from .checksums import DAMAGED_HEADER

#: Maximum number of attempts to read a file that is being written.
MAX_ATTEMPTS = 3

#: Largest number of damaged parts that a message names.
MAX_NAMED_PARTS = 3

#: The shell ignores signals that a job's processes receive together, such as Ctrl-C, and limits the memory to 4 GiB (in
#: KiB), of which the program needs about 100 MB.
SHELL_SCRIPT = 'trap "" INT TERM HUP; ulimit -c 0; ulimit -v 4194304; exec "$@"'
PROGRAM = (
    "import sys; sys.path.insert(0, sys.argv[1]); from swmodel.files.integrity.examine import main; main(sys.argv[2])"
)
PACKAGE_PARENT = Path(__file__).parents[3]

#: Parts that may differ in a file that another program has rewritten; for example, xarray rounds times.
PARTS_CHANGED_BY_REWRITING = ("header", "time", "time_bounds")


class FileToExamine(NamedTuple):
    """A file, and how to examine it: "whole", without its fields ("partial"), or as a "restart" file."""

    path: Path
    kind: str = "whole"


def examine_files(files: list[FileToExamine]) -> list[dict]:
    """Facts about each file, from another process; "problem" says why a file cannot be used.

    ModuleNotFoundError: a file is a Zarr store, and the package zarr is missing.
    """
    for store in (file.path for file in files if os.path.isdir(file.path)):
        require_package(store, "zarr")
    results: list[dict] = [{} for _ in files]
    remaining = list(range(len(files)))
    for _ in range(MAX_ATTEMPTS):
        for index in remaining:
            recover(files[index].path)
        for index, result in zip(remaining, run_examiner([files[index] for index in remaining]), strict=True):
            results[index] = result | ({"problem": describe_damage(result)} if result.get("damaged") else {})
        remaining = [
            index for index in remaining if "problem" in results[index] and journal_path(files[index].path).exists()
        ]
    return results


def run_examiner(files: list[FileToExamine]) -> list[dict]:
    """Facts about each file; if the program crashes on a file, another process continues with the next file."""
    if not files:
        return []
    files_json = json.dumps([(str(file.path), file.kind) for file in files])
    command = ["sh", "-c", SHELL_SCRIPT, "sh", sys.executable, "-P", "-c", PROGRAM, str(PACKAGE_PARENT), files_json]
    environ = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONIOENCODING": "utf-8"}
    process = run(command, capture_output=True, encoding="utf-8", stdin=DEVNULL, env=environ, start_new_session=True)
    results = [json.loads(line) for line in process.stdout.splitlines(keepends=True) if line.endswith("\n")]
    if len(results) == len(files):
        return results
    timed_out = process.returncode == -signal.SIGXCPU
    reason = "it takes too long" if timed_out else f"HDF5 crashed on it (exit code {process.returncode})"
    return [*results, {"problem": f"cannot be read: {reason}"}, *run_examiner(files[len(results) + 1 :])]


def warning_for(path, facts: dict) -> str | None:
    """A warning if another program seems to have rewritten the file, or None. FilesError: any other "problem"."""
    if "problem" not in facts:
        return None
    damaged = facts.get("damaged", ())
    if DAMAGED_HEADER in damaged and all(name in PARTS_CHANGED_BY_REWRITING for name, _ in damaged):
        return f"{path}: {facts['problem']}: names, units and times may differ from those of the model"
    raise FilesError(f"{path}: {facts['problem']}")


def describe_damage(facts: dict) -> str:
    damaged = facts["damaged"]
    descriptions = [
        describe_damaged_part(name, record, facts.get("steps", ())) for name, record in damaged[:MAX_NAMED_PARTS]
    ]
    more = [f"and {len(damaged) - MAX_NAMED_PARTS} more"] if len(damaged) > MAX_NAMED_PARTS else []
    return "damaged: " + ", ".join(descriptions + more)


def describe_damaged_part(name: str, record: int | None, steps=()) -> str:
    part = name if name == "header" else f"variable {name}"
    if record is None:
        return part
    return f"{part} in record {record}" + (f" (step {steps[record]})" if record < len(steps) else "")
