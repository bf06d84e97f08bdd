"""The tables [output], [restart], [[station]], [[section]] and [[drifters]]: contents of files, and intervals."""

from __future__ import annotations

from copy import copy
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from pydantic import BeforeValidator, Field, create_model, model_validator

from ...ocean.option import Duration, Section, option
from ...ocean.table import FORCING, OUTPUT_FIELDS

#: Fields for `output.maxima`.
MaximumName = Literal["eta", "speed", "h"]

if TYPE_CHECKING:
    FieldName: TypeAlias = str
    MeanName: TypeAlias = str
else:
    MeanName = Literal[tuple(OUTPUT_FIELDS)]
    FieldName = Literal[(*OUTPUT_FIELDS, *FORCING)]


def to_upper_case(text: Any) -> Any:
    return text.upper() if isinstance(text, str) else text


def check_position(value: Any) -> Any:
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise ValueError("must be two numbers, [x, y] in m or [longitude, latitude]")
    return tuple(value)


def check_box(value: Any) -> Any:
    if not isinstance(value, list | tuple) or len(value) != 4:
        raise ValueError("must be four numbers: west, east, south and north, in m or degrees")
    return tuple(value)


#: The name of a station, a section or a river: 1 to 64 characters, without spaces around it.
PlaceName = Annotated[str, Field(pattern=r"^\S(.{0,62}\S)?$")]
Position = Annotated[tuple[float, float], BeforeValidator(check_position)]


class StationOptions(Section):
    """A gauge, where eta, u, v, the tracers and, with drying, h are written as time series: a table [[station]]."""

    name: PlaceName = option(..., "", "name of the station")
    lon: float | None = option(None, "degrees", "longitude, on a sphere or projected grid")
    lat: float | None = option(None, "degrees", "latitude, on a sphere or projected grid")
    x: float | None = option(None, "m", "position in x, on a plane")
    y: float | None = option(None, "m", "position in y, on a plane")


class CrossSectionOptions(Section):
    """A line whose transport is written as a time series: a table [[section]]."""

    name: PlaceName = option(..., "", "name of the section")
    start: Position = option(..., "", "start of the line, [x, y] in m or [longitude, latitude]")
    end: Position = option(..., "", "end of the line, [x, y] in m or [longitude, latitude]")


class DrifterOptions(Section):
    """A drifter that starts at a position, or a lattice of drifters in a box: a table [[drifters]]."""

    at: Position | None = option(None, "", "start of a drifter, [x, y] in m or [longitude, latitude]")
    lon: float | None = option(None, "degrees", "longitude of its start, on a sphere or projected grid, in place of at")
    lat: float | None = option(None, "degrees", "latitude of its start, on a sphere or projected grid")
    x: float | None = option(None, "m", "start in x, on a plane, in place of at")
    y: float | None = option(None, "m", "start in y, on a plane")
    box: Annotated[tuple[float, float, float, float], BeforeValidator(check_box)] | None = option(
        None, "", "box of a lattice of drifters, [west, east, south, north] in m or degrees"
    )
    spacing: float | None = option(None, "m or degrees", "distance between the drifters in a box", gt=0)

    @model_validator(mode="before")
    @classmethod
    def from_position(cls, value: Any) -> Any:
        """Return the table; a position in its place becomes a table with the key `at`."""
        return {"at": value} if isinstance(value, list | tuple) else value


class OutputOptions(Section):
    """Contents of the output files, and intervals. The initial and the final state are always written."""

    every: Duration | None = option(
        None, "s", 'model time between snapshots, as seconds or "6 h" (or give every_steps)'
    )
    every_steps: int | None = option(None, "steps", "steps between snapshots (or give every)", ge=1)
    format: Literal["netcdf", "zarr"] = option(
        "netcdf", "", "format of the snapshots: output.nc, or output.zarr, which all processes write at once"
    )
    fields: tuple[FieldName, ...] = option(("h", "u", "v", "eta", "zeta"), "", "fields in each snapshot")
    means: tuple[MeanName, ...] = option((), "", "fields averaged over the steps between snapshots")
    diagnostics_every_steps: int | None = option(
        None, "steps", "steps between records of mass, energy, ...; none: with each snapshot", ge=1
    )
    spectra: Duration | None = option(
        None, "s", 'model time between spectra, in seas without land, as seconds or "6 h" (or give spectra_every_steps)'
    )
    spectra_every_steps: int | None = option(None, "steps", "steps between spectra (or give spectra)", ge=1)
    maxima: tuple[MaximumName, ...] = option(
        (), "", "fields whose largest value over all steps so far, and its time, are in each snapshot"
    )
    arrival: float | None = option(
        None,
        "m",
        "smallest |eta| of an arrival; the time of the first arrival in each cell is written; none: no times",
        gt=0,
    )
    inundation: bool = option(
        False, "", "whether the first time that water covers ground that was dry at the start is written"
    )
    harmonics: tuple[Annotated[str, BeforeValidator(to_upper_case)], ...] = option(
        (), "", 'tidal constituents for the harmonic analysis of the run, such as ["M2", "K1"]'
    )
    harmonics_fields: tuple[Literal["eta", "u", "v", "transport_x", "transport_y"], ...] = option(
        ("eta",), "", "fields of the harmonic analysis"
    )
    harmonics_from: Duration | None = option(
        None, "s", 'model time at which the harmonic analysis starts, such as "5 days"'
    )
    harmonics_every_steps: int | None = option(
        None, "steps", "steps between values of the harmonic analysis; none: a 40th of the shortest period", ge=1
    )
    stations: tuple[StationOptions, ...] = option(
        (), "", 'gauges, each a table [[station]]: name, lon and lat (or x and y); or "gauges.csv"'
    )
    stations_every_steps: int = option(1, "steps", "steps between values of the gauges' series", ge=1)
    sections: tuple[CrossSectionOptions, ...] = option(
        (), "", "lines whose transport is written, each a table [[section]]: name, start = [x, y], end = [x, y]"
    )
    sections_every_steps: int = option(1, "steps", "steps between values of the transports", ge=1)
    drifters: tuple[DrifterOptions, ...] = option(
        (), "", 'drifters, each a table [[drifters]]: at = [x, y], or box and spacing; or "drifters.csv"'
    )
    drifters_every: Duration | None = option(
        None,
        "s",
        "model time between positions of the drifters; none: with each snapshot (or give drifters_every_steps)",
    )
    drifters_every_steps: int | None = option(
        None, "steps", "steps between positions of the drifters (or give drifters_every)", ge=1
    )
    institution: str = option("", "", "institution that made the run, recorded in its files")


@cache
def output_class(tracers: tuple[str, ...]) -> type[OutputOptions]:
    """OutputOptions in which the keys `fields` and `means` also accept the names of these tracers."""
    if not tracers:
        return OutputOptions
    names_by_key = {"fields": (*OUTPUT_FIELDS, *tracers, *FORCING), "means": (*OUTPUT_FIELDS, *tracers)}
    literal: Any = Literal
    field_keys: Any = {
        key: (tuple[literal[names], ...], copy(OutputOptions.model_fields[key])) for key, names in names_by_key.items()
    }
    return create_model("OutputOptions", __base__=OutputOptions, __doc__=OutputOptions.__doc__, **field_keys)


class RestartOptions(Section):
    """Intervals of restart files, from which `swmodel resume` continues. A run that completes or stops writes one."""

    every: Duration | None = option(None, "s", 'model time between restarts, such as "1 day" (or give every_steps)')
    every_steps: int | None = option(None, "steps", "steps between restarts (or give every)", ge=1)
    format: Literal["netcdf", "zarr"] = option(
        "netcdf", "", "format of restart files: netcdf, or zarr, which all processes write at once"
    )
    every_wall: Duration | None = option(
        1200.0, "s", 'wall-clock time after the last restart file at which a further file is written; "none": never'
    )
