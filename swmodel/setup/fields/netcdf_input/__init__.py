"""Fields from files, as `docs/input.md` says: found, checked and turned by their coordinates, read in part."""

from . import series
from .errors import InputError
from .read import field_in, opened, read_field, times_of
from .units import DEGREES, LENGTHS, SYNONYMS

__all__ = [
    "DEGREES",
    "LENGTHS",
    "SYNONYMS",
    "InputError",
    "field_in",
    "opened",
    "read_field",
    "series",
    "times_of",
]
