"""Fields from Python in restart files, so that a run can be continued without the script that started it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...errors import FilesError, translate_os_errors
from ...ocean.coordinates import has_rotated_axes
from ...ocean.elements import array_of
from ...ocean.table import location_of, variable_in_run
from ...ocean.variable import Variable
from ...setup.fields import VECTOR_COMPONENTS, source_of, varies_in_time
from ...setup.fields.field_sources import PythonField
from ...setup.fields.formula import is_time_varying_field
from ...setup.fields.python_fields import user_coefficients, user_terms_of, with_python_inputs
from ...setup.fields.record_notes import IN_TIME_LABEL
from ..integrity.checksums import to_text
from .open import open_restart

if TYPE_CHECKING:
    from ...config.options.model import Config

#: The prefix of the names of fields from Python in a file, and the attribute that holds the recorded checksum.
FIELD_PREFIX, RECORDED_CHECKSUM_ATTRIBUTE = "python_", "recorded_sha256"


def with_stored_fields(config: Config, path):
    """The configuration, with those fields from Python that it lacks read from the restart file `path`.

    FilesError: the file lacks such a field, for example because the field varies in time.
    """
    python = config.python
    if not (missing := [name for name in python.names if name not in python._sources]):
        return config
    case_names = (name for name in missing if is_time_varying_field(getattr(type(config.case), array_of(name), None)))
    sources = {name: PythonField(None, varies_in_time=True) for name in case_names}
    for name in (entry[0] for entry in map(str.split, python.fields) if IN_TIME_LABEL in entry):
        if name in missing and name not in sources:
            raise FilesError(
                f"{path}: {name} varies in time and comes from Python; continue the run from Python, with "
                f'swmodel.Simulation.resume(DIR, fields={{"{name}": ...}}).run(DIR), or with case=CLASS of its case'
            )
    with translate_os_errors(path, "read"), open_restart(path) as file:
        for name in (name for name in missing if name not in sources):
            if any(key not in file for key in names_in_file(config, name)):
                raise FilesError(f"{path} has no field {name}, which came from Python when the run started")
            values = {location: file[key][:] for key, location in names_in_file(config, name).items()}
            attrs = file[FIELD_PREFIX + name].attrs
            sources[name] = PythonField(
                values, is_table=bool(attrs["table"]), checksum=to_text(attrs[RECORDED_CHECKSUM_ATTRIBUTE])
            )
    return with_python_inputs(config, python.fields, python.terms, python._sources | sources, python._terms)


def names_in_file(config: Config, name: str) -> dict[str, str]:
    """{name in the file: location} of a field.

    On a grid with rotated axes, a component of a vector is stored at the locations of both components.
    """
    key = FIELD_PREFIX + name
    main_location = location_of(name)
    components = VECTOR_COMPONENTS[name] if name in VECTOR_COMPONENTS and has_rotated_axes(config.grid) else ()
    other_locations = [location for location in map(location_of, components) if location != main_location]
    return {key: main_location} | {f"{key}_at_{location}": location for location in other_locations}


def field_names(config: Config) -> dict[str, tuple[str, str]]:
    """{name in the file: (name, location)} of all fields from Python that do not vary in time."""
    names = [name for name in config.python.names if not varies_in_time(config, name)]
    return {key: (name, location) for name in names for key, location in names_in_file(config, name).items()}


def local_fields(config: Config, block) -> dict[str, np.ndarray]:
    """{name in the file: values on the block, float64 [y, x]} of the fields from Python."""
    rows, columns = (np.arange(span.start, span.stop) for span in (block.y, block.x))

    def block_values(name, location):
        values = source_of(config, name).read(rows, columns, location=location)
        return np.ascontiguousarray(np.broadcast_to(values, block.shape), np.float64)

    return {key: block_values(name, location) for key, (name, location) in field_names(config).items()}


def variable_of(config: Config, key: str) -> Variable:
    name, location = field_names(config)[key]
    model_variable = user_coefficients(user_terms_of(config)).get(name) or variable_in_run(name, config.physics)
    return model_variable._replace(location=location)


def attributes_of(config: Config, key: str) -> dict:
    name, _ = field_names(config)[key]
    (recorded,) = [text.split()[-1] for text in config.python.fields if text.split()[0] == name]
    return {
        RECORDED_CHECKSUM_ATTRIBUTE: recorded,
        "table": np.int8(source_of(config, name).is_table),
        "comment": "from Python",
    }
