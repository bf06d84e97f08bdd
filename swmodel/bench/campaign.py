"""Measuring the rows of a sweep in rounds, so that a slow minute of the machine affects all rows alike.

In each round every row gives one sample, from processes that start for it and end after it. Restarting costs seconds.
In return nothing else runs or holds memory while a sample is taken (ranks kept alive would wait in MPI's busy loop),
interleaving never depends on memory, and the spread of samples includes differences between processes, such as the
place of memory pages. Each sample also times the start.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from ..errors import SetupError
from ..parallel.environment import cores, has_gpu
from . import others, results, start, triad
from .rows import Row

#: Folder beside the results for the reference's answers, while a sweep runs.
ANSWERS = "answers"


def measure_rows(record: dict, folder: Path, launcher: str = "", say: Callable[[str], None] = print):
    """Measure what the record still lacks, and write it after each sample. Rows that fail say why and are left out.

    Args:
        record: made by `results.new` or `results.resumed`; changed in place.
        folder: where results.json is written.
        launcher: command that starts processes, in place of mpiexec.
        say: called with a line for each sample.
    """
    rounds, quick = record["definition"]["rounds"], record["quick"]
    answers = Path(folder) / ANSWERS
    answers.mkdir(parents=True, exist_ok=True)
    try:
        if record["peak"] is None:
            record["peak"] = triad.peak(quick)
        for number in range(rounds):
            todo = [entry for entry in results.entries(record, results.PENDING) if len(entry["samples"]) == number]
            if todo and len(record["bandwidth"]) == number:
                record["bandwidth"].append(triad.measure_triad(quick))
            for entry in todo:
                add_sample(entry, rounds, answers, launcher)
                results.write(record, folder)
                say(f"[{number + 1}/{rounds}] {progress(entry)}")
    finally:
        results.write(record, folder)
        shutil.rmtree(answers, ignore_errors=True)


def add_sample(entry: dict, rounds: int, answers: Path, launcher: str):
    """Take one sample of a row; the row fails with its reason if there is none, or if the answer is wrong."""
    row = results.row_of(entry)
    samples = entry["samples"]
    task = {"do": "measure", "check": not samples, "steps": samples[0].get("steps") if samples else None}
    begin = others.read()
    try:
        if row.measure not in ("halo", "fft"):
            task["answer"] = str(answer_of(row, answers))
        found = start.run(row, task, launcher)
    except SetupError as error:
        found = {"state": results.FAILED, "reason": str(error)}
    except start.WorkerError as error:
        found = {"state": results.FAILED, "reason": f"did not run: {error}"}
    taken = others.share(begin, others.read(), cores())
    sample, state = found.pop("sample", None), found.pop("state")
    entry |= {name: value for name, value in found.items() if value is not None}
    entry["launch"] = entry.get("launch", {}) | {"command": start.shown(row.nproc, launcher, row.transport)}
    if state == results.FAILED:
        entry |= {"state": results.FAILED, "samples": []}  # a wrong answer has no time
        return
    samples.append(sample | {"others": taken})
    if len(samples) == rounds:
        entry["state"] = results.OK


def answer_of(row: Row, answers: Path) -> Path:
    """The file of the reference's answer for the row's grid, precision and physics, made if need be."""
    judge = Row("model", "reference", 1, row.nx, row.ny, dtype=row.dtype, settings=row.settings, fields=row.fields)
    path = answers.absolute() / f"{judge.key}.npy"
    if not path.exists():
        start.run(judge, {"do": "answer", "answer": str(path)})
    return path


def progress(entry: dict) -> str:
    """What the last sample of a row found, in a line."""
    label = results.row_of(entry).label
    if entry["state"] == results.FAILED:
        return f"{label}: FAILED, {entry['reason']}"
    sample = entry["samples"][-1]
    if "seconds" not in sample:
        return f"{label}: first step after {sample['first_step_seconds']:.2f} s"
    each, steps = sample["seconds"] / sample["steps"], sample["steps"]
    if entry["row"]["measure"] == "halo":
        return f"{label}: {1e6 * each:.4g} µs per exchange ({steps} exchanges)"
    if entry["row"]["measure"] == "fft":
        return f"{label}: {1e3 * each:.4g} ms there and back ({steps} times)"
    return f"{label}: {1e3 * each:.4g} ms per step ({steps} steps)"


def probe_gpus() -> dict:
    """The GPUs that JAX sees, {"gpus": [names], "bandwidth": ...}; empty if JAX fails."""
    if not has_gpu():
        return {"gpus": [], "bandwidth": None}
    try:
        return start.run(Row("model", "xla", 1, 1, 1, platform="gpu"), {"do": "devices"})
    except start.WorkerError:
        return {"gpus": [], "bandwidth": None}
