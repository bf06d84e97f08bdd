"""Results as Markdown: one table for each kind of sweep, with what a reader must know to judge it."""

from __future__ import annotations

from statistics import median

from .limits import gib
from .numbers import STEPS, Numbers, bandwidth, numbers
from .results import FAILED, PENDING, entries, row_of
from .sweeps import published

MISSING = ""


def markdown(heads: list[str], lines: list[list[str]]) -> str:
    """A Markdown table; names are to the left, numbers to the right."""
    widths = [max(len(line[n]) for line in [heads, *lines]) for n in range(len(heads))]
    left = {0, heads.index("row") if "row" in heads else 0}
    rules = ["-" * w if n in left else "-" * (max(w, 2) - 1) + ":" for n, w in enumerate(widths)]
    rows = [
        " | ".join(
            text.ljust(w) if n in left else text.rjust(w) for n, (text, w) in enumerate(zip(line, widths, strict=True))
        )
        for line in (heads, rules, *lines)
    ]
    return "".join(f"| {row} |\n" for row in rows)


def report(records: list[dict]) -> str:
    """The tables of one or several results, those of the same sweep in one table."""
    names = list(dict.fromkeys(record["sweep"] for record in records))
    return "\n".join(section([record for record in records if record["sweep"] == name]) for name in names)


def section(records: list[dict]) -> str:
    """The table of results of one sweep, with title, machines and notes."""
    measure = records[0]["definition"]["measure"]
    heads, line = TABLES[measure]
    several = len(records) > 1
    lines = [
        [*([record["label"]] if several else []), *line(one, found)]
        for record in records
        for found in [numbers(record)]
        for one in found
    ]
    heads = [*(["machine"] if several else []), *heads]
    grids = {line[heads.index("grid")] for line in lines}
    heads, lines = without_empty(heads, lines)
    title = f"## {records[0]['definition']['title']}{f', {grids.pop()} cells' if len(grids) == 1 else ''}\n\n"
    table = markdown(heads, lines) if lines else "No row is finished.\n"
    return title + table + "\n" + "".join(f"* {note}\n" for note in notes(records))


def without_empty(heads: list[str], lines: list[list[str]]) -> tuple[list[str], list[list[str]]]:
    """The table without the columns that say nothing, that of the grid among them where there is one grid."""
    kept = [n for n in range(len(heads)) if n == 0 or any(line[n] for line in lines)]
    kept = [n for n in kept if heads[n] != "grid" or len({line[n] for line in lines}) > 1]
    return [heads[n] for n in kept], [[line[n] for n in kept] for line in lines]


def model_line(one: Numbers, found: list[Numbers]) -> list[str]:
    """A row of the model beside its published one."""
    there, traffic = one.published if comparable_size(one) else None, one.entry.get("traffic") or {}
    return [
        what(one),
        str(one.row.nproc),
        str(one.cores) if one.row.platform == "cpu" else f"{one.row.nproc} GPU",
        f"{one.row.nx} x {one.row.ny}",
        digits(STEPS * one.step) + ("*" if one.scaled else ""),
        number(there and there["seconds"]),
        number(one.speedup),
        number(there and there["speedup"]),
        percent(one.efficiency),
        digits(1e3 * one.step),
        digits(one.rate / 1e6),
        digits(one.gigabytes_per_second),
        percent(one.share),
        number(traffic.get("messages")),
        amount(traffic.get("bytes")),
        digits(median(one.first_step)) if one.first_step else MISSING,
        digits(one.memory / 2**20) if one.memory else MISSING,
        percent(one.spread),
    ]


MODEL_HEADS = [
    "row",
    "processes",
    "cores",
    "grid",
    f"s for {STEPS} steps",
    "published s",
    "speed-up over NumPy",
    "published speed-up",
    "parallel efficiency",
    "ms/step",
    "Mcells/s",
    "GB/s",
    "of triad",
    "messages/step",
    "bytes/step",
    "first step, s",
    "MiB/rank",
    "spread",
]


def halo_line(one: Numbers, found: list[Numbers]) -> list[str]:
    """A row of the exchange alone."""
    traffic = one.entry.get("traffic") or {}
    moved = traffic.get("bytes")
    return [
        what(one),
        f"{one.row.nx} x {one.row.ny}",
        str(one.row.nproc),
        "x".join(map(str, one.entry.get("launch", {}).get("layout", []))),
        number(traffic.get("messages")),
        amount(moved),
        digits(1e6 * one.step),
        digits(moved / one.step / 1e9) if moved else MISSING,
        percent(one.spread),
    ]


HALO_HEADS = ["row", "grid", "processes", "layout", "messages", "bytes sent", "us/exchange", "GB/s sent", "spread"]


def output_line(one: Numbers, found: list[Numbers]) -> list[str]:
    """A row of a run that writes, and what it costs over the run that does not."""
    samples, steps = one.entry["samples"], one.row.steps
    same = [other for other in found if base_of(other.row) == base_of(one.row)]
    bare = next((other for other in same if other.row.writing == "none"), None)
    extra = steps * (one.step - bare.step) if bare and bare is not one else None
    written = median(sample["written_bytes"] for sample in samples)
    return [
        what(one) + {"none": ", no files", "ends": ", first and last state"}.get(one.row.writing, ""),
        str(one.row.nproc),
        f"{one.row.nx} x {one.row.ny}",
        str(steps),
        str(one.row.writing) if isinstance(one.row.writing, int) else MISSING,
        digits(steps * one.step),
        digits(extra) if extra is not None else MISSING,
        percent(extra / (steps * bare.step)) if extra is not None else MISSING,
        digits(written / 1e6),
        percent(one.spread),
    ]


OUTPUT_HEADS = [
    "row",
    "processes",
    "grid",
    "steps",
    "snapshot every",
    "run, s",
    "writing, s",
    "of steps",
    "MB",
    "spread",
]


def base_of(row) -> tuple:
    """What rows that differ in writing only have in common."""
    return row.executor, row.platform, row.nproc, row.nx, row.ny


def start_line(one: Numbers, found: list[Numbers]) -> list[str]:
    """A row of the time to the first step, and what it is spent on."""
    samples = one.entry["samples"]
    parts = [median(sample[f"{name}_seconds"] for sample in samples) for name in ("start", "build", "compile")]
    total = median(one.first_step)
    return [
        what(one),
        str(one.row.nproc),
        f"{one.row.nx} x {one.row.ny}",
        *map(digits, parts),
        digits(max(0.0, total - sum(parts))),
        digits(total),
        percent((max(one.first_step) - min(one.first_step)) / total),
    ]


START_HEADS = [
    "row",
    "processes",
    "grid",
    "Python, s",
    "imports and fields, s",
    "compilation, s",
    "one step, s",
    "total, s",
    "spread",
]

#: For each measure: the heads of its table, and the function that makes a line.
TABLES = {
    "model": (MODEL_HEADS, model_line),
    "halo": (HALO_HEADS, halo_line),
    "output": (OUTPUT_HEADS, output_line),
    "start": (START_HEADS, start_line),
}


def what(one: Numbers) -> str:
    """The executor, and what is special about the row."""
    name = "NumPy reference" if one.row.executor == "reference" else one.row.executor
    marks = [f"{one.row.threads} thread{'s' if one.row.threads > 1 else ''} each"] if one.row.threads else []
    marks += ["more ranks than cores"] if one.row.oversubscribed else []
    return name + (f" ({', '.join(marks)})" if marks else "")


def comparable_size(one: Numbers) -> bool:
    """Whether the row computes the published problem: its grid and its precision."""
    there = published()
    return (one.row.nx, one.row.ny, one.row.dtype) == (there["nx"], there["ny"], there["dtype"])


def notes(records: list[dict]) -> list[str]:
    """What a reader must know: machines, limits, rows that are missing and why, rows that are scaled."""
    lines = []
    for record in records:
        prefix = f"{record['label']}: " if len(records) > 1 else ""
        lines += [prefix + text for text in machine_notes(record)]
        lines += [f"{prefix}skipped: {text}" for text in record["skipped"]]
        lines += [f"{prefix}{row_of(e).label}: FAILED, {e['reason']}" for e in entries(record, FAILED)]
        lines += [f"{prefix}{row_of(e).label}: not measured yet" for e in entries(record, PENDING)]
        lines += [f"\\* {prefix}{text}" for text in scaled_note(numbers(record))]
    if records[0]["sweep"] == "table":
        there = published()
        lines.append(f"published: {there['cpu']}, {there['gpu']}; {there['source']}")
    return lines


def scaled_note(found: list[Numbers]) -> list[str]:
    """Which rows were timed over fewer steps than the published ones, as a note or none."""
    scaled = [one for one in found if one.scaled]
    if not scaled:
        return []
    if len(scaled) == len(found) and len({one.scaled for one in scaled}) == 1:
        return [f"{scaled[0].scaled} steps timed, scaled to {STEPS}"]
    return [f"fewer steps timed, scaled to {STEPS}: " + "; ".join(f"{one.row.label} ({one.scaled})" for one in scaled)]


def machine_notes(record: dict) -> list[str]:
    """Machine, software and limits of a record."""
    machine = record["machine"]
    limit, peak, gpu = bandwidth(record), record["peak"], bandwidth(record, "gpu")
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items() if name != "swmodel")
    lines = [
        f"{machine['cpu']}, {machine['cores']} cores, {gib(machine['memory_bytes'])}; {machine['system']}; "
        f"Python {machine['python']}, {versions}; revision {machine['revision'] or 'unknown'}; {record['created']}"
    ]
    mpi = sorted({text for e in record["rows"] if (text := e.get("launch", {}).get("mpi"))})
    if mpi:
        bound = any(e.get("launch", {}).get("bound") for e in record["rows"])
        lines.append(f"{', '.join(mpi)}; ranks {'bound to cores' if bound else 'not bound to cores'}")
    if limit:
        text = f"triad {digits(limit)} GB/s ({record['bandwidth'][0]['by']})"
        text += f", peak {digits(peak['gigaflops'])} Gflop/s ({peak['by']})" if peak else ""
        text += f"; GPU triad {digits(gpu)} GB/s" if gpu else ""
        lines.append(text)
    rounds = record["definition"]["rounds"]
    lines.append(f"{rounds} sample{'s' if rounds > 1 else ''} of each row, rows by turns; medians")
    loads = [sample["load_before"] for e in record["rows"] for sample in e["samples"]]
    if record["busy"]:
        lines.append(f"other programs were running at the start (load {record['busy']:.1f}): do not quote these times")
    return lines if loads else lines[:1]


def digits(value: float) -> str:
    """A number with three significant digits, without an exponent."""
    if value == 0:
        return "0"
    return f"{value:.0f}" if abs(value) >= 99.95 else f"{value:.3g}" if abs(value) >= 1e-3 else f"{value:.2g}"


def number(value: float | None) -> str:
    """Three digits, empty for None."""
    return MISSING if value is None else digits(value)


def percent(part: float | None) -> str:
    """A part as "83 %", empty for None."""
    return MISSING if part is None else f"{100 * part:.0f} %" if part >= 0.01 or not part else f"{100 * part:.1g} %"


def amount(size: float | None) -> str:
    """Bytes as "43.2 kB", empty for None."""
    if size is None:
        return MISSING
    for factor, unit in ((1e6, "MB"), (1e3, "kB")):
        if size >= factor:
            return f"{size / factor:.3g} {unit}"
    return f"{size:.0f} B"
