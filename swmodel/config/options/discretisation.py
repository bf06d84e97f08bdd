"""The tables [scheme] and [time]: discretisation in space and in time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from pydantic import ValidationInfo, field_validator

from ...ocean.dates import CALENDARS, format_date, is_valid_date
from ...ocean.option import Deferred, Duration, Section, option
from ...ocean.timestep import STEPPERS

if TYPE_CHECKING:
    CalendarName: TypeAlias = str
    StepperName: TypeAlias = str
else:
    CalendarName, StepperName = Literal[CALENDARS], Literal[STEPPERS]


class SchemeOptions(Section):
    """Discretisation in space."""

    vorticity_flux: Literal["energy", "enstrophy", "arakawa_lamb", "weno5", "weno7"] = option(
        "energy", "", "flux of potential vorticity: named after what it conserves, or upwind of order 5 or 7"
    )


#: Thickness in units of `drying.thickness` above which faces are fully open. Draining layers end between 1 and 2 units.
WET_THICKNESS_RATIO = 2.0


class DryingOptions(Section):
    """Coasts that flood and fall dry; depths may then be negative, the heights of land."""

    active: bool = option(False, "", "whether land floods and falls dry")
    thickness: Deferred[float] = option(
        None,
        "m",
        "a face closes if water above the higher bed is thinner than this; none: a thousandth of the largest depth, at "
        "most 1 cm",
        gt=0,
    )

    @property
    def wet_thickness(self) -> float | None:
        """The thickness above which a cell counts as wet, m; thinner water hardly moves.

        None: there is no drying, or `thickness` has no value yet.
        """
        return WET_THICKNESS_RATIO * self.thickness if self.active and self.thickness else None

    def wet_thickness_in(self, dtype: str) -> float | None:
        """`wet_thickness` rounded to the precision `dtype`, for comparison with the thickness in that precision."""
        return None if self.wet_thickness is None else float(np.dtype(dtype).type(self.wet_thickness))


class TimeOptions(Section):
    """Discretisation in time."""

    stepper: StepperName = option("gfb", "", "time stepper")
    dt: Deferred[Duration] = option(None, "s", "time step; none: a round one that divides output.every")
    cfl: float | None = option(
        None,
        "1",
        "CFL number of the initial state, (|u| + sqrt(g h)) dt sqrt(1/dx2 + 1/dy2); none: 0.6 of the largest stable dt",
        gt=0,
    )
    max_substeps: int = option(
        1,
        "",
        "largest number of substeps of a step, a power of two, for flow that is too fast for dt; 1: no substeps",
        ge=1,
        le=1024,
    )
    substeps_every_steps: int = option(5, "", "steps between two choices of the number of substeps", ge=1)
    ab2_epsilon: float = option(0.1, "1", "ab2 weights are 1.5 + epsilon and -(0.5 + epsilon)", ge=0)
    robert_asselin: float = option(0.05, "1", "coefficient of the leapfrog's Robert-Asselin filter", ge=0, lt=1)
    calendar: CalendarName = option("proleptic_gregorian", "", "CF calendar of the run")
    start: str = option("", "", 'date of the start, "2020-03-01T06:00"; without one, times count from 2000-01-01')

    @field_validator("max_substeps")
    @classmethod
    def check_power_of_two(cls, number: int) -> int:
        """The number. ValueError: it is not a power of two."""
        if number & (number - 1):
            raise ValueError(f"must be a power of two, such as {2 ** number.bit_length()}, because steps are halved")
        return number

    @field_validator("start")
    @classmethod
    def check_start_date(cls, text: str, info: ValidationInfo) -> str:
        """The text. ValueError: it is not a date of the calendar."""
        if text and not format_date(text):
            raise ValueError(f'"{text}" is not a date; write it as "2020-03-01" or "2020-03-01T06:00"')
        if text and "calendar" in info.data and not is_valid_date(text, info.data["calendar"]):
            raise ValueError(f'the calendar {info.data["calendar"]} has no "{text}"')
        return text
