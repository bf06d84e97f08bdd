"""Notes for readers of a table: machines, limits, missing rows with the reasons, scaled rows."""

from __future__ import annotations

from statistics import median

from .markdown import digits, gib, percent
from .numbers import STEPS, Numbers, bandwidth, numbers
from .others import DISTURBED
from .results import FAILED, PENDING, entries, row_of
from .sweeps import published


def notes(records: list[dict]) -> list[str]:
    """The notes of results of one sweep."""
    lines = []
    for record in records:
        prefix = f"{record['label']}: " if len(records) > 1 else ""
        lines += [prefix + text for text in [*machine_notes(record), *sample_notes(record)]]
        lines += [f"{prefix}skipped: {text}" for text in record["skipped"]]
        lines += [f"{prefix}{row_of(e).label}: FAILED, {e['reason']}" for e in entries(record, FAILED)]
        lines += [f"{prefix}{row_of(e).label}: {pending(e, record)}" for e in entries(record, PENDING)]
        lines += [f"\\* {prefix}{text}" for text in scaled_note(numbers(record))]
    if any(one.published for record in records for one in numbers(record)):
        there = published()
        lines.append(f"published: {there['cpu']}, {there['gpu']}; {there['source']}")
    return lines


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
    return lines


def sample_notes(record: dict) -> list[str]:
    """How many samples there are, and whether other programs disturbed them; nothing before the first."""
    measured = [entry["samples"] for entry in record["rows"] if entry["samples"]]
    if not measured:
        return []
    rounds = record["definition"]["rounds"]
    lines = [f"{rounds} sample{'s' if rounds > 1 else ''} of each row, rows by turns; medians"]
    shares = [sample.get("others") for samples in measured for sample in samples]
    if None in shares:
        return [*lines, "what other programs took of the cores is not on record"]
    rows = [median(sample["others"] for sample in samples) for samples in measured]
    disturbed = [share for share in rows if share > DISTURBED]
    if disturbed:
        lines.append(
            f"other programs took up to {percent(max(disturbed))} of the cores while {len(disturbed)} of {len(rows)} "
            "rows were measured: do not quote these times"
        )
    return lines


def pending(entry: dict, record: dict) -> str:
    """The progress of a row that is not finished."""
    taken = len(entry["samples"])
    return f"{taken} of {record['definition']['rounds']} samples so far" if taken else "not measured yet"


def scaled_note(found: list[Numbers]) -> list[str]:
    """Which rows were timed over fewer steps than the published ones, as a note or none."""
    scaled = [one for one in found if one.scaled]
    if not scaled:
        return []
    if len(scaled) == len(found) and len({one.scaled for one in scaled}) == 1:
        return [f"{scaled[0].scaled} steps timed, scaled to {STEPS}"]
    return [f"fewer steps timed, scaled to {STEPS}: " + "; ".join(f"{one.row.label} ({one.scaled})" for one in scaled)]
