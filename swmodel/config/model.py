"""The options of a run: one frozen, typed section for each table of the TOML file.

These classes are the single source for validation, command-line overrides (`-s section.key=value`),
the commented template of `swmodel init` and the resolved `config.toml` of a run folder. Units stand
with each option; inside the model everything is SI.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SerializeAsAny, field_validator, model_validator

from .duration import parse_duration

#: Sizes of numbers that are not zero: their fourth powers, and products of several, stay within double precision.
LEAST, MOST = 1e-30, 1e30

#: Whole numbers that are exact in double precision.
MOST_WHOLE = 2**53

#: Along one axis; the numbers of cells and their products stay exact in 64 bits.
MOST_CELLS = 10**9

#: Of the domain along one axis, m: its cells are not smaller than LEAST.
LEAST_LENGTH = LEAST * MOST_CELLS

#: Relative difference of what is the same but for rounding, such as a length and cells times their size.
ROUND_OFF = 1e-12

Duration = Annotated[float, BeforeValidator(parse_duration), Field(gt=0)]


def option(default: Any, unit: str, doc: str, **constraints) -> Any:
    """A configuration key with its default, its unit ("" for text and switches) and one line of help."""
    extra = {"unit": unit}
    if callable(default):
        return Field(default_factory=default, description=doc, json_schema_extra=extra, **constraints)
    return Field(default, description=doc, json_schema_extra=extra, **constraints)


class Section(BaseModel):
    """A table of the configuration: frozen, and strict about unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False, validate_default=True)

    @field_validator("*")
    @classmethod
    def moderate(cls, value):
        """The value, unless it is a number of a size with which arithmetic fails."""
        if isinstance(value, float) and value != 0 and not LEAST <= abs(value) <= MOST:
            raise ValueError(f"must be 0 or between {LEAST:g} and {MOST:g} in size, not {value:g}")
        if isinstance(value, int) and abs(value) > MOST_WHOLE:
            raise ValueError(f"must be at most {MOST_WHOLE} in size")
        return value


class Case(Section):
    """A flat ocean at rest, and the base of all cases: subclassed in the file of a case.

    A subclass has a docstring and any of: options of its own, annotated attributes made by `option`, which are keys of
    the table `[case]`; `defaults`, a dict {section: {key: value}} of what differs from those of the configuration; and
    functions of (self, config, at) for the fields that `swmodel.cases` lists. Its name is that of the class: DoubleGyre
    is `double_gyre`.

    Attributes:
        file_text: what the user's own file holds that it comes from; "" for all others.
    """

    model_config = ConfigDict(ignored_types=(dict, tuple, str, int, float))  # constants, `defaults` among them

    defaults = {}  # noqa: RUF012  nobody changes it
    file_text: ClassVar[str] = ""

    name: str = option("", "", "name of the case, one of `swmodel cases`")
    file: str = option("", "", "Python file with a case of one's own, in place of a name")
    sha256: str = option("", "", "of that file, as a run records it: no other is taken")

    @model_validator(mode="before")
    @classmethod
    def named(cls, values):
        """The values with the name of the case, which follows from the class."""
        if isinstance(values, Case):
            return values
        if values.get("name", name_of(cls)) != name_of(cls):
            raise ValueError(f'this class is the case "{name_of(cls)}"; swmodel.load finds cases by their names')
        return values | {"name": name_of(cls)}


def name_of(case: type[Case]) -> str:
    """The name of a case: that of its class, DoubleGyre as double_gyre."""
    return re.sub(r"(?<=[^A-Z_])(?=[A-Z])", "_", case.__name__).lower()


class Grid(Section):
    """Uniform C-grid of ny rows by nx columns."""

    nx: int = option(360, "cells", "cells in x (west to east)", ge=1, le=MOST_CELLS)
    ny: int = option(180, "cells", "cells in y (south to north)", ge=1, le=MOST_CELLS)
    dx: float = option(5e3, "m", "cell size in x (or give lx)", gt=0)
    dy: float = option(5e3, "m", "cell size in y (or give ly)", gt=0)
    lx: float | None = option(None, "m", "size of the domain in x; dx is lx / nx (or give dx)", ge=LEAST_LENGTH)
    ly: float | None = option(None, "m", "size of the domain in y; dy is ly / ny (or give dy)", ge=LEAST_LENGTH)
    periodic_x: bool = option(True, "", "x is a ring; false puts walls at the west and the east")
    periodic_y: bool = option(False, "", "y is a ring; false puts walls at the south and the north")
    origin: Literal["edge", "centre", "middle"] = option(
        "edge", "", "where x = y = 0: south-west edge, centre of the first cell, or middle of the domain"
    )

    def contradictions(self) -> dict[str, str]:
        """{lx or ly: what is wrong} where the size of the cells is given too, and differs by more than round-off."""
        found = {}
        for cells, size, length in LENGTHS:
            number, each, whole = (getattr(self, key) for key in (cells, size, length))
            if whole is None or size not in self.model_fields_set:
                continue
            if math.isclose(number * each, whole, rel_tol=ROUND_OFF):
                continue
            are = f"{whole:.12g} m are not {cells} {size} = {number} x {each:.12g} m"
            found[length] = f"{are}; leave out {length} or {size}"
        return found

    def sized(self) -> Grid:
        """The grid with dx and dy in place of lx and ly: what is given of them, or lx / nx and ly / ny."""
        sizes = {}
        for cells, size, length in LENGTHS:
            if (whole := getattr(self, length)) is not None:
                sizes[length] = None
                sizes |= {} if size in self.model_fields_set else {size: whole / getattr(self, cells)}
        return self.model_copy(update=sizes)


class Physics(Section):
    """Constants of the fluid and of the planet."""

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
    f0: float = option(0.0, "s-1", "Coriolis parameter at y = 0")
    beta: float = option(0.0, "m-1 s-1", "change of the Coriolis parameter with y")
    viscosity: float = option(0.0, "m2 s-1", "harmonic viscosity", ge=0)
    biharmonic_viscosity: float = option(0.0, "m4 s-1", "biharmonic viscosity", ge=0)
    linear_drag: float = option(0.0, "s-1", "rate of linear bottom drag", ge=0)
    quadratic_drag: float = option(0.0, "1", "coefficient of quadratic bottom drag", ge=0)
    slip: Literal["free", "no"] = option("free", "", "free slip or no slip along walls and coasts")


class Sponge(Section):
    """Relaxation to rest along the sides of the domain."""

    rate: float = option(0.0, "s-1", "relaxation rate at the side; 0 switches the sponge off", ge=0)
    width: float = option(0.0, "m", "distance over which the rate falls to zero, as a parabola", ge=0)
    sides: tuple[Literal["west", "east", "south", "north"], ...] = option(
        ("west", "east", "south", "north"), "", "sides with a sponge"
    )


class Scheme(Section):
    """Discretisation in space."""

    vorticity_flux: Literal["energy", "enstrophy", "arakawa_lamb"] = option(
        "energy", "", "flux of potential vorticity, by what it conserves"
    )


class Time(Section):
    """Discretisation in time."""

    stepper: Literal["ab2", "ab3", "rk3", "rk4", "leapfrog"] = option("ab2", "", "time stepper")
    dt: Duration | None = option(None, "s", "time step (or give cfl)")
    cfl: float = option(0.15, "1", "(|u| + sqrt(g h)) dt sqrt(1/dx2 + 1/dy2) of the initial state (or give dt)", gt=0)
    ab2_epsilon: float = option(0.1, "1", "ab2 weights are 1.5 + epsilon and -(0.5 + epsilon)", ge=0)
    robert_asselin: float = option(0.05, "1", "coefficient of the leapfrog's Robert-Asselin filter", ge=0, lt=1)


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


class Input(Section):
    """NetCDF files in place of formulas: "FILE.nc" (by standard name), "FILE.nc:variable", "FILE.nc:name@record"."""

    depth: str = option("", "", "resting depth, m, at cell centres")
    mask: str = option("", "", "1 water, 0 land, at cell centres")
    wind_x: str = option("", "", "eastward wind stress, Pa, at cell centres")
    wind_y: str = option("", "", "northward wind stress, Pa, at cell centres")
    linear_drag: str = option("", "", "rate of linear drag, s-1, at cell centres")
    eta: str = option("", "", "initial eta, m, at cell centres: sea level, or displacement of the interface")
    u: str = option("", "", "initial eastward velocity, m s-1, on east faces")
    v: str = option("", "", "initial northward velocity, m s-1, on north faces")


FieldName = Literal["h", "u", "v", "eta", "sea_level", "zeta", "q", "speed"]


class Output(Section):
    """What is written, and how often. The initial and the final state always are."""

    every: Duration | None = option(
        None, "s", 'model time between snapshots, as seconds or "6 h" (or give every_steps)'
    )
    every_steps: int | None = option(None, "steps", "steps between snapshots (or give every)", ge=1)
    fields: tuple[FieldName, ...] = option(("h", "u", "v", "eta", "zeta"), "", "fields in each snapshot")
    means: tuple[FieldName, ...] = option((), "", "fields averaged over the steps between snapshots")
    diagnostics_every_steps: int | None = option(
        None, "steps", "steps between records of mass, energy, ... ; without it, those of the snapshots", ge=1
    )
    institution: str = option("", "", "who made the run, recorded in its files")


class Restart(Section):
    """When restart files are written, from which `swmodel resume` goes on. The end of a run always leaves one."""

    every: Duration | None = option(None, "s", 'model time between them, as seconds or "1 day" (or give every_steps)')
    every_steps: int | None = option(None, "steps", "steps between them (or give every)", ge=1)
    every_wall: Duration | None = option(
        1200.0, "s", 'wall-clock time between them, besides those of every or every_steps; "none": no more than those'
    )


ControlName = Literal[
    "eta",
    "u",
    "v",
    "depth",
    "wind_x",
    "wind_y",
    "linear_drag",
    "viscosity",
    "biharmonic_viscosity",
    "quadratic_drag",
    "gravity",
]


class Assimilation(Section):
    """What `swmodel assimilate` finds from observations, the errors of the first guess, the minimisation."""

    observations: str = option("", "", "NetCDF file of observations; a twin experiment without one makes its own")
    controls: tuple[ControlName, ...] = option(("eta", "u", "v"), "", "what is found: initial fields, coefficients")
    every_steps: int = option(1, "steps", "steps between the states that observations are compared with", ge=1)
    length: float = option(0.0, "m", "length of correlation of the first guess's errors, for fields", ge=0)
    balanced: bool = option(False, "", "errors of eta bring currents in geostrophic balance with them")
    sigma_eta: float = option(0.0, "m", "standard deviation of the first guess's errors of eta", ge=0)
    sigma_velocity: float = option(0.0, "m s-1", "of u and v; if balanced, of their unbalanced part", ge=0)
    sigma_depth: float = option(0.0, "m", "of depth", ge=0)
    sigma_wind: float = option(0.0, "Pa", "of wind_x and wind_y", ge=0)
    sigma_linear_drag: float = option(0.0, "s-1", "of linear_drag", ge=0)
    sigma_viscosity: float = option(0.0, "m2 s-1", "of viscosity", ge=0)
    sigma_biharmonic_viscosity: float = option(0.0, "m4 s-1", "of biharmonic_viscosity", ge=0)
    sigma_quadratic_drag: float = option(0.0, "1", "of quadratic_drag", ge=0)
    sigma_gravity: float = option(0.0, "m s-2", "of gravity", ge=0)
    outer: int = option(10, "iterations", "most outer iterations, each with the run and its derivative anew", ge=1)
    inner: int = option(50, "iterations", "most iterations of conjugate gradients in each", ge=1)
    gradient: float = option(1e-3, "1", "norm of the gradient, over that at the start, at which to stop", gt=0, lt=1)


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


class Config(Section):
    """A complete run. `case` is the case itself, with its options."""

    case: SerializeAsAny[Case] = option(Case, "", "")
    grid: Grid = option(Grid, "", "")
    physics: Physics = option(Physics, "", "")
    sponge: Sponge = option(Sponge, "", "")
    scheme: Scheme = option(Scheme, "", "")
    time: Time = option(Time, "", "")
    run: Run = option(Run, "", "")
    input: Input = option(Input, "", "")
    output: Output = option(Output, "", "")
    restart: Restart = option(Restart, "", "")
    assimilation: Assimilation = option(Assimilation, "", "")
    ensemble: Ensemble = option(Ensemble, "", "")

    @field_validator("grid")
    @classmethod
    def with_sizes(cls, grid: Grid) -> Grid:
        """The grid with the sizes of its cells, whatever they were given by."""
        if wrong := grid.contradictions():
            raise ValueError("; ".join(f"{key}: {words}" for key, words in wrong.items()))
        return grid.sized()


#: Keys of which only one may be given; a later source (file, command line) replaces an earlier one.
ALTERNATIVES = (
    ("run", "steps", "days"),
    ("time", "dt", "cfl"),
    ("output", "every", "every_steps"),
    ("restart", "every", "every_steps"),
)

#: Keys of [grid] for each axis: number of cells, their size, and length of the domain, which may be given in place of
#: the size. A later source that gives one of these two replaces both. No more than the size is kept and recorded.
LENGTHS = (("nx", "dx", "lx"), ("ny", "dy", "ly"))


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
