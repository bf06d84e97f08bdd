"""A sweep from the command line to the table: checks, measures, writes results.json, table.md and figures."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import sys
import time
from pathlib import Path

import click

from ..errors import FilesError, NumericalError, SetupError, UsageError, file_errors
from ..model.launch import find_mpiexec
from ..parallel.environment import cores, has_gpu, world
from . import campaign, machine, results, tables
from .machine import all_cores, bytes_free
from .plan import choose, fitting, make_rows
from .sweeps import definition
from .text import counted, percent


def run_sweep(name, *, quick, oversubscribe, output, resume, force, label, launcher, **options) -> int:
    """Run the sweep called `name`; returns the exit code: 0, 4 if an answer was wrong, 3 if rows could not run.

    `options` (executors, nproc, transport, devices, sizes, steps, rounds) replace those of the definition.
    """
    place = world()
    if place is not None and place.size > 1:
        raise UsageError("start swmodel bench alone: it starts the processes of its rows itself (--nproc, --launcher)")
    executors = choose(options.pop("executors") or definition(name).executors)
    sweep = definition(name, quick, executors=executors, **options)
    folder = output or Path("outputs", f"bench-{name}{'-quick' if quick else ''}")
    prepare(folder, resume, force)
    probed = campaign.probe_gpus() if sweep.gpu and has_gpu() else {"gpus": [], "bandwidth": None}
    rows, skipped = make_rows(sweep, all_cores(), len(probed["gpus"]), oversubscribe)
    if not rows:
        raise UsageError("\n".join([*skipped, "no row is left; give --nproc or --oversubscribe"]))
    if any(row.nproc > 1 and (launcher or row.transport != "sharded") for row in rows):
        require_launcher(launcher)
    rows, too_large = fitting(rows, bytes_free(), strict=bool(options["sizes"]))
    described = machine.describe_machine() | {"gpus": probed["gpus"]}
    gpus = f", {len(probed['gpus'])} x {probed['gpus'][0]}" if probed["gpus"] else ""
    named = re.sub(r"\(R\)|\(TM\)| Processor", "", described["cpu"]).strip() + f", {described['cores']} cores{gpus}"
    more = {"quick": quick, "label": label or named, "gpu_bandwidth": probed["bandwidth"]}
    command = shlex.join(["swmodel", *sys.argv[1:]])
    record = results.new(sweep, rows, skipped + too_large, described, command, **more)
    if resume:
        record = results.resumed(folder, record)
    announce(record, folder)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # the end of a batch job also keeps what is finished
    try:
        campaign.measure_rows(record, folder, launcher, click.echo)
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
        raise UsageError(f"{folder}: there is nothing to resume; leave --resume out")
    if there and not (resume or force):
        raise UsageError(f"{folder} holds results; give --resume to go on, --force to replace, or another --output")
    with file_errors(folder, "written"):
        folder.mkdir(parents=True, exist_ok=True)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise FilesError(f"{folder} cannot be written: no permission")


def require_launcher(launcher: str):
    """Make sure that several processes can be started, by mpiexec if no launcher is named."""
    try:
        program = (shlex.split(launcher) or [find_mpiexec()])[0]
    except ValueError as error:
        raise UsageError(f"--launcher {launcher}: {error}") from None
    if shutil.which(program) is None:
        raise UsageError(f"--launcher {launcher}: there is no such program")


def announce(record: dict, folder: Path):
    """Print what is going to be measured and what is not, and a warning if other programs are busy now."""
    sweep = record["definition"]
    samples = counted(sweep["rounds"], "sample")
    click.echo(f"{sweep['title']}: {len(record['rows'])} rows, {samples} each, into {folder}")
    for line in record["skipped"]:
        click.echo(f"skipped: {line}")
    before = machine.Clock.read()
    time.sleep(0.5)
    taken = machine.share_of_others(before, machine.Clock.read(), cores())
    if taken is not None and taken > machine.DISTURBED:
        click.echo(f"Other programs take {percent(taken)} of the cores: times will be disturbed", err=True)


def write_tables(records: list[dict], folder: Path, name: str) -> list[Path]:
    """Write the tables of results and their figures into a folder; returns the files."""
    from .figures import draw

    with file_errors(folder, "written"):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(tables.report(records))
    return [folder / name, *draw(records, folder)]


def report(files, output: Path | None) -> tuple[str, list[Path]]:
    """The tables of results in several files, and the files written if `output` is a folder: report.md and figures."""
    named = {Path(path, results.NAME if Path(path).is_dir() else "").resolve(): path for path in files}
    records = [results.read(path) for path in named.values()]
    return tables.report(records), write_tables(records, output, "report.md") if output else []
