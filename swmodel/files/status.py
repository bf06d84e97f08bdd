"""The status of a run: status.json in its folder, written atomically."""

from __future__ import annotations

import json
import math
from pathlib import Path

from ..errors import FilesError
from .draft import write_text

FILE_NAME = "status.json"


def write_status(directory, **keys):
    """Write the status of the run in `directory`; `keys`: state, exit_code, steps, ..., with JSON values."""
    write_text(Path(directory) / FILE_NAME, dumps(keys))


def has_ended(directory) -> bool:
    return read_status(directory).get("state") in ("completed", "stopped", "failed")


def write_final_status(directory, state: str, code: int, message: str) -> dict:
    """Record how the run in `directory` has ended, unless its status says so already; returns the status."""
    status = read_status(directory)
    if not has_ended(directory):
        status |= {"state": state, "exit_code": code, "message": message}
        write_status(directory, **status)
    return status


def read_status(directory) -> dict:
    """The status of the run in `directory`; {} if it has none. FilesError: the file is not a status."""
    path = Path(directory) / FILE_NAME
    try:
        status = json.loads(path.read_text())
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise FilesError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError:
        status = None
    if not isinstance(status, dict):
        raise FilesError(f"{path} is not the status of a run: it was changed or damaged")
    return status


def dumps(value) -> str:
    """Indented JSON text of a value; infinities and NaN become null, because JSON has no such numbers."""
    return json.dumps(replace_non_finite(value), indent=2, allow_nan=False) + "\n"


def replace_non_finite(value):
    if isinstance(value, dict):
        return {key: replace_non_finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [replace_non_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
