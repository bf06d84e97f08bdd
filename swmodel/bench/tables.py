"""Results as tables: one section for each kind of sweep, with its columns and notes."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median

from .machine import DISTURBED
from .numbers import PROBLEM, STEPS, Numbers, bandwidth, numbers, spread
from .results import FAILED, PENDING, entries, row_of
from .rows import WRITING
from .sweeps import published
from .text import amount, counted, digits, gib, markdown, percent

#: The head of a column, and the function from a row's numbers to its text.
Column = tuple[str, Callable[[Numbers], str]]


def what(one: Numbers) -> str:
    """What computes, and the special properties of the row."""
    row = one.row
    marks = row.marks + ([f"{counted(row.threads, 'thread')} each"] if row.threads else [])
    marks += ["more ranks than cores"] if row.oversubscribed else []
    name = "NumPy reference" if row.name == "reference" else row.name
    return name + (f" ({', '.join(marks)})" if marks else "")


def traffic(name: str, show: Callable) -> Callable[[Numbers], str]:
    """A column of the messages or bytes that a rank or block sends."""
    return lambda one: show((one.entry.get("traffic") or {}).get(name))


def modelled(name: str, show: Callable) -> Callable[[Numbers], str]:
    """The same by the model of a pencil decomposition."""
    return lambda one: show((one.entry.get("traffic") or {}).get("model", {}).get(name))


def sent_per_second(one: Numbers) -> str:
    """Bytes that a rank sends, divided by the time of an exchange, GB/s."""
    sent = (one.entry.get("traffic") or {}).get("bytes")
    return digits(sent / one.step / 1e9) if sent else ""


def writing_cost(one: Numbers) -> float | None:
    """Seconds of a step that writing takes; None for the run without files."""
    names = (*PROBLEM, "executor", "nproc", "devices", "threads")
    bare = [other for other in one.rows if other.row.writing == "none" and one.same(other, names)]
    return one.step - bare[0].step if bare and bare[0] is not one else None


def writing_part(one: Numbers) -> str:
    """The cost of writing, as a fraction of the run without files."""
    cost = writing_cost(one)
    return "" if cost is None else percent(cost / (one.step - cost))


def writing_seconds(one: Numbers) -> str:
    """The cost of writing in the whole run."""
    cost = writing_cost(one)
    return "" if cost is None else digits(one.row.steps * cost)


def members_times_steps(one: Numbers) -> float:
    """Members times steps per second."""
    return one.row.members / one.step


def over_runs(one: Numbers) -> str:
    """Members times steps per second, divided by those of the most runs one after the other."""
    runs = [other for other in one.rows if other.row.advance == "runs" and one.same(other, ("executor",))]
    base = max(runs, key=lambda other: other.row.members, default=None)
    return digits(members_times_steps(one) / members_times_steps(base)) if base else ""


def over_scipy(one: Numbers) -> str:
    """Transforms per second and core, divided by those of scipy.fft for the same field."""
    scipy = one.find("reference", PROBLEM)
    return percent(scipy.step * scipy.cores / (one.step * one.cores)) if scipy else ""


PROCESSES: Column = ("processes", lambda one: str(one.row.nproc))
GRID: Column = ("grid", lambda one: f"{one.row.nx} x {one.row.ny}")
LAYOUT: Column = ("layout", lambda one: "x".join(map(str, one.entry.get("launch", {}).get("layout", []))))
SPREAD: Column = ("spread", lambda one: percent(spread(one.seconds)))
ROW: tuple[Column, ...] = (
    ("row", what),
    PROCESSES,
    ("devices", lambda one: str(one.row.devices) if one.row.transport == "sharded" else ""),
    ("cores", lambda one: str(one.cores) if one.row.platform == "cpu" else f"{one.row.blocks} GPU"),
    GRID,
)
#: For comparison with the published table. A star marks times of rows that timed fewer steps.
SPEED: tuple[Column, ...] = (
    *ROW,
    (f"s for {STEPS} steps", lambda one: digits(STEPS * one.step) + ("*" if one.timed else "")),
    ("published s", lambda one: digits(one.published and one.published["seconds"])),
    ("speed-up over NumPy", lambda one: digits(one.speedup)),
    ("published speed-up", lambda one: digits(one.published and one.published["speedup"])),
    ("parallel efficiency", lambda one: percent(one.efficiency)),
    SPREAD,
)
#: For comparison with the machine's limits.
COST: tuple[Column, ...] = (
    *ROW,
    ("ms/step", lambda one: digits(1e3 * one.step)),
    ("Mcells/s", lambda one: digits(one.rate / 1e6)),
    ("GB/s", lambda one: digits(one.gigabytes_per_second)),
    ("of triad", lambda one: percent(one.share)),
    ("messages/step", traffic("messages", digits)),
    ("bytes/step", traffic("bytes", amount)),
    ("first step, s", lambda one: digits(median(one.samples("first_step_seconds")))),
    ("MiB/rank", lambda one: digits(one.memory / 2**20) if one.memory else ""),
)
HALO: tuple[Column, ...] = (
    GRID,
    PROCESSES,
    LAYOUT,
    ("messages", traffic("messages", digits)),
    ("bytes sent", traffic("bytes", amount)),
    ("µs/exchange", lambda one: digits(1e6 * one.step)),
    ("GB/s sent", sent_per_second),
    SPREAD,
)
OUTPUT: tuple[Column, ...] = (
    ("row", lambda one: f"{what(one)}{', ' if one.row.writing in WRITING else ''}{WRITING.get(one.row.writing, '')}"),
    PROCESSES,
    GRID,
    ("steps", lambda one: str(one.row.steps)),
    ("snapshot every", lambda one: "" if one.row.writing in WRITING else str(one.row.writing)),
    ("run, s", lambda one: digits(one.row.steps * one.step)),
    ("writing, s", writing_seconds),
    ("of the run without", writing_part),
    ("MB", lambda one: digits(median(one.samples("written_bytes")) / 1e6)),
    SPREAD,
)
START: tuple[Column, ...] = (
    ("row", what),
    PROCESSES,
    GRID,
    ("imports, s", lambda one: digits(one.start_parts[0])),
    ("MPI and fields, s", lambda one: digits(one.start_parts[1])),
    ("compilation, s", lambda one: digits(one.start_parts[2])),
    ("one step, s", lambda one: digits(one.start_parts[3])),
    ("total, s", lambda one: digits(median(one.samples("first_step_seconds")))),
    ("spread", lambda one: percent(spread(one.samples("first_step_seconds")))),
)
ENSEMBLE: tuple[Column, ...] = (
    ("row", what),
    GRID,
    ("members", lambda one: str(one.row.members)),
    ("advanced by", lambda one: one.row.advance),
    PROCESSES,
    ("devices", lambda one: str(one.row.devices)),
    ("members x steps/s", lambda one: digits(members_times_steps(one))),
    ("over runs one after the other", over_runs),
    ("Mcells/s", lambda one: digits(one.row.members * one.rate / 1e6)),
    SPREAD,
)
FFT: tuple[Column, ...] = (
    *ROW,
    LAYOUT,
    ("ms there and back", lambda one: digits(1e3 * one.step)),
    ("of scipy.fft, per core", over_scipy),
    ("messages", traffic("messages", digits)),
    ("by the model", modelled("messages", digits)),
    ("bytes sent", traffic("bytes", amount)),
    ("by the model", modelled("bytes", amount)),
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


def report(records: list[dict]) -> str:
    """The tables of one or several results, those of the same sweep in one section."""
    names = list(dict.fromkeys(record["sweep"] for record in records))
    return "\n".join(section([record for record in records if record["sweep"] == name]) for name in names)


def section(records: list[dict]) -> str:
    """The tables of results of one sweep, with title, machines and notes."""
    found = [one for record in records for one in numbers(record)]
    grids = {GRID[1](one) for one in found}
    title = records[0]["definition"]["title"] + (f", {grids.pop()} cells" if len(grids) == 1 else "")
    several = len(records) > 1
    tables = [table(columns, found, several, grids) for columns in TABLES[records[0]["definition"]["measure"]]]
    lines = [(f"{record['label']}: " if several else "") + text for record in records for text in notes(record)]
    if any(one.published for one in found):
        there = published()
        lines.append(f"published: {there['cpu']}, {there['gpu']}; {there['source']}")
    text = "\n".join(tables) if found else "No row is finished.\n"
    return f"## {title}\n\n{text}\n" + "".join(f"* {line}\n" for line in lines)


def table(columns: tuple[Column, ...], found: list[Numbers], machines: bool, grids) -> str:
    """One table: the columns that are not empty; that of the grid if there are several."""
    if machines:
        columns = (("machine", lambda one: one.record["label"]), *columns)
    texts = [(head, [value(one) for one in found]) for head, value in columns]
    kept = [(head, cells) for head, cells in texts if any(cells) and (head != "grid" or grids)]
    return markdown([head for head, _ in kept], list(map(list, zip(*(cells for _, cells in kept), strict=True))))


def notes(record: dict) -> list[str]:
    """What readers of the tables must know: machine, limits, samples, rows without numbers and why, scaled times."""
    machine, rounds = record["machine"], record["definition"]["rounds"]
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items() if name != "swmodel")
    lines = [
        f"{machine['cpu']}, {machine['cores']} cores, {gib(machine['memory_bytes'])}; {machine['system']}; "
        f"Python {machine['python']}, {versions}; revision {machine['revision'] or 'unknown'}; {record['created']}"
    ]
    launches = [entry.get("launch", {}) for entry in record["rows"]]
    if libraries := sorted({launch["mpi"] for launch in launches if launch.get("mpi")}):
        bound = "bound" if any(launch.get("bound") for launch in launches) else "not bound"
        lines.append(f"{', '.join(libraries)}; ranks {bound} to cores")
    if limit := bandwidth(record):
        peak, gpu = record["peak"], bandwidth(record, "gpu")
        text = f"triad {digits(limit)} GB/s ({record['bandwidth'][0]['by']})"
        text += f", peak {digits(peak['gigaflops'])} Gflop/s ({peak['by']})" if peak else ""
        lines.append(text + (f"; GPU triad {digits(gpu)} GB/s" if gpu else ""))
    if any(entry["samples"] for entry in record["rows"]):
        lines += [f"{counted(rounds, 'sample')} of each row, rows by turns; medians", *disturbance(record)]
    lines += [f"skipped: {text}" for text in record["skipped"]]
    lines += [f"{row_of(entry).label}: FAILED, {entry['reason']}" for entry in entries(record, FAILED)]
    for entry in entries(record, PENDING):
        taken = len(entry["samples"])
        so_far = f"{taken} of {rounds} samples so far" if taken else "not measured yet"
        lines.append(f"{row_of(entry).label}: {so_far}")
    scaled = [one for one in numbers(record) if one.timed]
    if not scaled:
        return lines
    if len(scaled) == len(entries(record)) and len({one.timed for one in scaled}) == 1:
        return [*lines, f"\\* {scaled[0].timed} steps timed, scaled to {STEPS}"]
    rows = "; ".join(f"{one.row.label} ({one.timed})" for one in scaled)
    return [*lines, f"\\* fewer steps timed, scaled to {STEPS}: {rows}"]


def disturbance(record: dict) -> list[str]:
    """Whether other programs took some of the cores while rows were measured, as one line or none."""
    shares = [[sample.get("others") for sample in entry["samples"]] for entry in record["rows"] if entry["samples"]]
    if any(None in row for row in shares):
        return ["what other programs took of the cores is not on record"]
    medians = [median(row) for row in shares]
    disturbed = [share for share in medians if share > DISTURBED]
    if not disturbed:
        return []
    part, rows = percent(max(disturbed)), f"{len(disturbed)} of {len(medians)} rows"
    return [f"other programs took up to {part} of the cores while {rows} were measured: do not quote these times"]
