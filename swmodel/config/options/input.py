"""The tables [input], [forcing], [[river]] and [python]: files and Python inputs that give fields and terms."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from pydantic import PrivateAttr, create_model, field_validator

from ...ocean.elements import index_of
from ...ocean.option import Duration, Section, option
from ...ocean.table import INPUT_FIELDS, VARIABLES
from ...ocean.terms.boundary_data import TIDE_ARRAYS
from .output import PlaceName

#: Words for the location of a field.
LOCATION_WORDS = {"centre": "at cell centres", "u": "on east faces", "v": "on north faces"}

if TYPE_CHECKING:

    class InputOptions(Section):
        def __getattr__(self, name: str) -> str: ...

else:
    InputOptions = create_model(
        "InputOptions",
        __base__=Section,
        state=(str, option("", "", "restart file, or folder of a run, from whose last state the run starts")),
        __doc__='NetCDF files for fields: "FILE.nc" (by standard name), "FILE.nc:variable", "FILE.nc:name@record".',
        **{
            row.name: (str, option("", "", f"{row.long_name}, {row.units}, {LOCATION_WORDS[row.location]}"))
            for row in (VARIABLES[name] for name in INPUT_FIELDS if not index_of(name))
        },
        **{
            array: (
                tuple[str, ...],
                option((), "file", f"boundary tide, {what} of each constituent, {units}, {LOCATION_WORDS[location]}"),
            )
            for array, (location, units, what, _) in TIDE_ARRAYS.items()
        },
    )


@cache
def input_class(tracers: tuple[str, ...]) -> type[InputOptions]:
    """The class of [input] in a run with these tracers, whose initial concentrations a file may give."""
    tracer_keys: Any = {
        name: (str, option("", "", f"initial concentration of {name}, 1, at cell centres"))
        for name in tracers
        if not hasattr(InputOptions, name)
    }
    return (
        create_model("InputOptions", __base__=InputOptions, __doc__=InputOptions.__doc__, **tracer_keys)
        if tracer_keys
        else InputOptions
    )


class RiverOptions(Section):
    """A river, a source or a drain: a table [[river]]."""

    name: PlaceName = option(..., "", "name of the river")
    lon: float | None = option(None, "degrees", "longitude of its mouth, on a sphere or projected grid")
    lat: float | None = option(None, "degrees", "latitude of its mouth, on a sphere or projected grid")
    x: float | None = option(None, "m", "position of its mouth in x, on a plane")
    y: float | None = option(None, "m", "position of its mouth in y, on a plane")
    discharge: float | None = option(
        None, "m3 s-1", "water that it brings; negative: a drain or a pump (or give series)"
    )
    series: str = option("", "file", 'table with the columns time and discharge, or NetCDF, "FILE.nc:variable"')
    radius: float = option(0.0, "m", "distance up to which cells share the water evenly; 0: one cell", ge=0)
    tracers: dict[str, float] = option(dict, "1", "concentrations in its water, {dye = 1.0}; 0 for other tracers")


class ForcingOptions(Section):
    """Forcing that varies in time, by formulas and by climatologies, and rivers."""

    every: Duration = option(3600.0, "s", "model time between the records of formulas")
    climatology: tuple[str, ...] = option(
        (), "", 'fields, such as "u10", whose records of one year are repeated in every year'
    )
    rivers: tuple[RiverOptions, ...] = option((), "", "rivers and drains, each a table [[river]]")


class PythonOptions(Section):
    """Inputs from Python: a run with them cannot be repeated from its file alone.

    `config.python` contains the fields and terms themselves. A run records their names and SHA-256, and the names and
    intervals of the functions that it called; its restart files contain the fields that do not vary in time.
    """

    fields: tuple[str, ...] = option((), "", "names of fields from Python; a run adds their SHA-256")
    terms: tuple[str, ...] = option((), "", "names of terms from Python; a run adds their SHA-256")
    calls: tuple[str, ...] = option((), "", "names of called functions, and their intervals")

    _sources: dict[str, Any] = PrivateAttr(default_factory=dict)  # {name: `fields.field_sources.PythonField`}
    _terms: tuple[Any, ...] = PrivateAttr(default=())  # Terms
    _parameters: dict[str, Any] = PrivateAttr(default_factory=dict)  # {name of a term: vector, float64}

    @field_validator("fields", "terms", "calls")
    @classmethod
    def check_names(cls, texts: tuple[str, ...]) -> tuple[str, ...]:
        """The texts. ValueError: one has no name."""
        if not all(text.split() for text in texts):
            raise ValueError("must be names")
        return texts

    @property
    def names(self) -> list[str]:
        """The names of the fields."""
        return [text.split()[0] for text in self.fields]
