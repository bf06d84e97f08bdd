"""Fields from files (`docs/input.md`): find, check and orient them by their coordinates, and read parts of them."""

from . import series
from .errors import InputError
from .read import open_variable, times_of_array, variable_from_array
from .units import conversion_factor

__all__ = ["InputError", "conversion_factor", "open_variable", "series", "times_of_array", "variable_from_array"]
