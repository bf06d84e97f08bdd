"""Results as tables: one section for each kind of sweep, with its columns and notes."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median

from .markdown import MISSING, amount, digits, markdown, number, percent
from .notes import notes
from .numbers import STEPS, Numbers, numbers, same_problem, spread
from .promises import promised
from .rows import WRITING

#: The head of a column, and the function of a row, and of the other rows of the result, to its text.
Column = tuple[str, Callable[[Numbers, list[Numbers]], str]]


def report(records: list[dict]) -> str:
    """The tables of one or several results, those of the same sweep in one section."""
    names = list(dict.fromkeys(record["sweep"] for record in records))
    return "\n".join(section([record for record in records if record["sweep"] == name]) for name in names)


def section(records: list[dict]) -> str:
    """The tables of results of one sweep, with title, machines and notes."""
    found = [(record, one, all_rows) for record in records for all_rows in [numbers(record)] for one in all_rows]
    grids = {GRID[1](one, []) for _, one, _ in found}
    title = records[0]["definition"]["title"] + (f", {grids.pop()} cells" if len(grids) == 1 else "")
    tables = [table(columns, found, len(records) > 1, grids) for columns in TABLES[records[0]["definition"]["measure"]]]
    if records[0]["sweep"] == "native":
        tables += [text for record in records if (text := promised(record, len(records) > 1))]
    text = "\n".join(tables) if found else "No row is finished.\n"
    return f"## {title}\n\n{text}\n" + "".join(f"* {note}\n" for note in notes(records))


def table(columns: tuple[Column, ...], found: list[tuple], machines: bool, grids: set[str]) -> str:
    """One table: the columns that are not empty; that of the grid if there are several."""
    lines = [
        [*([record["label"]] if machines else []), *(value(one, others) for _, value in columns)]
        for record, one, others in found
    ]
    heads = [*(["machine"] if machines else []), *(head for head, _ in columns)]
    kept = [n for n, head in enumerate(heads) if any(line[n] for line in lines) and (head != "grid" or grids)]
    return markdown([heads[n] for n in kept], [[line[n] for n in kept] for line in lines])


def what(one: Numbers, others) -> str:
    """The executor, and the special properties of the row."""
    name = "NumPy reference" if one.row.name == "reference" else one.row.name
    marks = one.row.marks
    marks += [f"{one.row.threads} thread{'s' if one.row.threads > 1 else ''} each"] if one.row.threads else []
    marks += ["more ranks than cores"] if one.row.oversubscribed else []
    return name + (f" ({', '.join(marks)})" if marks else "")


def cores(one: Numbers, others) -> str:
    """Number of cores, or of GPUs."""
    return str(one.cores) if one.row.platform == "cpu" else f"{one.row.blocks} GPU"


def seconds(one: Numbers, others) -> str:
    """Time of the published number of steps, with a star if fewer were timed."""
    return digits(STEPS * one.step) + ("*" if one.scaled else "")


def published_value(name: str) -> Callable:
    """A column with a value of the published row for this one."""
    return lambda one, others: number(one.published and one.published[name])


def traffic(one: Numbers, name: str) -> float | None:
    """Messages or bytes that a rank sends in a step."""
    return (one.entry.get("traffic") or {}).get(name)


PROCESSES: Column = ("processes", lambda one, others: str(one.row.nproc))
GRID: Column = ("grid", lambda one, others: f"{one.row.nx} x {one.row.ny}")
LAYOUT: Column = ("layout", lambda one, others: "x".join(map(str, one.entry.get("launch", {}).get("layout", []))))
SPREAD: Column = ("spread", lambda one, others: percent(one.spread))  # of the seconds of a step
ROW: tuple[Column, ...] = (
    ("row", what),
    PROCESSES,
    ("devices", lambda one, others: str(one.row.devices) if one.row.transport == "sharded" else ""),
    ("cores", cores),
    GRID,
)

#: The columns for comparison with the published table.
SPEED: tuple[Column, ...] = (
    *ROW,
    (f"s for {STEPS} steps", seconds),
    ("published s", published_value("seconds")),
    ("speed-up over NumPy", lambda one, others: number(one.speedup)),
    ("published speed-up", published_value("speedup")),
    ("parallel efficiency", lambda one, others: percent(one.efficiency)),
    SPREAD,
)

#: The columns for comparison with the machine's limits.
COST: tuple[Column, ...] = (
    *ROW,
    ("ms/step", lambda one, others: digits(1e3 * one.step)),
    ("Mcells/s", lambda one, others: digits(one.rate / 1e6)),
    ("GB/s", lambda one, others: digits(one.gigabytes_per_second)),
    ("of triad", lambda one, others: percent(one.share)),
    ("messages/step", lambda one, others: number(traffic(one, "messages"))),
    ("bytes/step", lambda one, others: amount(traffic(one, "bytes"))),
    ("first step, s", lambda one, others: digits(median(one.first_step)) if one.first_step else MISSING),
    ("MiB/rank", lambda one, others: digits(one.memory / 2**20) if one.memory else MISSING),
)


def sent_per_second(one: Numbers, others) -> str:
    """Bytes that a rank sends, divided by the time of an exchange, GB/s."""
    moved = traffic(one, "bytes")
    return digits(moved / one.step / 1e9) if moved else MISSING


HALO: tuple[Column, ...] = (
    GRID,
    PROCESSES,
    LAYOUT,
    ("messages", lambda one, others: number(traffic(one, "messages"))),
    ("bytes sent", lambda one, others: amount(traffic(one, "bytes"))),
    ("µs/exchange", lambda one, others: digits(1e6 * one.step)),
    ("GB/s sent", sent_per_second),
    SPREAD,
)


def run_seconds(one: Numbers) -> float:
    """Length of a whole run."""
    return one.row.steps * one.step


def without_files(one: Numbers, others: list[Numbers]) -> float | None:
    """Length of the same run without writing; None for that run itself."""
    same = [other for other in others if other.row == one.row.writes("none")]
    return run_seconds(same[0]) if same and same[0] is not one else None


def extra(one: Numbers, others: list[Numbers]) -> str:
    """Seconds that writing costs."""
    bare = without_files(one, others)
    return MISSING if bare is None else digits(run_seconds(one) - bare)


def extra_part(one: Numbers, others: list[Numbers]) -> str:
    """The cost of writing, as a fraction of the run without files."""
    bare = without_files(one, others)
    return MISSING if bare is None else percent(run_seconds(one) / bare - 1)


OUTPUT: tuple[Column, ...] = (
    ("row", lambda one, others: what(one, others) + WRITING.get(one.row.writing, "")),
    PROCESSES,
    GRID,
    ("steps", lambda one, others: str(one.row.steps)),
    ("snapshot every", lambda one, others: str(one.row.writing) if isinstance(one.row.writing, int) else MISSING),
    ("run, s", lambda one, others: digits(run_seconds(one))),
    ("writing, s", extra),
    ("of the run without", extra_part),
    ("MB", lambda one, others: digits(median(sample["written_bytes"] for sample in one.entry["samples"]) / 1e6)),
    SPREAD,
)

START: tuple[Column, ...] = (
    ("row", what),
    PROCESSES,
    GRID,
    ("imports, s", lambda one, others: digits(one.start_parts[0])),
    ("MPI and fields, s", lambda one, others: digits(one.start_parts[1])),
    ("compilation, s", lambda one, others: digits(one.start_parts[2])),
    ("one step, s", lambda one, others: digits(one.start_parts[3])),
    ("total, s", lambda one, others: digits(median(one.first_step))),
    ("spread", lambda one, others: percent(spread(one.first_step))),
)


def members_times_steps(one: Numbers) -> float:
    """Members times steps per second."""
    return one.row.members / one.step


def over_runs(one: Numbers, others: list[Numbers]) -> str:
    """Members times steps per second, divided by those of as many runs (or of the most) one after the other."""
    runs = [other for other in others if other.row.advance == "runs" and other.row.executor == one.row.executor]
    base = max(runs, key=lambda other: other.row.members, default=None)
    return digits(members_times_steps(one) / members_times_steps(base)) if base else MISSING


ENSEMBLE: tuple[Column, ...] = (
    ("row", what),
    GRID,
    ("members", lambda one, others: str(one.row.members)),
    ("advanced by", lambda one, others: one.row.advance),
    PROCESSES,
    ("devices", lambda one, others: str(one.row.devices)),
    ("members x steps/s", lambda one, others: digits(members_times_steps(one))),
    ("over runs one after the other", over_runs),
    ("Mcells/s", lambda one, others: digits(one.row.members * one.rate / 1e6)),
    SPREAD,
)


def over_scipy(one: Numbers, others: list[Numbers]) -> str:
    """Transforms per second and core, divided by those of scipy.fft for the same field."""
    same = [other for other in others if other.row.executor == "reference" and same_problem(one, other)]
    return percent(same[0].step * same[0].cores / (one.step * one.cores)) if same else MISSING


def modelled(one: Numbers, name: str) -> float | None:
    """Messages or bytes that a block sends, by the model of a pencil decomposition."""
    return (one.entry.get("traffic") or {}).get("model", {}).get(name)


FFT: tuple[Column, ...] = (
    *ROW,
    LAYOUT,
    ("ms there and back", lambda one, others: digits(1e3 * one.step)),
    ("of scipy.fft, per core", over_scipy),
    ("messages", lambda one, others: number(traffic(one, "messages"))),
    ("by the model", lambda one, others: number(modelled(one, "messages"))),
    ("bytes sent", lambda one, others: amount(traffic(one, "bytes"))),
    ("by the model", lambda one, others: amount(modelled(one, "bytes"))),
    SPREAD,
)

#: The tables for each kind of measurement.
TABLES = {
    "model": (SPEED, COST),
    "halo": (HALO,),
    "output": (OUTPUT,),
    "start": (START,),
    "ensemble": (ENSEMBLE,),
    "fft": (FFT,),
}
