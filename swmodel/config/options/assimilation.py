"""The table [assimilation]: controls and the errors of the first guess, observations, the minimisation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import AfterValidator, create_model

from ...errors import suggest
from ...ocean.elements import array_of, index_of
from ...ocean.option import Section, option
from ...ocean.table import CONTROLS, PAIRS

#: The controls, in words: an array stands for its elements.
OFFERED = dict.fromkeys(f"{array_of(name)}[CONSTITUENT,PART]" if index_of(name) else name for name in CONTROLS)


def known(name: str) -> str:
    """The name of a control. ValueError: it is none."""
    if name not in CONTROLS:
        raise ValueError(f'no choice "{name}"; {suggest(name, CONTROLS)}')
    return name


ControlName = Annotated[str, AfterValidator(known)]


def sigma_key(name: str) -> str:
    """The key in [assimilation] of the standard deviation of a control's errors, which others may have, too."""
    return f"sigma_{next((key for key, names in PAIRS.items() if name in names), array_of(name))}"


class Search(Section):
    """What `swmodel assimilate` finds from observations, the errors of the first guess, the minimisation."""

    observations: str = option("", "", "NetCDF file of observations; a twin experiment without one makes its own")
    controls: tuple[ControlName, ...] = option(
        ("eta", "u", "v"), "", f"what is found: {', '.join(OFFERED)}; as outside_tide_level[M2,cosine]"
    )
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
                option(
                    0.0,
                    row.units,
                    "standard deviation of the first guess's errors of "
                    + " and ".join(PAIRS.get(sigma_key(name).removeprefix("sigma_"), (array_of(name),))),
                    ge=0,
                ),
            )
            for name, row in CONTROLS.items()
        },
    )
