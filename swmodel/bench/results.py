"""The record of one run of a sweep: a JSON file with the machine and every sample of every row."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from ..errors import FilesError, UsageError, file_errors
from ..files.draft import write_text
from .sweeps import Row, Sweep

FORMAT = 1
NAME = "results.json"
PENDING, OK, FAILED = "pending", "ok", "failed"


def new(sweep: Sweep, rows: list[Row], skipped: list[str], machine: dict, command: str, **more) -> dict:
    """A new record, in the form of one from a file."""
    record = {
        "format": FORMAT,
        "sweep": sweep.name,
        "definition": sweep._asdict(),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        **{"command": command, "machine": machine, **more, "skipped": skipped, "bandwidth": [], "peak": None},
        "rows": [{"row": asdict(row), "state": PENDING, "samples": []} for row in rows],
    }
    return json.loads(json.dumps(record))


def write(record: dict, folder):
    """Write the record into its folder, whole or not at all."""
    write_text(Path(folder) / NAME, json.dumps(record, indent=1) + "\n")


def read(path) -> dict:
    """The record in a file, or in a folder of a run."""
    path = Path(path) / NAME if Path(path).is_dir() else Path(path)
    with file_errors(path, "read"):
        text = path.read_text(errors="replace")
    try:
        record = json.loads(text)
        if record["format"] != FORMAT:
            raise ValueError(f"format {record['format']}")
        for entry in record["rows"]:
            row_of(entry)
    except (ValueError, TypeError, KeyError) as error:
        raise FilesError(f"{path}: not a result of this version of `swmodel bench`: {error}") from None
    return record


def resumed(folder, fresh: dict) -> dict:
    """The record in the folder for continuation: it keeps samples, repeats failed rows and may add rounds."""
    record = read(folder)
    facts = {
        "sweep": lambda one: one["sweep"],
        "choice of rows": lambda one: [row_of(entry) for entry in one["rows"]],
        "processor": lambda one: one["machine"]["cpu"],
        "revision of the program": lambda one: one["machine"]["revision"],
    }
    if differing := [name for name, fact in facts.items() if fact(fresh) != fact(record)]:
        raise UsageError(f"{folder}: cannot continue, another {', '.join(differing)}; start again in another --output")
    rounds = record["definition"]["rounds"] = max(one["definition"]["rounds"] for one in (fresh, record))
    for entry in record["rows"]:
        if entry["state"] == FAILED:
            entry["samples"] = []
            entry.pop("reason", None)
        entry["state"] = OK if len(entry["samples"]) == rounds else PENDING
    return record


def entries(record: dict, state: str = OK) -> list[dict]:
    """The rows of a record in this state."""
    return [entry for entry in record["rows"] if entry["state"] == state]


def row_of(entry: dict) -> Row:
    """The Row of an entry."""
    return Row(**entry["row"])
