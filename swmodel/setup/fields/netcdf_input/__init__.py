"""Fields from files (`docs/input.md`): find, check and turn them by their coordinates, and read parts of them."""

from . import series
from .errors import InputError
from .read import field_in, opened, read_field, times_of
from .units import DEGREES, conversion

__all__ = [
    "DEGREES",
    "InputError",
    "conversion",
    "field_in",
    "opened",
    "read_field",
    "series",
    "times_of",
]
