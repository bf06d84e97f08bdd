"""A case in a user's own Python file, which is executed; and what a run records of its case.

The class travels in the configuration together with the text of its file (`Case.file_text`), so that a run folder, a
restart file and any number of processes have the file as it was when the configuration was loaded.
"""

from __future__ import annotations

import hashlib
import sys
import types
import warnings
from pathlib import Path

from ... import cases
from ...errors import ConfigError, failure
from ..options.case import Case
from ..options.case_check import declaration_problems
from .sources import text_in

#: The copy in a run folder, next to its config.toml.
CASE = "case.py"

#: In place of a file, where the case was given in Python.
NO_FILE = "(in Python)"

#: Largest size of a file, bytes: HDF5 has room for 64 KiB in an attribute.
LONGEST_FILE = 50_000


def read(path: Path) -> type[Case]:
    """The case in a Python file."""
    return from_text(text_in(path, LONGEST_FILE, "case"), str(path))


def from_text(text: str, path: str) -> type[Case]:
    """The case in the text of a Python file."""
    found = cases.classes(execute(text, path))
    if len(found) != 1:
        what = f"{len(found)} cases: {', '.join(case.__name__ for case in found)}" if found else "no case"
        raise ConfigError([f"{path}: defines {what}; it must have one class that is derived from swmodel.Case"])
    (case,) = found
    if problems := [f"{path}: {problem}" for problem in declaration_problems(case)]:
        raise ConfigError(problems)
    case.file_text = text
    return case


def execute(text: str, path: str) -> types.ModuleType:
    """The module that the text of a Python file makes. The same text is executed once."""
    name = f"swmodel_case_{digest(text)[:16]}"
    if name in sys.modules:
        return sys.modules[name]
    module = sys.modules[name] = types.ModuleType(name)  # where pydantic looks up the annotations
    module.__file__ = path
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Field name .* shadows an attribute")  # `declaration_problems` says it
            exec(compile(text.encode(), path, "exec", dont_inherit=True), module.__dict__)
    except BaseException as error:
        del sys.modules[name]
        if isinstance(error, KeyboardInterrupt):
            raise
        raise ConfigError([failure(error, path)]) from error
    return module


def digest(text: str) -> str:
    """SHA-256 of the text of a file, as hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()


def recorded(case: Case) -> Case:
    """The case as a run records it: with the name that its file has in the run folder, and its checksum."""
    case = case.recorded()
    if case.file_text:
        return case.model_copy(update={"file": CASE, "sha256": digest(case.file_text)})
    return case if cases.shipped(case) else case.model_copy(update={"file": NO_FILE})
