"""Fields from Python in restart files, so that a run can continue without its script."""

from __future__ import annotations

import numpy as np

from ...errors import FilesError, file_errors
from ...ocean.coordinates import turned
from ...ocean.elements import array_of
from ...ocean.table import entry_of, location_of
from ...ocean.variable import Variable
from ...setup.fields import VECTORS, field_of, varies
from ...setup.fields.field import python_terms, rows_asked_for, with_python
from ...setup.fields.formula import in_time
from ...setup.fields.kinds import PythonField
from ...setup.fields.noted import IN_TIME
from ..integrity.checksums import text
from .open import opened

#: The begin of the name of such a field in a file, and its attribute with the recorded checksum.
GIVEN, RECORDED = "given_", "recorded_sha256"


def with_stored(config, path):
    """The configuration with the fields from Python of the run, read from a restart file if missing.

    FilesError: the file cannot be read, or lacks a field.
    """
    python = config.python
    if not (missing := [name for name in python.names if name not in python._sources]):
        return config
    of_case = (name for name in missing if in_time(getattr(type(config.case), array_of(name), None)))
    found = {name: PythonField(None, in_time=True) for name in of_case}
    for name in (words[0] for words in map(str.split, python.fields) if IN_TIME in words):
        if name in missing and name not in found:
            raise FilesError(
                f"{path}: {name} varies in time and comes from Python; continue the run there, as "
                f'swmodel.Simulation.resume(DIR, fields={{"{name}": ...}}).run(DIR), or with case=CLASS of its case'
            )
    with file_errors(path, "read"), opened(path) as file:
        for name in (name for name in missing if name not in found):
            if any(key not in file for key in keys_of(config, name)):
                raise FilesError(f"{path}: has no field {name}, which came from Python when the run began")
            values = {location: file[key][:] for key, location in keys_of(config, name).items()}
            stored = file[GIVEN + name].attrs
            found[name] = PythonField(values, tabulated=bool(stored["table"]), recorded=text(stored[RECORDED]))
    return with_python(config, python.fields, python.terms, python._sources | found, python._terms)


def keys_of(config, name: str) -> dict[str, str]:
    """{name in the file: location} of a field from Python.

    On a turned grid a component of a vector also has values at the location of the other one.
    """
    key = GIVEN + name
    own = location_of(name)
    others = VECTORS[name] if name in VECTORS and turned(config.grid) else ()
    elsewhere = [location for location in map(location_of, others) if location != own]
    return {key: own} | {f"{key}_at_{location}": location for location in elsewhere}


def kept(config) -> dict[str, tuple[str, str]]:
    """{name in the file: (name, location)} of all fields from Python, without those that vary in time."""
    names = [name for name in config.python.names if not varies(config, name)]
    return {key: (name, location) for name in names for key, location in keys_of(config, name).items()}


def fields_of(config, block) -> dict[str, np.ndarray]:
    """The fields from Python, float64 [y, x] on a block, by their names in the file."""
    rows, columns = (np.arange(span.start, span.stop) for span in (block.y, block.x))

    def values(name, location):
        read = field_of(config, name).read(rows, columns, location=location)
        return np.ascontiguousarray(np.broadcast_to(read, block.shape), np.float64)

    return {key: values(*each) for key, each in kept(config).items()}


def entry(config, key: str) -> Variable:
    """The row in the table of variables of such a field, by its name in the file."""
    name, location = kept(config)[key]
    row = rows_asked_for(python_terms(config)).get(name) or entry_of(name, config.physics)
    return row._replace(location=location)


def attributes_of(config, key: str) -> dict:
    """The attributes of such a field in the file, besides those of its row."""
    name, _ = kept(config)[key]
    (recorded,) = [text.split()[-1] for text in config.python.fields if text.split()[0] == name]
    return {RECORDED: recorded, "table": np.int8(field_of(config, name).tabulated), "comment": "from Python"}
