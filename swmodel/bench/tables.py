"""Results as tables: one section for each kind of sweep, with its columns and notes."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import median

from . import extrapolation
from .machine import MAX_CORE_FRACTION_OF_OTHERS
from .results import FAILED, PENDING, entries_in_state, row_of_entry
from .row_statistics import (
    PROBLEM_FIELDS,
    PUBLISHED_STEPS,
    RowStatistics,
    best_bandwidth,
    relative_spread,
    row_statistics,
)
from .scaling import has_no_messages, predict_step
from .sweeps import WRITING_LABELS, read_published_table
from .text import format_bytes, format_count, format_gib, format_markdown_table, format_number, format_percent

#: The header of a column, and a function that formats the numbers of a row.
TableColumn = tuple[str, Callable[[RowStatistics], str]]


def describe_row(stats: RowStatistics) -> str:
    """The executor or output, and the special properties of a row."""
    row = stats.row
    labels = row.option_labels + ([f"{format_count(row.threads, 'thread')} each"] if row.threads else [])
    labels += ["more ranks than cores"] if row.oversubscribed else []
    name = "NumPy reference" if row.library_name == "reference" else row.library_name
    writing_text = f", {WRITING_LABELS[row.writing]}" if row.writing in WRITING_LABELS else ""
    return name + (f" ({', '.join(labels)})" if labels else "") + writing_text


def seconds_per_step_without_files(stats: RowStatistics) -> float:
    """Seconds per step of the same run without files; NaN if this run writes no files."""
    names = *PROBLEM_FIELDS, "executor", "nproc", "devices", "threads"
    matching = stats.matching_rows(names, writing="none")
    return matching[0].seconds_per_step if matching and matching[0] is not stats else math.nan


def speedup_over_separate_runs(stats: RowStatistics) -> float:
    """Members times steps per second, relative to the row with the most separate runs, one after the other."""
    rows_of_runs = stats.matching_rows(("executor",), advance="runs")
    if not rows_of_runs:
        return math.nan
    runs = max(rows_of_runs, key=lambda run: run.n_members)
    return stats.n_members / stats.seconds_per_step / (runs.n_members / runs.seconds_per_step)


PROCESSES: TableColumn = ("processes", lambda stats: str(stats.row.nproc))
GRID: TableColumn = ("grid", lambda stats: f"{stats.row.nx} x {stats.row.ny}")
LAYOUT: TableColumn = ("layout", lambda stats: "x".join(map(str, stats.entry.get("launch", {}).get("layout", []))))
SPREAD_COLUMN: TableColumn = (
    "spread",
    lambda stats: format_percent(relative_spread(stats.step_samples or stats.first_step_samples)),
)
MESSAGES: TableColumn = ("messages", lambda stats: format_number(stats.traffic["messages"]))
SENT: TableColumn = ("bytes sent", lambda stats: format_bytes(stats.traffic["bytes"]))
ROW_COLUMNS: tuple[TableColumn, ...] = (
    ("row", describe_row),
    PROCESSES,
    ("devices", lambda stats: str(stats.row.devices) if stats.row.transport == "sharded" else ""),
    ("cores", lambda stats: str(stats.cores) if stats.row.platform == "cpu" else f"{stats.row.n_blocks} GPU"),
    GRID,
)
#: The columns for each kind of measurement: `model` compares with the published table, `limits` (a second table of the
#: same rows) with the machine.
COLUMNS: dict[str, tuple[TableColumn, ...]] = {
    "model": (
        *ROW_COLUMNS,
        (
            f"s for {PUBLISHED_STEPS} steps",
            lambda stats: (
                format_number(PUBLISHED_STEPS * stats.seconds_per_step)
                + ("*" if stats.n_timed_steps < PUBLISHED_STEPS else "")
            ),
        ),
        ("published s", lambda stats: format_number(stats.published["seconds"])),
        ("speed-up over NumPy", lambda stats: format_number(stats.speedup)),
        ("published speed-up", lambda stats: format_number(stats.published["speedup"])),
        ("parallel efficiency", lambda stats: format_percent(stats.efficiency)),
        SPREAD_COLUMN,
    ),
    "limits": (
        *ROW_COLUMNS,
        ("ms/step", lambda stats: format_number(1e3 * stats.seconds_per_step)),
        ("Mcells/s", lambda stats: format_number(stats.cells_per_second / 1e6)),
        ("GB/s", lambda stats: format_number(stats.gigabytes_per_second)),
        ("of triad", lambda stats: format_percent(stats.bandwidth_fraction)),
        ("messages/step", MESSAGES[1]),
        ("bytes/step", SENT[1]),
        ("first step, s", lambda stats: format_number(median(stats.first_step_samples))),
        ("MiB/rank", lambda stats: format_number(stats.memory_bytes / 2**20)),
    ),
    "halo": (
        ("exchange", lambda stats: ", ".join(stats.row.settings).removeprefix("run.exchange=")),
        GRID,
        PROCESSES,
        LAYOUT,
        MESSAGES,
        SENT,
        ("µs/exchange", lambda stats: format_number(1e6 * stats.seconds_per_step)),
        ("GB/s sent", lambda stats: format_number(stats.traffic["bytes"] / stats.seconds_per_step / 1e9)),
        SPREAD_COLUMN,
    ),
    "output": (
        ("row", describe_row),
        PROCESSES,
        GRID,
        ("steps", lambda stats: str(stats.row.steps)),
        ("snapshot every", lambda stats: "" if stats.row.writing in WRITING_LABELS else str(stats.row.writing)),
        ("run, s", lambda stats: format_number(stats.n_timed_steps * stats.seconds_per_step)),
        (
            "writing, s",
            lambda stats: format_number(
                stats.n_timed_steps * (stats.seconds_per_step - seconds_per_step_without_files(stats))
            ),
        ),
        (
            "added to the run",
            lambda stats: format_percent(stats.seconds_per_step / seconds_per_step_without_files(stats) - 1),
        ),
        ("MB", lambda stats: format_number(median(stats.sample_values("written_bytes")) / 1e6)),
        SPREAD_COLUMN,
    ),
    "start": (
        ("row", describe_row),
        PROCESSES,
        GRID,
        ("imports, s", lambda stats: format_number(stats.part_seconds["start and imports"])),
        ("MPI and fields, s", lambda stats: format_number(stats.part_seconds["MPI and fields"])),
        ("compilation, s", lambda stats: format_number(stats.part_seconds["compilation"])),
        ("one step, s", lambda stats: format_number(stats.part_seconds["one step"])),
        ("total, s", lambda stats: format_number(median(stats.first_step_samples))),
        SPREAD_COLUMN,
    ),
    "ensemble": (
        ("row", describe_row),
        GRID,
        ("members", lambda stats: str(stats.n_members)),
        ("advanced by", lambda stats: stats.row.advance or ""),
        PROCESSES,
        ("devices", lambda stats: str(stats.row.devices)),
        ("members x steps/s", lambda stats: format_number(stats.n_members / stats.seconds_per_step)),
        ("over separate runs", lambda stats: format_number(speedup_over_separate_runs(stats))),
        ("Mcells/s", lambda stats: format_number(stats.n_members * stats.cells_per_second / 1e6)),
        SPREAD_COLUMN,
    ),
    "scaling": (
        PROCESSES,
        GRID,
        LAYOUT,
        ("ms/step", lambda stats: format_number(1e3 * stats.seconds_per_step)),
        ("predicted", lambda stats: format_number(1e3 * predict_step(stats).seconds_per_step)),
        (
            "share of exchange",
            lambda stats: format_percent(predict_step(stats).exchange / predict_step(stats).seconds_per_step),
        ),
        (
            "error",
            lambda stats: format_percent(round(predict_step(stats).seconds_per_step / stats.seconds_per_step - 1, 3)),
        ),
        ("MiB/rank", lambda stats: format_number(stats.memory_bytes / 2**20)),
        SPREAD_COLUMN,
    ),
    "kernel": (
        ("concurrent processes", PROCESSES[1]),
        GRID,
        ("µs/step", lambda stats: format_number(1e6 * stats.seconds_per_step)),
        ("ns/cell", lambda stats: format_number(1e9 * stats.seconds_per_step / (stats.row.nx * stats.row.ny))),
        SPREAD_COLUMN,
    ),
    "fft": (
        *ROW_COLUMNS,
        LAYOUT,
        ("ms forward and back", lambda stats: format_number(1e3 * stats.seconds_per_step)),
        (
            "of scipy.fft, per core",
            lambda stats: format_percent(stats.speedup * stats.record["machine"]["cores"] / stats.cores),
        ),
        MESSAGES,
        ("messages in theory", lambda stats: format_number(stats.traffic["model"]["messages"])),
        SENT,
        ("bytes in theory", lambda stats: format_bytes(stats.traffic["model"]["bytes"])),
        SPREAD_COLUMN,
    ),
}

#: {table of the sweep `scaling`: function that tells whether the table has a row}.
SCALING_TABLES: dict[str, Callable[[RowStatistics], bool]] = {
    "scaling": lambda stats: stats.row.measure == "model" and stats.row.nproc > 1,
    "kernel": lambda stats: has_no_messages(stats.row),
    "halo": lambda stats: stats.row.measure == "halo",
}


def make_report(records: list[dict]) -> str:
    """The tables of one or several results; results of the same sweep share a section."""
    names = dict.fromkeys(record["sweep"] for record in records)
    return "\n".join(make_section([record for record in records if record["sweep"] == name]) for name in names)


def make_section(records: list[dict]) -> str:
    """The title, the tables and the notes of results of the same sweep."""
    statistics_of_rows = [stats for record in records for stats in row_statistics(record)]
    has_machines, grids = len(records) > 1, {GRID[1](stats) for stats in statistics_of_rows}
    title = records[0]["definition"]["title"] + (f", {min(grids)} cells" if len(grids) == 1 else "")
    measure = records[0]["definition"]["measure"]
    tables_and_rows = [(name, statistics_of_rows) for name in (measure, *(["limits"] if measure == "model" else []))]
    if measure == "scaling":
        tables_and_rows = [
            (name, [stats for stats in statistics_of_rows if has(stats)]) for name, has in SCALING_TABLES.items()
        ]
    tables = [make_table(COLUMNS[name], table_rows, has_machines) for name, table_rows in tables_and_rows if table_rows]
    if measure == "scaling":
        tables += [
            f"{record['label']}. {text}"
            for record in records
            if (text := extrapolation.extrapolation_table(record, row_statistics(record)))
        ]
    lines = []
    for record in records:
        label = f"{record['label']}: " if has_machines else ""
        lines += [label + text for text in make_notes(record)]
    if not all(math.isnan(stats.published["seconds"]) for stats in statistics_of_rows):
        published_values = read_published_table()
        lines.append(f"published: {published_values['cpu']}, {published_values['gpu']}; {published_values['source']}")
    text = "\n".join(tables) if statistics_of_rows else "No row is finished.\n"
    return f"## {title}\n\n{text}\n" + "".join(f"* {line}\n" for line in lines)


def make_table(columns: tuple[TableColumn, ...], statistics_of_rows: list[RowStatistics], has_machines: bool) -> str:
    """One table, without empty columns, and without the column of grids if all rows have the same grid."""
    if has_machines:
        columns = (("machine", lambda stats: stats.record["label"]), *columns)
    cells_by_header = {header: [value(stats) for stats in statistics_of_rows] for header, value in columns}
    if len(set(cells_by_header.get("grid", ()))) == 1:
        del cells_by_header["grid"]
    cells_by_header = {header: cells for header, cells in cells_by_header.items() if any(cells)}
    return format_markdown_table(list(cells_by_header), list(zip(*cells_by_header.values(), strict=True)))


def make_notes(record: dict) -> list[str]:
    """Lines below the tables: the machine, its bandwidth, disturbances, and rows that were skipped or failed."""
    machine, rounds, statistics_of_rows = record["machine"], record["definition"]["rounds"], row_statistics(record)
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items() if name != "swmodel")
    versions += f"; NVIDIA driver {machine['gpu_driver']}" if machine.get("gpu_driver") else ""
    lines = [
        f"{machine['cpu']}, {machine['cores']} cores, {format_gib(machine['memory_bytes'])}; {machine['system']}; "
        f"Python {machine['python']}, {versions}; revision {machine['revision'] or 'unknown'}; {record['created']}"
    ]
    launches = [entry.get("launch", {}) for entry in record["rows"]]
    if libraries := sorted({launch["mpi"] for launch in launches if launch.get("mpi")}):
        bound = "bound" if any(launch.get("bound") for launch in launches) else "not bound"
        lines.append(f"{', '.join(libraries)}; ranks {bound} to cores")
    if record["bandwidth"]:
        peak, gpu = record["peak"], format_number(best_bandwidth(record, "gpu"))
        text = f"triad {format_number(best_bandwidth(record))} GB/s ({record['bandwidth'][0]['by']})"
        text += f", peak {format_number(peak['gigaflops'])} Gflop/s ({peak['by']})" if peak else ""
        lines.append(text + (f"; GPU triad {gpu} GB/s" if gpu else ""))
    if shares := [[sample.get("others") for sample in e["samples"]] for e in record["rows"] if e["samples"]]:
        lines.append(f"{format_count(rounds, 'sample')} of each row, taken in turn; medians")
        if any(None in row for row in shares):
            lines.append("the share of the cores in use by other programs was not recorded")
        elif disturbed_fractions := [part for row in shares if (part := median(row)) > MAX_CORE_FRACTION_OF_OTHERS]:
            rows = f"{len(disturbed_fractions)} of {len(shares)} rows were measured: do not quote these times"
            lines.append(
                f"other programs used up to {format_percent(max(disturbed_fractions))} of the cores while {rows}"
            )
    lines += [f"skipped: {text}" for text in record["skipped"]]
    lines += [f"{row_of_entry(entry).label}: FAILED, {entry['reason']}" for entry in entries_in_state(record, FAILED)]
    for entry in entries_in_state(record, PENDING):
        lines.append(f"{row_of_entry(entry).label}: {len(entry['samples'])} of {rounds} samples so far")
    scaled_rows = [stats for stats in statistics_of_rows if stats.n_timed_steps < PUBLISHED_STEPS]
    if scaled_rows and record["definition"]["measure"] == "model":
        rows = "; ".join(f"{stats.row.label} ({stats.n_timed_steps})" for stats in scaled_rows)
        lines.append(f"\\* timed over fewer steps and scaled to {PUBLISHED_STEPS}: {rows}")
    return lines
