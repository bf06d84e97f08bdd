"""The options of a run: one frozen, typed section for each table of the TOML file.

These classes are the single source for validation, command-line overrides (`-s section.key=value`),
the commented template of `swmodel init` and the resolved `config.toml` of a run folder. Units stand
with each option; inside the model everything is SI.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeAlias, cast

from pydantic import (
    BeforeValidator,
    ConfigDict,
    PrivateAttr,
    SerializeAsAny,
    ValidationInfo,
    create_model,
    field_validator,
    model_validator,
)

from ...ocean.option import Duration, Section, option, parse_duration
from ...ocean.table import COEFFICIENTS, FORCING, GIVEN, SEEN, VARIABLES, WRITABLE
from ...ocean.terms import TERMS
from .dates import CALENDARS, known, written
from .grid import EXTENTS, Grid
from .station import Line, Station

#: Fields whose largest values may be asked for.
MaximumName = Literal["eta", "speed"]

#: Where the values of a field lie.
WHERE = {"centre": "at cell centres", "u": "on east faces", "v": "on north faces"}


class Case(Section):
    """A flat ocean at rest, and the base of all cases: subclassed in the file of a case.

    A subclass has a docstring and any of: options of its own, annotated attributes made by `option`, which are keys of
    the table `[case]`; `defaults`, a dict {section: {key: value}} of what differs from those of the configuration; and
    functions of (self, config, at) for the fields in `ocean.table.GIVEN`, and of (self, state, grid, t), for terms of
    its own (`ocean.own_term`). Its name is that of the class: DoubleGyre is `double_gyre`.

    Attributes:
        kinds: of grid that its formulas are made for.
        file_text: what the user's own file holds that it comes from; "" for all others.
    """

    model_config = ConfigDict(ignored_types=(dict, tuple, str, int, float))  # constants, `defaults` among them

    defaults: ClassVar[dict[str, dict[str, Any]]] = {}
    kinds: ClassVar[tuple[str, ...]] = tuple(EXTENTS)
    file_text: ClassVar[str] = ""

    name: str = option("", "", "name of the case, one of `swmodel cases`")
    file: str = option("", "", "Python file with a case of one's own, in place of a name")
    sha256: str = option("", "", "of that file, as a run records it: no other is taken")

    @model_validator(mode="before")
    @classmethod
    def named(cls, values: Any) -> Any:
        """The values with the name of the case, which follows from the class."""
        if isinstance(values, Case):
            return values
        if values.get("name", name_of(cls)) != name_of(cls):
            raise ValueError(f'this class is the case "{name_of(cls)}"; swmodel.load finds cases by their names')
        return values | {"name": name_of(cls)}

    def recorded(self) -> Case:
        """The case as a run records it: with what its options name files of in place of these."""
        return self


def name_of(case: type[Case]) -> str:
    """The name of a case: that of its class, DoubleGyre as double_gyre."""
    return re.sub(r"(?<=[^A-Z_])(?=[A-Z])", "_", case.__name__).lower()


class Fluid(Section):
    """Constants of the fluid and of the planet, and coefficients, of which [input] may give fields instead."""

    gravity: float = option(9.81, "m s-2", "acceleration of gravity in the equations", gt=0)
    reduced_gravity: bool = option(
        False,
        "",
        "the layer lies over a deep one at rest: gravity is reduced, eta is the displacement of the interface",
    )
    full_gravity: float = option(
        9.81, "m s-2", "gravity of the planet where it is reduced; sea level is eta gravity / full_gravity", gt=0
    )
    depth: float = option(100.0, "m", "resting depth where the case or a file gives none", gt=0)
    density: float = option(1025.0, "kg m-3", "density, which turns wind stress into acceleration", gt=0)
    f0: float = option(0.0, "s-1", "Coriolis parameter at y = 0; on a sphere in place of that of its rotation")
    beta: float = option(0.0, "m-1 s-1", "change of the Coriolis parameter with y")
    slip: Literal["free", "no"] = option("free", "", "free slip or no slip along walls and coasts")


if TYPE_CHECKING:

    class Physics(Fluid):
        def __getattr__(self, name: str) -> float: ...

else:
    Physics = create_model(
        "Physics",
        __base__=Fluid,
        __doc__=Fluid.__doc__,
        **{
            row.name: (float, option(0.0, row.units, row.long_name, ge=row.least, le=row.most))
            for row in COEFFICIENTS.values()
            if row.key == f"physics.{row.name}"
        },
    )


class Scheme(Section):
    """Discretisation in space."""

    vorticity_flux: Literal["energy", "enstrophy", "arakawa_lamb"] = option(
        "energy", "", "flux of potential vorticity, by what it conserves"
    )


if TYPE_CHECKING:
    CalendarName: TypeAlias = str
else:
    CalendarName = Literal[CALENDARS]


class Time(Section):
    """Discretisation in time."""

    stepper: Literal["ab2", "ab3", "rk3", "rk4", "leapfrog"] = option("ab2", "", "time stepper")
    dt: Duration | None = option(None, "s", "time step (or give cfl)")
    cfl: float = option(0.15, "1", "(|u| + sqrt(g h)) dt sqrt(1/dx2 + 1/dy2) of the initial state (or give dt)", gt=0)
    ab2_epsilon: float = option(0.1, "1", "ab2 weights are 1.5 + epsilon and -(0.5 + epsilon)", ge=0)
    robert_asselin: float = option(0.05, "1", "coefficient of the leapfrog's Robert-Asselin filter", ge=0, lt=1)
    calendar: CalendarName = option("proleptic_gregorian", "", "calendar of the run, as CF calls it")
    start: str = option("", "", 'date of the start, as "2020-03-01T06:00"; without one, times count from 2000-01-01')

    @field_validator("start")
    @classmethod
    def dated(cls, text: str, info: ValidationInfo) -> str:
        """The text, if it is a date, and a day of the calendar."""
        if text and not written(text):
            raise ValueError(f'"{text}" is no date; write it as "2020-03-01" or "2020-03-01T06:00"')
        if text and "calendar" in info.data and not known(text, info.data["calendar"]):
            raise ValueError(f'the calendar {info.data["calendar"]} has no "{text}"')
        return text


class Run(Section):
    """How long, how precisely and on what to compute."""

    steps: int | None = option(None, "steps", "length of the run in steps (or give days)", ge=0)
    days: float | None = option(None, "days", "length of the run in model days (or give steps)", ge=0)
    dtype: Literal["float32", "float64"] = option("float32", "", "precision of the state")
    executor: Literal["auto", "native", "xla", "reference"] = option("auto", "", "who computes a block")
    transport: Literal["auto", "serial", "mpi", "sharded"] = option("auto", "", "how blocks talk to each other")
    nproc: int = option(1, "processes", "number of processes", ge=1, le=10**6)
    devices: int = option(1, "devices", "devices of each process, for the sharded transport", ge=1, le=10**4)
    layout: str = option(
        "", "", "blocks in y and x, as 2x3; empty chooses the shortest halos", pattern=r"^([1-9]\d{0,9}x[1-9]\d{0,9})?$"
    )
    reproducible: bool = option(False, "", "the same bits for every layout, some percent slower")
    walltime: Duration | None = option(
        None, "s", 'wall-clock time after which the run stops with a restart, as seconds or "2 h"'
    )
    check_every_steps: int | None = option(
        None, "steps", "most steps between two looks at the state's health; without it, those of half a second", ge=1
    )
    watchdog: Annotated[float, BeforeValidator(parse_duration)] = option(
        600.0, "s", 'wall-clock time without progress after which a stuck run is ended, or "10 min"; 0: never', ge=0
    )

    @property
    def blocks(self) -> int:
        """Number of blocks: one for each device of each process."""
        return self.nproc * self.devices


if TYPE_CHECKING:

    class Input(Section):
        def __getattr__(self, name: str) -> str: ...

    FieldName: TypeAlias = str
    DerivedName: TypeAlias = str
    ControlName: TypeAlias = str
else:
    Input = create_model(
        "Input",
        __base__=Section,
        __doc__='NetCDF files for formulas: "FILE.nc" (by standard name), "FILE.nc:variable", "FILE.nc:name@record".',
        **{
            row.name: (str, option("", "", f"{row.long_name}, {row.units}, {WHERE[row.location]}"))
            for row in (VARIABLES[name] for name in GIVEN)
        },
    )
    DerivedName = Literal[tuple(WRITABLE)]
    FieldName = Literal[(*WRITABLE, *FORCING)]
    ControlName = Literal[tuple(SEEN)]


class Forcing(Section):
    """How what drives the sea is given where it varies in time by formulas."""

    every: Duration = option(3600.0, "s", "model time between the records that formulas in time are evaluated for")


def in_capitals(text: Any) -> Any:
    """The name of a constituent as the table has it."""
    return text.upper() if isinstance(text, str) else text


class Output(Section):
    """What is written, and how often. The initial and the final state always are."""

    every: Duration | None = option(
        None, "s", 'model time between snapshots, as seconds or "6 h" (or give every_steps)'
    )
    every_steps: int | None = option(None, "steps", "steps between snapshots (or give every)", ge=1)
    fields: tuple[FieldName, ...] = option(("h", "u", "v", "eta", "zeta"), "", "fields in each snapshot")
    means: tuple[DerivedName, ...] = option((), "", "fields averaged over the steps between snapshots")
    diagnostics_every_steps: int | None = option(
        None, "steps", "steps between records of mass, energy, ... ; without it, those of the snapshots", ge=1
    )
    spectra: Duration | None = option(
        None, "s", 'model time between spectra (seas without land), as seconds or "6 h" (or give spectra_every_steps)'
    )
    spectra_every_steps: int | None = option(None, "steps", "steps between spectra (or give spectra)", ge=1)
    maxima: tuple[MaximumName, ...] = option(
        (), "", "fields of which each snapshot has the largest value so far, of all steps, and its time"
    )
    arrival: float | None = option(
        None, "m", "size of eta whose first time at each point each snapshot has; none: no arrival", gt=0
    )
    harmonics: tuple[Annotated[str, BeforeValidator(in_capitals)], ...] = option(
        (), "", 'constituents of tides whose amplitude and phase over the run are fitted, as ["M2", "K1"]'
    )
    harmonics_fields: tuple[Literal["eta", "u", "v"], ...] = option(("eta",), "", "fields that they are fitted to")
    harmonics_from: Duration | None = option(None, "s", 'model time from which on they are fitted, as "5 days"')
    harmonics_every_steps: int | None = option(
        None, "steps", "steps between the values that they are fitted to; without it, those of a 40th of a period", ge=1
    )
    stations: tuple[Station, ...] = option((), "", "gauges, each a table [[station]]: name, lon and lat (or x and y)")
    stations_every_steps: int = option(1, "steps", "steps between values of the gauges' series", ge=1)
    sections: tuple[Line, ...] = option(
        (), "", "lines whose transport is written, each a table [[section]]: name, start = [x, y], end = [x, y]"
    )
    sections_every_steps: int = option(1, "steps", "steps between values of the transports", ge=1)
    institution: str = option("", "", "who made the run, recorded in its files")


class Restart(Section):
    """When restart files are written, from which `swmodel resume` goes on. The end of a run always leaves one."""

    every: Duration | None = option(None, "s", 'model time between them, as seconds or "1 day" (or give every_steps)')
    every_steps: int | None = option(None, "steps", "steps between them (or give every)", ge=1)
    every_wall: Duration | None = option(
        1200.0, "s", 'wall-clock time between them, besides those of every or every_steps; "none": no more than those'
    )


class Own(Section):
    """What was handed over in Python: a run of it cannot be repeated from its file alone.

    The fields and terms themselves travel with the configuration (`config.own`). A run records each by its name and its
    SHA-256; its restart files have the fields.
    """

    fields: tuple[str, ...] = option((), "", "names of the fields, as a run records them with their SHA-256")
    terms: tuple[str, ...] = option((), "", "names of the terms, as a run records them with their SHA-256")

    _sources: dict[str, Any] = PrivateAttr(default_factory=dict)  # {name: `given.Source`}
    _terms: tuple[Any, ...] = PrivateAttr(default=())  # Terms
    _parameters: dict[str, Any] = PrivateAttr(default_factory=dict)  # {name of a term: vector, float64}

    @field_validator("fields", "terms")
    @classmethod
    def named(cls, texts: tuple[str, ...]) -> tuple[str, ...]:
        """The texts, each of which has a name."""
        if not all(text.split() for text in texts):
            raise ValueError("must be names")
        return texts

    @property
    def names(self) -> list[str]:
        """Of the fields."""
        return [text.split()[0] for text in self.fields]


#: Controls whose errors have one standard deviation.
TOGETHER = {"velocity": ("u", "v"), "wind": ("wind_x", "wind_y")}


def together(name: str) -> str:
    """What the control's standard deviation is called after: itself, or what it has it in common with."""
    return next((key for key, names in TOGETHER.items() if name in names), name)


def sigma_key(name: str) -> str:
    """The key in [assimilation] of the standard deviation of a control's errors."""
    return f"sigma_{together(name)}"


def spread_of(name: str) -> str:
    """The controls that have this one's standard deviation, in words."""
    return " and ".join(TOGETHER.get(together(name), (name,)))


class Search(Section):
    """What `swmodel assimilate` finds from observations, the errors of the first guess, the minimisation."""

    observations: str = option("", "", "NetCDF file of observations; a twin experiment without one makes its own")
    controls: tuple[ControlName, ...] = option(("eta", "u", "v"), "", "what is found: initial fields, coefficients")
    every_steps: int = option(1, "steps", "steps between the states that observations are compared with", ge=1)
    length: float = option(0.0, "m", "length of correlation of the first guess's errors, for fields", ge=0)
    correlation: Literal["diffusion", "spectrum"] = option(
        "diffusion", "", "how those errors are correlated: by diffusion, around any coast, or by spectrum, without land"
    )
    balanced: bool = option(False, "", "errors of eta bring currents in geostrophic balance with them")
    outer: int = option(10, "iterations", "most outer iterations, each with the run and its derivative anew", ge=1)
    inner: int = option(50, "iterations", "most iterations of conjugate gradients in each", ge=1)
    gradient: float = option(1e-3, "1", "norm of the gradient, over that at the start, at which to stop", gt=0, lt=1)


if TYPE_CHECKING:

    class Assimilation(Search):
        def __getattr__(self, name: str) -> float: ...

else:
    Assimilation = create_model(
        "Assimilation",
        __base__=Search,
        __doc__=Search.__doc__,
        **{
            sigma_key(name): (
                float,
                option(0.0, row.units, f"standard deviation of the first guess's errors of {spread_of(name)}", ge=0),
            )
            for name, row in SEEN.items()
        },
    )


class Ensemble(Section):
    """What `swmodel ensemble` computes: runs that differ by random perturbations."""

    members: int = option(16, "members", "members; number 0 is the run as configured, the others are perturbed", ge=2)
    seed: int = option(0, "", "of the random numbers; another one gives other members", ge=0)
    initial_eta: float = option(0.0, "m", "standard deviation of what is added to the initial eta", ge=0)
    initial_eta_length: float = option(0.0, "m", "length of its correlation", ge=0)
    wind: float = option(0.0, "1", "standard deviation of the relative change of the wind stress", ge=0)
    wind_length: float = option(0.0, "m", "length of its correlation; 0: one number for the whole domain", ge=0)
    viscosity: float = option(0.0, "1", "standard deviation of the logarithm of the factor of the viscosity", ge=0)
    write: tuple[int, ...] = option((), "", "members whose fields are written; empty: the first four")
    advance: Literal["auto", "map", "vmap"] = option(
        "auto", "", "members of a device one after the other (map), or all in each step (vmap); auto: map, on GPUs vmap"
    )


class Sea(Section):
    """What is computed. `case` is the case itself, with its options."""

    case: SerializeAsAny[Case] = option(Case, "", "")
    grid: Grid = option(Grid, "", "")
    physics: Physics = option(Physics, "", "")

    @field_validator("grid")
    @classmethod
    def with_sizes(cls, grid: Grid) -> Grid:
        """The grid with the sizes of its cells, whatever they were given by."""
        if wrong := grid.contradictions():
            raise ValueError("; ".join(f"{key}: {words}" for key, words in wrong.items()))
        return grid.sized()

    @model_validator(mode="after")
    def on_a_grid_of_the_case(self) -> Sea:
        """The same, unless the formulas of the case are made for another kind of grid."""
        if self.grid.kind not in self.case.kinds:
            made_for = " or ".join(self.case.kinds)
            raise ValueError(f"grid.kind: the formulas of the case {self.case.name} are made for {made_for} only")
        return self


#: With a section for each term that has one.
if TYPE_CHECKING:

    class SeaWithTerms(Sea):
        def __getattr__(self, name: str) -> Any: ...

else:
    SeaWithTerms = create_model(
        "SeaWithTerms",
        __base__=Sea,
        **{term.name: (term.options, option(term.options, "", "")) for term in TERMS.values() if term.options},
    )


class Config(SeaWithTerms):
    """A complete run."""

    scheme: Scheme = option(Scheme, "", "")
    time: Time = option(Time, "", "")
    run: Run = option(Run, "", "")
    input: Input = option(Input, "", "")
    forcing: Forcing = option(Forcing, "", "")
    output: Output = option(Output, "", "")
    restart: Restart = option(Restart, "", "")
    own: Own = option(Own, "", "")
    assimilation: Assimilation = option(Assimilation, "", "")
    ensemble: Ensemble = option(Ensemble, "", "")


def section_class(name: str) -> type[Section]:
    """The class of a section; of the case that of all cases."""
    return cast(type[Section], Config.model_fields[name].annotation)


#: Keys of which only one may be given; a later source (file, command line) replaces an earlier one.
ALTERNATIVES = (
    ("run", "steps", "days"),
    ("time", "dt", "cfl"),
    ("output", "every", "every_steps"),
    ("output", "spectra", "spectra_every_steps"),
    ("restart", "every", "every_steps"),
)


def outdated(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Keys of `run` that go back to their defaults where values of it change, as in the config.toml of a run.

    Devices where the transport becomes one with a single device in a process; a layout made for another number of
    blocks; the transport with it, or where there are more devices than it serves, but for the sharded one, which serves
    any number.
    """
    keys = []
    if before["transport"] == "sharded" and after["transport"] in ("serial", "mpi"):
        keys += ["devices"]
        after = {**after, "devices": 1}
    number, other = (run["nproc"] * run["devices"] for run in (before, after))
    if made_for(str(before["layout"]), number):
        keys += ["layout"] if number != other else []
        if before["transport"] != "sharded" and (number != other or after["devices"] > before["devices"]):
            keys += ["transport"]
    return keys


def made_for(layout: str, blocks: int) -> bool:
    """Whether the layout "PYxPX" has so many blocks."""
    return bool(re.fullmatch(r"\d{1,10}x\d{1,10}", layout)) and math.prod(map(int, layout.split("x"))) == blocks
