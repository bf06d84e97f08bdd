"""Results as tables: one section for each kind of sweep, with its columns and notes."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import median

from . import paper
from .machine import DISTURBED
from .numbers import PROBLEM, STEPS, Numbers, bandwidth, numbers, spread
from .results import FAILED, PENDING, entries, row_of
from .scaling import predict, without_messages
from .sweeps import WRITING, published
from .text import amount, counted, digits, gib, markdown, percent

#: The head of a column, and the function from a row's numbers to its text.
Column = tuple[str, Callable[[Numbers], str]]


def what(one: Numbers) -> str:
    """Executor or output, and special properties of the row."""
    row = one.row
    marks = row.marks + ([f"{counted(row.threads, 'thread')} each"] if row.threads else [])
    marks += ["more ranks than cores"] if row.oversubscribed else []
    name = "NumPy reference" if row.name == "reference" else row.name
    files = f", {WRITING[row.writing]}" if row.writing in WRITING else ""
    return name + (f" ({', '.join(marks)})" if marks else "") + files


def step_without_files(one: Numbers) -> float:
    """Seconds of a step of the same run without files; NaN for this run itself."""
    bare = one.alike((*PROBLEM, "executor", "nproc", "devices", "threads"), writing="none")
    return bare[0].step if bare and bare[0] is not one else math.nan


def over_runs(one: Numbers) -> float:
    """Members times steps per second, relative to the largest number of runs one after the other."""
    runs = max(one.alike(("executor",), advance="runs"), key=lambda run: run.row.members, default=None)
    return one.row.members / one.step / (runs.row.members / runs.step) if runs else math.nan


PROCESSES: Column = ("processes", lambda one: str(one.row.nproc))
GRID: Column = ("grid", lambda one: f"{one.row.nx} x {one.row.ny}")
LAYOUT: Column = ("layout", lambda one: "x".join(map(str, one.entry.get("launch", {}).get("layout", []))))
SPREAD: Column = ("spread", lambda one: percent(spread(one.seconds or one.first_step)))
MESSAGES: Column = ("messages", lambda one: digits(one.traffic["messages"]))
SENT: Column = ("bytes sent", lambda one: amount(one.traffic["bytes"]))
ROW: tuple[Column, ...] = (
    ("row", what),
    PROCESSES,
    ("devices", lambda one: str(one.row.devices) if one.row.transport == "sharded" else ""),
    ("cores", lambda one: str(one.cores) if one.row.platform == "cpu" else f"{one.row.blocks} GPU"),
    GRID,
)
#: The columns for each kind of measurement: `model` compares with the published table, `limits` (a second table of the
#: same rows) with the machine.
COLUMNS: dict[str, tuple[Column, ...]] = {
    "model": (
        *ROW,
        (f"s for {STEPS} steps", lambda one: digits(STEPS * one.step) + ("*" if one.timed < STEPS else "")),
        ("published s", lambda one: digits(one.published["seconds"])),
        ("speed-up over NumPy", lambda one: digits(one.speedup)),
        ("published speed-up", lambda one: digits(one.published["speedup"])),
        ("parallel efficiency", lambda one: percent(one.efficiency)),
        SPREAD,
    ),
    "limits": (
        *ROW,
        ("ms/step", lambda one: digits(1e3 * one.step)),
        ("Mcells/s", lambda one: digits(one.rate / 1e6)),
        ("GB/s", lambda one: digits(one.gigabytes_per_second)),
        ("of triad", lambda one: percent(one.share)),
        ("messages/step", MESSAGES[1]),
        ("bytes/step", SENT[1]),
        ("first step, s", lambda one: digits(median(one.first_step))),
        ("MiB/rank", lambda one: digits(one.memory / 2**20)),
    ),
    "halo": (
        ("exchange", lambda one: ", ".join(one.row.settings).removeprefix("run.exchange=")),
        GRID,
        PROCESSES,
        LAYOUT,
        MESSAGES,
        SENT,
        ("µs/exchange", lambda one: digits(1e6 * one.step)),
        ("GB/s sent", lambda one: digits(one.traffic["bytes"] / one.step / 1e9)),
        SPREAD,
    ),
    "output": (
        ("row", what),
        PROCESSES,
        GRID,
        ("steps", lambda one: str(one.row.steps)),
        ("snapshot every", lambda one: "" if one.row.writing in WRITING else str(one.row.writing)),
        ("run, s", lambda one: digits(one.row.steps * one.step)),
        ("writing, s", lambda one: digits(one.row.steps * (one.step - step_without_files(one)))),
        ("of the run without", lambda one: percent(one.step / step_without_files(one) - 1)),
        ("MB", lambda one: digits(median(one.samples("written_bytes")) / 1e6)),
        SPREAD,
    ),
    "start": (
        ("row", what),
        PROCESSES,
        GRID,
        ("imports, s", lambda one: digits(one.parts["start and imports"])),
        ("MPI and fields, s", lambda one: digits(one.parts["MPI and fields"])),
        ("compilation, s", lambda one: digits(one.parts["compilation"])),
        ("one step, s", lambda one: digits(one.parts["one step"])),
        ("total, s", lambda one: digits(median(one.first_step))),
        SPREAD,
    ),
    "ensemble": (
        ("row", what),
        GRID,
        ("members", lambda one: str(one.row.members)),
        ("advanced by", lambda one: one.row.advance),
        PROCESSES,
        ("devices", lambda one: str(one.row.devices)),
        ("members x steps/s", lambda one: digits(one.row.members / one.step)),
        ("over runs one after the other", lambda one: digits(over_runs(one))),
        ("Mcells/s", lambda one: digits(one.row.members * one.rate / 1e6)),
        SPREAD,
    ),
    "scaling": (
        PROCESSES,
        GRID,
        LAYOUT,
        ("ms/step", lambda one: digits(1e3 * one.step)),
        ("predicted", lambda one: digits(1e3 * predict(one).step)),
        ("of it exchange", lambda one: percent(predict(one).exchange / predict(one).step)),
        ("error", lambda one: percent(round(predict(one).step / one.step - 1, 3))),
        ("MiB/rank", lambda one: digits(one.memory / 2**20)),
        SPREAD,
    ),
    "kernel": (
        ("processes at once", PROCESSES[1]),
        GRID,
        ("µs/step", lambda one: digits(1e6 * one.step)),
        ("ns/cell", lambda one: digits(1e9 * one.step / (one.row.nx * one.row.ny))),
        SPREAD,
    ),
    "fft": (
        *ROW,
        LAYOUT,
        ("ms there and back", lambda one: digits(1e3 * one.step)),
        ("of scipy.fft, per core", lambda one: percent(one.speedup * one.record["machine"]["cores"] / one.cores)),
        MESSAGES,
        ("by the model", lambda one: digits(one.traffic["model"]["messages"])),
        SENT,
        ("by the model", lambda one: amount(one.traffic["model"]["bytes"])),
        SPREAD,
    ),
}

#: The tables of a prediction, and which rows they have.
PARTS: dict[str, Callable[[Numbers], bool]] = {
    "scaling": lambda one: one.row.measure == "model" and one.row.nproc > 1,
    "kernel": lambda one: without_messages(one.row),
    "halo": lambda one: one.row.measure == "halo",
}


def report(records: list[dict]) -> str:
    """The tables of one or several results, those of the same sweep in one section."""
    names = dict.fromkeys(record["sweep"] for record in records)
    return "\n".join(section([record for record in records if record["sweep"] == name]) for name in names)


def section(records: list[dict]) -> str:
    """The tables of results of one sweep, with title, machines and notes."""
    found = [one for record in records for one in numbers(record)]
    several, grids = len(records) > 1, {GRID[1](one) for one in found}
    title = records[0]["definition"]["title"] + (f", {min(grids)} cells" if len(grids) == 1 else "")
    measure = records[0]["definition"]["measure"]
    chosen = [(name, found) for name in (measure, *(["limits"] if measure == "model" else []))]
    if measure == "scaling":
        chosen = [(name, list(filter(of, found))) for name, of in PARTS.items()]
    tables = [table(COLUMNS[name], ones, several) for name, ones in chosen if ones]
    if measure == "scaling":
        tables += [f"{record['label']}. {text}" for record in records if (text := paper.table(record, numbers(record)))]
    lines = [(f"{record['label']}: " if several else "") + text for record in records for text in notes(record)]
    if not all(math.isnan(one.published["seconds"]) for one in found):
        there = published()
        lines.append(f"published: {there['cpu']}, {there['gpu']}; {there['source']}")
    text = "\n".join(tables) if found else "No row is finished.\n"
    return f"## {title}\n\n{text}\n" + "".join(f"* {line}\n" for line in lines)


def table(columns: tuple[Column, ...], found: list[Numbers], machines: bool) -> str:
    """One table, without empty columns, and with grids only if they differ."""
    if machines:
        columns = (("machine", lambda one: one.record["label"]), *columns)
    texts = [(head, [value(one) for one in found]) for head, value in columns]
    kept = [(head, cells) for head, cells in texts if any(cells) and (head != "grid" or len(set(cells)) > 1)]
    return markdown([head for head, _ in kept], list(zip(*(cells for _, cells in kept), strict=True)))


def notes(record: dict) -> list[str]:
    """Notes on the tables: machine, limits, samples, rows without numbers, scaled times."""
    machine, rounds, found = record["machine"], record["definition"]["rounds"], numbers(record)
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items() if name != "swmodel")
    lines = [
        f"{machine['cpu']}, {machine['cores']} cores, {gib(machine['memory_bytes'])}; {machine['system']}; "
        f"Python {machine['python']}, {versions}; revision {machine['revision'] or 'unknown'}; {record['created']}"
    ]
    launches = [entry.get("launch", {}) for entry in record["rows"]]
    if libraries := sorted({launch["mpi"] for launch in launches if launch.get("mpi")}):
        bound = "bound" if any(launch.get("bound") for launch in launches) else "not bound"
        lines.append(f"{', '.join(libraries)}; ranks {bound} to cores")
    if record["bandwidth"]:
        peak, gpu = record["peak"], digits(bandwidth(record, "gpu"))
        text = f"triad {digits(bandwidth(record))} GB/s ({record['bandwidth'][0]['by']})"
        text += f", peak {digits(peak['gigaflops'])} Gflop/s ({peak['by']})" if peak else ""
        lines.append(text + (f"; GPU triad {gpu} GB/s" if gpu else ""))
    if shares := [[sample.get("others") for sample in e["samples"]] for e in record["rows"] if e["samples"]]:
        lines.append(f"{counted(rounds, 'sample')} of each row, rows by turns; medians")
        if any(None in row for row in shares):
            lines.append("the share of the cores in use by other programs was not recorded")
        elif disturbed := [part for row in shares if (part := median(row)) > DISTURBED]:
            rows = f"{len(disturbed)} of {len(shares)} rows were measured: do not quote these times"
            lines.append(f"other programs used up to {percent(max(disturbed))} of the cores while {rows}")
    lines += [f"skipped: {text}" for text in record["skipped"]]
    lines += [f"{row_of(entry).label}: FAILED, {entry['reason']}" for entry in entries(record, FAILED)]
    for entry in entries(record, PENDING):
        lines.append(f"{row_of(entry).label}: {len(entry['samples'])} of {rounds} samples so far")
    published_steps = record["definition"]["measure"] == "model"
    scaled = {one.row.label: one.timed for one in found if published_steps and one.timed < STEPS}
    if scaled:
        rows = "; ".join(f"{label} ({steps})" for label, steps in scaled.items())
        lines.append(f"\\* fewer steps timed, scaled to {STEPS}: {rows}")
    return lines
