"""The table [assimilation]: controls, errors of the first guess, observations, minimisation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import AfterValidator, create_model

from ...errors import suggest
from ...ocean.elements import array_of, index_of
from ...ocean.option import Duration, Section, option
from ...ocean.table import CONTROL_VECTORS, CONTROLS

#: The names of the controls as the help lists them: all elements of an array have one name, ARRAY[CONSTITUENT,PART].
CONTROL_NAMES = dict.fromkeys(f"{array_of(name)}[CONSTITUENT,PART]" if index_of(name) else name for name in CONTROLS)


def check_control_name(name: str) -> str:
    """The name. ValueError: there is no such control."""
    if name not in CONTROLS:
        raise ValueError(f'"{name}" is not a choice; {suggest(name, CONTROLS)}')
    return name


ControlName = Annotated[str, AfterValidator(check_control_name)]


def sigma_key(name: str) -> str:
    """The key in [assimilation] of the standard deviation of a control's errors; controls may share one."""
    return f"sigma_{next((key for key, names in CONTROL_VECTORS.items() if name in names), array_of(name))}"


class BaseAssimilationOptions(Section):
    """Settings of `swmodel assimilate`: controls, observations, errors of the first guess, minimisation."""

    method: Literal["4dvar", "letkf"] = option(
        "4dvar", "", "4dvar, a variational fit of the initial state; letkf, an ensemble Kalman filter in cycles"
    )
    observations: str = option(
        "", "file", "observations, a NetCDF file or a text table; empty: a twin experiment, which makes its own"
    )
    controls: tuple[ControlName, ...] = option(
        ("eta", "u", "v"), "", f"fields to estimate: {', '.join(CONTROL_NAMES)}; e.g. boundary_tide_level[M2,cosine]"
    )
    every_steps: int = option(1, "steps", "steps between states that are compared with observations", ge=1)
    length: float = option(0.0, "m", "correlation length of the first guess's errors, for fields", ge=0)
    correlation: Literal["diffusion", "spectrum"] = option(
        "diffusion", "", "correlation of the first guess's errors by diffusion (any coast) or by spectrum (no land)"
    )
    correlation_time: float = option(
        0.0, "s", "correlation time of errors in the records of corrections and incident waves; 0: independent", ge=0
    )
    correction_length: float = option(0.0, "m", "correlation length of corrections; 0: as `length`", ge=0)
    correction_every: Duration = option(86400.0, "s", "time between records of corrections")
    balanced: bool = option(False, "", "whether errors of eta come with currents in geostrophic balance")
    cycle_steps: int = option(0, "steps", "letkf: steps between analyses; 0: one at the end of the run", ge=0)
    localisation: float = option(0.0, "m", "letkf: distance beyond which an observation has no influence", ge=0)
    inflation: float = option(1.0, "1", "letkf: factor of the members' covariance at each analysis", ge=1)
    relaxation: float = option(
        0.5, "1", "letkf: fraction of the decrease of spread at an analysis that is undone", ge=0, le=1
    )
    impact: str = option("", "", "quantity on which each observation's impact is computed, such as energy; empty: none")
    impact_days: float = option(0.0, "days", "time after the window for which the impact is computed", ge=0)
    outer: int = option(
        10, "iterations", "largest number of outer iterations, each with a new run and its derivative", ge=1
    )
    inner: int = option(50, "iterations", "largest number of conjugate-gradient iterations per outer iteration", ge=1)
    gradient: float = option(
        1e-3, "1", "norm of the gradient at which to stop, relative to its first value", gt=0, lt=1
    )


if TYPE_CHECKING:

    class AssimilationOptions(BaseAssimilationOptions):  # with the keys sigma_..., which `create_model` adds below
        def __getattr__(self, name: str) -> float: ...

else:
    AssimilationOptions = create_model(
        "AssimilationOptions",
        __base__=BaseAssimilationOptions,
        __doc__=BaseAssimilationOptions.__doc__,
        **{
            sigma_key(name): (
                float,
                option(
                    0.0,
                    row.units,
                    "standard deviation of the first guess's errors of "
                    + " and ".join(CONTROL_VECTORS.get(sigma_key(name).removeprefix("sigma_"), (array_of(name),))),
                    ge=0,
                ),
            )
            for name, row in CONTROLS.items()
        },
    )
