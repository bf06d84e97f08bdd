"""A sweep from the command line to the table: checks, measurements, results.json, table.md and figures.

In each round every row gives one sample, so that a slow minute of the machine affects all rows alike. Each sample
starts new processes, because ranks that wait in MPI would keep their cores busy. Each round also measures the memory
bandwidth of all cores with an in-place triad, which moves 12 bytes per element.

Reference: McCalpin, J. D. (1995), Memory bandwidth and machine balance in current high performance computers, IEEE
TCCA Newsletter, December 1995, 19-25.
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
from typing import Any

import click
import numpy as np

from ..errors import NumericalError, SetupError, UsageError, translate_os_errors
from ..files.draft import write_text
from ..model.launch import find_mpiexec
from ..parallel.environment import get_rank_info, has_gpu, n_cores
from . import results, tables, worker
from .machine import (
    MAX_CORE_FRACTION_OF_OTHERS,
    available_cores,
    choose_triad_elements,
    core_fraction_of_others,
    describe_machine,
    free_bytes,
    read_cpu_times,
)
from .plan import choose_executors, make_rows, select_fitting_rows
from .sweeps import BenchRow, read_sweep
from .text import format_count, format_percent

#: Rows and columns of the matrices whose product measures the peak arithmetic speed.
MATRIX_SIZE = 2048


def run_sweep(name, *, quick, oversubscribe, output, resume, force, label, launcher, **options) -> int:
    """Run the sweep `name`; returns the exit code: 0, or 4 if an answer is wrong, or 3 if rows only failed to run.

    `options` (executors, nproc, transport, devices, sizes, steps, rounds) replace values of the definition.
    """
    rank_info = get_rank_info()
    if rank_info is not None and rank_info.size > 1:
        raise UsageError("start swmodel bench without mpiexec: it starts the processes itself (--nproc, --launcher)")
    executors = choose_executors(options.pop("executors") or read_sweep(name).executors)
    sweep = read_sweep(name, quick, executors=executors, **options)
    folder = output or Path("outputs", f"bench-{name}{'-quick' if quick else ''}")
    gpu_facts: dict[str, Any] = {"gpus": [], "bandwidth": None}
    if sweep.gpu and has_gpu():
        with contextlib.suppress(worker.WorkerError):  # if JAX does not start on the GPU, there are no GPU rows
            gpu_facts = worker.run(BenchRow("model", "xla", 1, 1, 1, platform="gpu"), {"do": "devices"})
    rows, skipped = make_rows(sweep, available_cores(), len(gpu_facts["gpus"]), oversubscribe)
    if not rows:
        raise UsageError("; ".join(["there is nothing to measure", *skipped]))
    rows_with_launcher = [row for row in rows if row.nproc > 1 and (launcher or row.transport != "sharded")]
    if rows_with_launcher:
        try:
            check_launcher(launcher)
        except SetupError as error:
            rows = [row for row in rows if row not in rows_with_launcher]
            if options["nproc"] or not rows:
                raise
            skipped.append(f"{format_count(len(rows_with_launcher), 'row')} with several processes: {error}")
    rows, too_large_messages = select_fitting_rows(rows, free_bytes(), is_strict=bool(options["sizes"]))
    prepare_folder(folder, resume, force)
    machine = describe_machine() | {"gpus": gpu_facts["gpus"]}
    gpu_label = f", {len(gpu_facts['gpus'])} x {gpu_facts['gpus'][0]}" if gpu_facts["gpus"] else ""
    machine_label = (
        re.sub(r"\(R\)|\(TM\)| Processor", "", machine["cpu"]).strip() + f", {machine['cores']} cores{gpu_label}"
    )
    record_values = {"quick": quick, "label": label or machine_label, "gpu_bandwidth": gpu_facts["bandwidth"]}
    command = shlex.join(["swmodel", *sys.argv[1:]])
    record = results.make_record(sweep, rows, skipped + too_large_messages, machine, command, **record_values)
    if resume:
        record = results.resume_record(folder, record)
    print_plan(record, folder)
    # SIGTERM raises KeyboardInterrupt, so that the finished rows are written when a batch system ends the job.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        measure_rows(record, folder, launcher)
    finally:
        table_files = write_tables([record], folder, "table.md")
    click.echo("\n" + tables.make_report([record]))
    click.echo(f"Wrote {', '.join(map(str, [folder / results.RESULTS_FILE, *table_files]))}")
    reasons = [entry["reason"] for entry in results.entries_in_state(record, results.FAILED)]
    if any(reason.startswith(results.WRONG_ANSWER) for reason in reasons):
        return NumericalError.exit_code
    return SetupError.exit_code if reasons else 0


def prepare_folder(folder: Path, resume: bool, force: bool):
    """Create the folder of a sweep.

    Raises a UsageError if the folder holds results but neither `resume` nor `force` is true, or if there are no results
    to resume.
    """
    has_results = (folder / results.RESULTS_FILE).exists()
    if resume and not has_results:
        raise UsageError(f"{folder} has no results to resume; leave out --resume")
    if has_results and not (resume or force):
        raise UsageError(
            f"{folder} holds results; give --resume to continue them, --force to replace them, or another --output"
        )
    with translate_os_errors(folder, "written"):
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError("no permission")


def check_launcher(launcher: str):
    """Check that the program that starts several processes exists: the launcher, or mpiexec if it is empty.

    Raises a SetupError if mpiexec or a package for MPI is missing, and a UsageError if the launcher is not a valid
    command or does not exist.
    """
    try:
        program = (shlex.split(launcher) or [find_mpiexec()])[0]
    except ValueError as error:
        raise UsageError(f"--launcher {launcher}: {error}") from None
    if shutil.which(program) is None:
        raise UsageError(f"--launcher {launcher}: no such program")


def print_plan(record: dict, folder: Path):
    """Print the number of rows, the rows that are skipped, and a warning if other programs disturb the measurements."""
    sweep = record["definition"]
    samples = format_count(sweep["rounds"], "sample")
    click.echo(f"{sweep['title']}: {format_count(len(record['rows']), 'row')}, {samples} each, into {folder}")
    for line in record["skipped"]:
        click.echo(f"skipped: {line}")
    cpu_times_before = read_cpu_times()
    time.sleep(0.5)
    fraction_of_others = core_fraction_of_others(cpu_times_before, read_cpu_times(), n_cores())
    if fraction_of_others is not None and fraction_of_others > MAX_CORE_FRACTION_OF_OTHERS:
        click.echo(
            f"Other programs use {format_percent(fraction_of_others)} of the cores, so the times are unreliable",
            err=True,
        )


def measure_rows(record: dict, folder: Path, launcher: str = ""):
    """Measure the samples that the record lacks; after each sample write the record and print a message."""
    rounds, quick = record["definition"]["rounds"], record["quick"]
    reference_folder = Path(folder) / "reference"  # states of the executor `reference`, kept until this function ends
    reference_folder.mkdir(parents=True, exist_ok=True)
    try:
        if record["peak"] is None:
            record["peak"] = measure_peak(quick)
        for round_number in range(rounds):
            pending = results.entries_in_state(record, results.PENDING)
            pending = [entry for entry in pending if len(entry["samples"]) == round_number]
            if pending and len(record["bandwidth"]) == round_number:
                record["bandwidth"].append(measure_triad(quick))
            for entry in pending:
                take_sample(entry, rounds, reference_folder, launcher)
                results.write_record(record, folder)
                click.echo(f"[{round_number + 1}/{rounds}] {describe_last_sample(entry)}")
    finally:
        results.write_record(record, folder)
        shutil.rmtree(reference_folder, ignore_errors=True)


def take_sample(entry: dict, rounds: int, reference_folder: Path, launcher: str):
    """Take one sample of a row; the row fails, with a reason, if it cannot run or gives a wrong answer."""
    row, samples = results.row_of_entry(entry), entry["samples"]
    task = {"do": "measure", "check": not samples, "steps": samples[0].get("steps") if samples else None}
    cpu_times_before = read_cpu_times()
    try:
        if row.measure not in ("halo", "fft"):
            task["reference_file"] = str(find_reference_file(row, reference_folder))
        result = worker.run(row, task, launcher)
        result["launch"]["command"] = worker.format_command(row, launcher)
    except (SetupError, worker.WorkerError) as error:
        result = {"reason": f"did not run: {error}"}
    fraction_of_others = core_fraction_of_others(cpu_times_before, read_cpu_times(), n_cores())
    sample = result.pop("sample", None)
    entry |= {name: value for name, value in result.items() if value}
    if result.get("reason"):
        entry |= {"state": results.FAILED, "samples": []}  # the samples of a failed row are dropped
        return
    samples.append(sample | {"others": fraction_of_others})
    if len(samples) == rounds:
        entry["state"] = results.OK


def find_reference_file(row: BenchRow, reference_folder: Path) -> Path:
    """The file of the state of the reference for the grid, precision and physics of a row, computed at first use."""
    suffixes = (["fields"] if row.fields else []) + ([f"{row.dry:g}"] if row.dry else [])
    name = "-".join([f"{row.nx}x{row.ny}", row.dtype, *suffixes, *row.settings])
    path = reference_folder.absolute() / f"{name}.npy"
    if not path.exists():
        problem: dict[str, Any] = {"dtype": row.dtype, "settings": row.settings, "fields": row.fields, "dry": row.dry}
        reference_row = BenchRow("model", "reference", 1, row.nx, row.ny, **problem)
        worker.run(reference_row, {"do": "reference", "reference_file": str(path)})
    return path


def describe_last_sample(entry: dict) -> str:
    row = results.row_of_entry(entry)
    if entry["state"] == results.FAILED:
        return f"{row.label}: FAILED, {entry['reason']}"
    sample = entry["samples"][-1]
    if row.measure == "start":
        return f"{row.label}: first step after {sample['first_step_seconds']:.2f} s"
    operation = {"halo": "exchange", "fft": "transform forward and back"}.get(row.measure, "step")
    return f"{row.label}: {1e3 * sample['seconds'] / sample['steps']:.4g} ms per {operation} ({sample['steps']} times)"


def measure_triad(quick: bool) -> dict:
    """Bandwidth of all cores together, measured in another process (`process_measures.measure_bandwidth`)."""
    task = {"do": "triad", "elements": choose_triad_elements(quick), "trials": 3 if quick else 15}
    return worker.run(BenchRow("model", "xla", 1, 1, 1), task)


def measure_peak(quick: bool) -> dict:
    """Peak arithmetic speed of all cores together, Gflop/s: the best of several float32 matrix products."""
    x = np.full((MATRIX_SIZE, MATRIX_SIZE), 0.5, np.float32)
    min_seconds = min(timeit.repeat(lambda: x @ x, number=1, repeat=2 if quick else 6))
    return {
        "gigaflops": 2 * MATRIX_SIZE**3 / min_seconds / 1e9,
        "by": f"NumPy matrix product, float32, {MATRIX_SIZE} x {MATRIX_SIZE}",
    }


def write_tables(records: list[dict], folder: Path, name: str) -> list[Path]:
    """Write the tables and figures of results into a folder; returns the paths of the files."""
    from .figures import draw_figures

    with translate_os_errors(folder, "written"):
        folder.mkdir(parents=True, exist_ok=True)
        write_text(folder / name, tables.make_report(records))
    return [folder / name, *draw_figures(records, folder)]


def report_files(files, output: Path | None) -> tuple[str, list[Path]]:
    """The tables of the results in several files, and the paths of files written into the folder `output`, if any."""
    path_by_resolved_path = {  # a file that is named twice counts once
        Path(path, results.RESULTS_FILE if Path(path).is_dir() else "").resolve(): path for path in files
    }
    records = [results.read_record(path) for path in path_by_resolved_path.values()]
    return tables.make_report(records), write_tables(records, output, "report.md") if output else []
