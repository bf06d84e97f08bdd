"""The record of one run of a sweep: a JSON file with the machine and every sample of every row."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from ..errors import FilesError, UsageError, translate_os_errors
from ..files.draft import write_text
from .sweeps import BenchRow, BenchSweep

FORMAT_VERSION = 1
RESULTS_FILE = "results.json"
#: The keys without which a file is not a record.
REQUIRED_KEYS = ("format", "sweep", "definition", "machine", "rows")
PENDING, OK, FAILED = "pending", "ok", "failed"
#: The reason why a row has failed begins with these words if its answer was wrong.
WRONG_ANSWER = "wrong answer"


def make_record(
    sweep: BenchSweep, rows: list[BenchRow], skipped: list[str], machine: dict, command: str, **more
) -> dict:
    """A new record; its values have the types of JSON, like those of a record that was read from a file."""
    record = {
        "format": FORMAT_VERSION,
        "sweep": sweep.name,
        "definition": sweep._asdict(),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        **{"command": command, "machine": machine, **more, "skipped": skipped, "bandwidth": [], "peak": None},
        "rows": [{"row": asdict(row), "state": PENDING, "samples": []} for row in rows],
    }
    return json.loads(json.dumps(record))


def write_record(record: dict, folder):
    write_text(Path(folder) / RESULTS_FILE, json.dumps(record, indent=1) + "\n")


def read_record(path) -> dict:
    """The record in a file, or in the folder of a sweep; a FilesError if it cannot be read."""
    path = Path(path) / RESULTS_FILE if Path(path).is_dir() else Path(path)
    with translate_os_errors(path, "read"):
        text = path.read_text(errors="replace")
    try:
        record = json.loads(text)
        keys = record if isinstance(record, dict) else ()
        if missing := [key for key in REQUIRED_KEYS if key not in keys]:
            raise ValueError(f"it has no {', '.join(missing)}")
        if record["format"] != FORMAT_VERSION:
            raise ValueError(f"format {record['format']}")
        for entry in record["rows"]:
            row_of_entry(entry)
    except (ValueError, TypeError, KeyError) as error:
        raise FilesError(f"{path}: not a result of this version of `swmodel bench`: {error}") from None
    return record


def resume_record(folder, new_record: dict) -> dict:
    """The record in the folder, ready to continue: samples are kept, failed rows repeated, and rounds may be added.

    UsageError: the new record has another sweep, choice of rows, processor or revision of the program.
    """
    record = read_record(folder)
    value_functions = {
        "sweep": lambda any_record: any_record["sweep"],
        "choice of rows": lambda any_record: [row_of_entry(entry) for entry in any_record["rows"]],
        "processor": lambda any_record: any_record["machine"]["cpu"],
        "revision of the program": lambda any_record: any_record["machine"]["revision"],
    }
    if differing := [name for name, value_of in value_functions.items() if value_of(new_record) != value_of(record)]:
        raise UsageError(
            f"{folder}: cannot continue with another {', '.join(differing)}; start again with another --output"
        )
    rounds = record["definition"]["rounds"] = max(each["definition"]["rounds"] for each in (new_record, record))
    for entry in record["rows"]:
        if entry["state"] == FAILED:
            entry["samples"] = []
            entry.pop("reason", None)
        entry["state"] = OK if len(entry["samples"]) == rounds else PENDING
    return record


def entries_in_state(record: dict, state: str = OK) -> list[dict]:
    """The entries of the rows that are pending, finished ("ok") or failed."""
    return [entry for entry in record["rows"] if entry["state"] == state]


def row_of_entry(entry: dict) -> BenchRow:
    return BenchRow(**entry["row"])
