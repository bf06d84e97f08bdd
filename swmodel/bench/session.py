"""A sweep from the command line to the table: checks, measurements, results.json, table.md and figures.

In each round every row gives one sample, so that a slow minute of the machine affects all rows alike. Each sample has
new processes, as waiting ranks would occupy cores in MPI's busy loop. Each round also measures the memory bandwidth of
all cores by a triad in place, 12 bytes an element.

Reference: McCalpin, J. D. (1995), STREAM, IEEE TCCA Newsletter, 19-25.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import signal
import sys
import time
import timeit
from pathlib import Path

import click
import numpy as np

from ..errors import NumericalError, SetupError, UsageError, file_errors
from ..files.draft import write_text
from ..model.launch import find_mpiexec
from ..parallel.environment import cores, has_gpu, world
from . import results, tables, worker
from .machine import DISTURBED, all_cores, bytes_free, describe_machine, elements, read_clock, share_of_others
from .plan import choose, fitting, make_rows
from .sweeps import Row, definition
from .text import counted, percent

#: Side of the matrices for the peak arithmetic.
SIDE = 2048


def run_sweep(name, *, quick, oversubscribe, output, resume, force, label, launcher, **options) -> int:
    """Run the sweep `name`; returns the exit code: 0, 4 for a wrong answer, 3 for rows that could not run.

    `options` (executors, nproc, transport, devices, sizes, steps, rounds) override the definition.
    """
    place = world()
    if place is not None and place.size > 1:
        raise UsageError("start swmodel bench alone: it starts the processes of its rows itself (--nproc, --launcher)")
    executors = choose(options.pop("executors") or definition(name).executors)
    sweep = definition(name, quick, executors=executors, **options)
    folder = output or Path("outputs", f"bench-{name}{'-quick' if quick else ''}")
    probed = {"gpus": [], "bandwidth": None}
    if sweep.gpu and has_gpu():
        with contextlib.suppress(worker.WorkerError):  # JAX fails
            probed = worker.run(Row("model", "xla", 1, 1, 1, platform="gpu"), {"do": "devices"})
    rows, skipped = make_rows(sweep, all_cores(), len(probed["gpus"]), oversubscribe)
    if not rows:
        raise UsageError("; ".join(["no row is left", *skipped]))
    started = [row for row in rows if row.nproc > 1 and (launcher or row.transport != "sharded")]
    if started:
        try:
            require_launcher(launcher)
        except SetupError as error:
            rows = [row for row in rows if row not in started]
            if options["nproc"] or not rows:
                raise
            skipped.append(f"{counted(len(started), 'row')} of several processes: {error}")
    rows, too_large = fitting(rows, bytes_free(), strict=bool(options["sizes"]))
    prepare(folder, resume, force)
    described = describe_machine() | {"gpus": probed["gpus"]}
    gpus = f", {len(probed['gpus'])} x {probed['gpus'][0]}" if probed["gpus"] else ""
    named = re.sub(r"\(R\)|\(TM\)| Processor", "", described["cpu"]).strip() + f", {described['cores']} cores{gpus}"
    more = {"quick": quick, "label": label or named, "gpu_bandwidth": probed["bandwidth"]}
    command = shlex.join(["swmodel", *sys.argv[1:]])
    record = results.new(sweep, rows, skipped + too_large, described, command, **more)
    if resume:
        record = results.resumed(folder, record)
    announce(record, folder)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # the end of a batch job also keeps finished rows
    try:
        measure_rows(record, folder, launcher)
    finally:
        written = write_tables([record], folder, "table.md")
    click.echo("\n" + tables.report([record]))
    click.echo(f"Wrote {', '.join(map(str, [folder / results.NAME, *written]))}")
    reasons = [entry["reason"] for entry in results.entries(record, results.FAILED)]
    if any("wrong answer" in reason for reason in reasons):
        return NumericalError.exit_code
    return SetupError.exit_code if reasons else 0


def prepare(folder: Path, resume: bool, force: bool):
    """Make the folder of a sweep, unless it holds results that must stay."""
    there = (folder / results.NAME).exists()
    if resume and not there:
        raise UsageError(f"{folder}: has nothing to resume; leave --resume out")
    if there and not (resume or force):
        raise UsageError(f"{folder} holds results; give --resume to continue, --force to replace, or another --output")
    with file_errors(folder, "written"):
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError("no permission")


def require_launcher(launcher: str):
    """Check that several processes can be started, by mpiexec without a launcher."""
    try:
        program = (shlex.split(launcher) or [find_mpiexec()])[0]
    except ValueError as error:
        raise UsageError(f"--launcher {launcher}: {error}") from None
    if shutil.which(program) is None:
        raise UsageError(f"--launcher {launcher}: no such program")


def announce(record: dict, folder: Path):
    """Print the rows and the omitted ones, and a warning if other programs are busy."""
    sweep = record["definition"]
    samples = counted(sweep["rounds"], "sample")
    click.echo(f"{sweep['title']}: {counted(len(record['rows']), 'row')}, {samples} each, into {folder}")
    for line in record["skipped"]:
        click.echo(f"skipped: {line}")
    before = read_clock()
    time.sleep(0.5)
    taken = share_of_others(before, read_clock(), cores())
    if taken is not None and taken > DISTURBED:
        click.echo(f"Other programs take {percent(taken)} of the cores: times will be disturbed", err=True)


def measure_rows(record: dict, folder: Path, launcher: str = "", say=click.echo):
    """Measure the missing samples of the record, in place, and write it after each; `say` receives lines."""
    rounds, quick = record["definition"]["rounds"], record["quick"]
    answers = Path(folder) / "answers"  # those of the reference, while the sweep runs
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
    """Take one sample of a row; the row fails with a reason without one, or with a wrong answer."""
    row, samples = results.row_of(entry), entry["samples"]
    task = {"do": "measure", "check": not samples, "steps": samples[0].get("steps") if samples else None}
    begin = read_clock()
    try:
        if row.measure not in ("halo", "fft"):
            task["answer"] = str(answer_of(row, answers))
        found = worker.run(row, task, launcher)
        found["launch"]["command"] = worker.shown(row, launcher)
    except (SetupError, worker.WorkerError) as error:
        found = {"reason": f"did not run: {error}"}
    others = share_of_others(begin, read_clock(), cores())
    sample = found.pop("sample", None)
    entry |= {name: value for name, value in found.items() if value}
    if found.get("reason"):
        entry |= {"state": results.FAILED, "samples": []}  # a wrong answer has no time
        return
    samples.append(sample | {"others": others})
    if len(samples) == rounds:
        entry["state"] = results.OK


def answer_of(row: Row, answers: Path) -> Path:
    """The file of the reference's answer for the row's grid, precision and physics, made at first use."""
    marks = (["fields"] if row.fields else []) + ([f"{row.dry:g}"] if row.dry else [])
    name = "-".join([f"{row.nx}x{row.ny}", row.dtype, *marks, *row.settings])
    path = answers.absolute() / f"{name}.npy"
    if not path.exists():
        problem = {"dtype": row.dtype, "settings": row.settings, "fields": row.fields, "dry": row.dry}
        worker.run(Row("model", "reference", 1, row.nx, row.ny, **problem), {"do": "answer", "answer": str(path)})
    return path


def last_sample(entry: dict) -> str:
    """The last sample of a row, in a line."""
    row = results.row_of(entry)
    if entry["state"] == results.FAILED:
        return f"{row.label}: FAILED, {entry['reason']}"
    sample = entry["samples"][-1]
    if row.measure == "start":
        return f"{row.label}: first step after {sample['first_step_seconds']:.2f} s"
    what = {"halo": "exchange", "fft": "transform there and back"}.get(row.measure, "step")
    return f"{row.label}: {1e3 * sample['seconds'] / sample['steps']:.4g} ms per {what} ({sample['steps']} times)"


def measure_triad(quick: bool) -> dict:
    """Bandwidth of all cores together, by another process (`device.bandwidth`)."""
    task = {"do": "triad", "elements": elements(quick), "trials": 3 if quick else 15}
    return worker.run(Row("model", "xla", 1, 1, 1), task)


def peak(quick: bool) -> dict:
    """Peak arithmetic of all cores together, Gflop/s: the best of several float32 matrix products."""
    x = np.full((SIDE, SIDE), 0.5, np.float32)
    best = min(timeit.repeat(lambda: x @ x, number=1, repeat=2 if quick else 6))
    return {"gigaflops": 2 * SIDE**3 / best / 1e9, "by": f"NumPy matrix product, float32, {SIDE} x {SIDE}"}


def write_tables(records: list[dict], folder: Path, name: str) -> list[Path]:
    """Write the tables and figures of results into a folder; returns the files."""
    from .figures import draw

    with file_errors(folder, "written"):
        folder.mkdir(parents=True, exist_ok=True)
        write_text(folder / name, tables.report(records))
    return [folder / name, *draw(records, folder)]


def report(files, output: Path | None) -> tuple[str, list[Path]]:
    """The tables of results in several files, and report.md with figures if `output` is a folder."""
    named = {Path(path, results.NAME if Path(path).is_dir() else "").resolve(): path for path in files}
    records = [results.read(path) for path in named.values()]
    return tables.report(records), write_tables(records, output, "report.md") if output else []
