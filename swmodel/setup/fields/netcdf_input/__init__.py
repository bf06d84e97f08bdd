"""Fields from files (`docs/input.md`): find, check and orient them by their coordinates, and read parts of them."""

from . import series
from .errors import InputError
from .read import open_variable, read_field, times_of_array, variable_from_array
from .units import DEGREE_UNITS, conversion_factor

__all__ = [
    "DEGREE_UNITS",
    "InputError",
    "conversion_factor",
    "variable_from_array",
    "open_variable",
    "read_field",
    "series",
    "times_of_array",
]
