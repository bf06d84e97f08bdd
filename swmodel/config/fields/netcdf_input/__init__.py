"""Fields from NetCDF files, as `docs/input.md` says: found, checked and turned by their coordinates, read in part."""

from . import series
from .attributes import DEGREES, LENGTHS, SYNONYMS
from .errors import InputError
from .labelled import read_labelled, records_in, times_of
from .read import on_true_degrees, opened, read_field

__all__ = [
    "DEGREES",
    "LENGTHS",
    "SYNONYMS",
    "InputError",
    "on_true_degrees",
    "opened",
    "read_field",
    "read_labelled",
    "records_in",
    "series",
    "times_of",
]
