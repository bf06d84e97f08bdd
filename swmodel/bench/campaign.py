"""Measuring the rows of a sweep in rounds, so that a slow minute of the machine affects all rows alike.

In each round every row gives one sample, from processes that start for it and end after it: nothing else runs or holds
memory meanwhile (ranks kept alive would wait in MPI's busy loop), and the spread includes differences of processes.

Each round also measures the machine's memory bandwidth by a triad a = b + s a, in place, float32, in a jitted JAX loop
on all cores: 12 bytes an element, two reads and a write. As in a step of the model, only what was read before is
written, so no write causes a further read. A triad in C with OpenMP reaches about as much (42.5 and 44.5 GB/s).

Reference: McCalpin, J. D. (1995), STREAM, IEEE TCCA Newsletter, 19-25.
"""

from __future__ import annotations

import shutil
import timeit
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ..errors import SetupError
from ..parallel.environment import cores
from . import results, worker
from .machine import Clock, bytes_free, caches, share_of_others
from .rows import Row

#: Side of the matrices whose product measures the peak arithmetic.
SIDE = 2048
#: Fewest and most bytes of the two arrays of the triad together.
LEAST, MOST = 2**28, 2**33


def measure_rows(record: dict, folder: Path, launcher: str = "", say: Callable[[str], None] = print):
    """Measure what the record still lacks, in place, and write it after each sample; `say` is called with a line."""
    rounds, quick = record["definition"]["rounds"], record["quick"]
    answers = Path(folder) / "answers"  # of the reference, while the sweep runs
    answers.mkdir(parents=True, exist_ok=True)
    try:
        if record["peak"] is None:
            record["peak"] = peak(quick)
        for number in range(rounds):
            todo = [entry for entry in results.entries(record, results.PENDING) if len(entry["samples"]) == number]
            if todo and len(record["bandwidth"]) == number:
                record["bandwidth"].append(measure_triad(quick))
            for entry in todo:
                add_sample(entry, rounds, answers, launcher)
                results.write(record, folder)
                say(f"[{number + 1}/{rounds}] {last_sample(entry)}")
    finally:
        results.write(record, folder)
        shutil.rmtree(answers, ignore_errors=True)


def add_sample(entry: dict, rounds: int, answers: Path, launcher: str):
    """Take one sample of a row; the row fails with its reason if there is none, or if the answer is wrong."""
    row, samples = results.row_of(entry), entry["samples"]
    task = {"do": "measure", "check": not samples, "steps": samples[0].get("steps") if samples else None}
    begin = Clock.read()
    try:
        if row.measure not in ("halo", "fft"):
            task["answer"] = str(answer_of(row, answers))
        found = worker.run(row, task, launcher)
        found["launch"]["command"] = worker.shown(row, launcher)
    except (SetupError, worker.WorkerError) as error:
        found = {"reason": f"did not run: {error}"}
    others = share_of_others(begin, Clock.read(), cores())
    sample = found.pop("sample", None)
    entry |= {name: value for name, value in found.items() if value}
    if found.get("reason"):
        entry |= {"state": results.FAILED, "samples": []}  # a wrong answer has no time
        return
    samples.append(sample | {"others": others})
    if len(samples) == rounds:
        entry["state"] = results.OK


def answer_of(row: Row, answers: Path) -> Path:
    """The file of the reference's answer for the row's grid, precision and physics, made if need be."""
    name = "-".join([f"{row.nx}x{row.ny}", row.dtype, *(["fields"] if row.fields else []), *row.settings])
    path = answers.absolute() / f"{name}.npy"
    if not path.exists():
        problem = {"dtype": row.dtype, "settings": row.settings, "fields": row.fields}
        worker.run(Row("model", "reference", 1, row.nx, row.ny, **problem), {"do": "answer", "answer": str(path)})
    return path


def last_sample(entry: dict) -> str:
    """What the last sample of a row found, in a line."""
    row = results.row_of(entry)
    if entry["state"] == results.FAILED:
        return f"{row.label}: FAILED, {entry['reason']}"
    sample = entry["samples"][-1]
    if row.measure == "start":
        return f"{row.label}: first step after {sample['first_step_seconds']:.2f} s"
    what = {"halo": "exchange", "fft": "transform there and back"}.get(row.measure, "step")
    return f"{row.label}: {1e3 * sample['seconds'] / sample['steps']:.4g} ms per {what} ({sample['steps']} times)"


def elements(quick: bool) -> int:
    """Elements of each array of the triad: both hold four times the last-level cache, at most a quarter of memory."""
    cache = max(caches().values(), default=2**25)
    total = LEAST if quick else min(max(LEAST, 4 * cache), MOST, bytes_free() // 4)
    return total // 8


def measure_triad(quick: bool = False) -> dict:
    """Bandwidth of all cores together, by a process of its own (`device.bandwidth`)."""
    task = {"do": "triad", "elements": elements(quick), "trials": 3 if quick else 15}
    return worker.run(Row("model", "xla", 1, 1, 1), task)


def peak(quick: bool = False) -> dict:
    """Peak arithmetic of all cores together, Gflop/s: the best of several float32 matrix products."""
    x = np.full((SIDE, SIDE), 0.5, np.float32)
    best = min(timeit.repeat(lambda: x @ x, number=1, repeat=2 if quick else 6))
    return {"gigaflops": 2 * SIDE**3 / best / 1e9, "by": f"NumPy matrix product, float32, {SIDE} x {SIDE}"}


def probe_gpus() -> dict:
    """The GPUs that JAX sees, {"gpus": [names], "bandwidth": ...}; empty if JAX fails."""
    try:
        return worker.run(Row("model", "xla", 1, 1, 1, platform="gpu"), {"do": "devices"})
    except worker.WorkerError:
        return {"gpus": [], "bandwidth": None}
