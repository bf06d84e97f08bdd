"""Fields from files, as `docs/input.md` says: found, checked and turned by their coordinates, read in part."""

from . import series
from .errors import InputError
from .labelled import field_in, times_of
from .read import opened, read_field
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
