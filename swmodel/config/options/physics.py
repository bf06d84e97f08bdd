"""The table [physics]: constants, and coefficients."""

from __future__ import annotations

from collections import Counter
from keyword import iskeyword
from typing import TYPE_CHECKING, Literal

from pydantic import create_model, field_validator

from ...ocean.diagnostics import DIAGNOSTICS
from ...ocean.drying import WettingFlow
from ...ocean.flow import Flow
from ...ocean.option import Section, option
from ...ocean.table import COEFFICIENTS, VARIABLES
from ...ocean.terms import TERMS
from ...ocean.terms.tracer import TracerOptions

#: Names that no tracer may have: those of fields, terms, diagnostics, other contents of files, and attributes of Flow.
RESERVED_NAMES = {
    *VARIABLES,
    *TERMS,
    *DIAGNOSTICS,
    *("density", "time", "step", "member", "realization", "wavenumber", "self"),
    *("x", "y", "lon", "lat", "area", "bounds", "crc32", "column", "station", "section", "drifter", "trajectory"),
    *("constituent", "part", "name", "physics", "wet_thickness"),
    *(name for flow in (Flow, WettingFlow) for name in (*dir(flow), *flow.__annotations__)),
}


class BasePhysicsOptions(Section):
    """Constants of the fluid and the planet, and coefficients; [input] may give fields of coefficients instead."""

    gravity: float = option(9.81, "m s-2", "acceleration of gravity in the equations", gt=0)
    reduced_gravity: bool = option(
        False,
        "",
        "whether the layer lies over a deep layer at rest; gravity is then the reduced one, eta that of the interface",
    )
    full_gravity: float = option(
        9.81, "m s-2", "gravity of the planet, for reduced_gravity; sea level is eta gravity / full_gravity", gt=0
    )
    depth: float = option(100.0, "m", "resting depth where the case or a file gives none", gt=0)
    density: float = option(1025.0, "kg m-3", "density of water, which divides the wind stress", gt=0)
    f0: float = option(
        0.0,
        "s-1",
        "Coriolis parameter at y = 0; on a grid with latitudes, f0 + beta y replaces that of the rotation unless both "
        "are 0",
    )
    beta: float = option(0.0, "m-1 s-1", "change of the Coriolis parameter with y")
    tracers: tuple[TracerOptions, ...] = option((), "", "passive tracers, each a table [[tracer]]")
    slip: Literal["free", "no"] = option("free", "", "free slip or no slip along walls and coasts")

    @field_validator("tracers")
    @classmethod
    def check_tracer_names(cls, tracers: tuple[TracerOptions, ...]) -> tuple[TracerOptions, ...]:
        """The tracers. ValueError: two share a name, or a name is in RESERVED_NAMES or a keyword of Python."""
        for name, count in Counter(each.name for each in tracers).items():
            if count > 1:
                raise ValueError(f'{count} tracers are called "{name}"; give them different names')
            if name in RESERVED_NAMES or iskeyword(name):
                raise ValueError(f'"{name}" has another meaning in the files of a run; choose another name')
        return tracers


if TYPE_CHECKING:

    class PhysicsOptions(BasePhysicsOptions):
        def __getattr__(self, name: str) -> float: ...

else:
    PhysicsOptions = create_model(
        "PhysicsOptions",
        __base__=BasePhysicsOptions,
        __doc__=BasePhysicsOptions.__doc__,
        **{
            row.name: (float, option(0.0, row.units, row.long_name, ge=row.min_value, le=row.max_value))
            for row in COEFFICIENTS.values()
            if row.key == f"physics.{row.name}"
        },
    )
