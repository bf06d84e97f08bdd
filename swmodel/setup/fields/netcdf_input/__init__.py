"""Fields from NetCDF files, as `docs/input.md` says: found, checked and turned by their coordinates, read in part."""

from . import series
from .attributes import DEGREES, LENGTHS, SYNONYMS
from .errors import InputError
from .labelled import field_in, read_labelled, records_in, times_of
from .read import distances, opened, pole_in, read_field

__all__ = [
    "DEGREES",
    "LENGTHS",
    "SYNONYMS",
    "InputError",
    "distances",
    "field_in",
    "opened",
    "pole_in",
    "read_field",
    "read_labelled",
    "records_in",
    "series",
    "times_of",
]
