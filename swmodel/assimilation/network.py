"""Where and when the truth of a twin experiment is observed, by the options of its case."""

from __future__ import annotations

from .observations import Observations
from .synthetic import Altimeter, moorings, together, tracks

DAY = 86400.0


def is_twin(config) -> bool:
    """Whether the case defines how a truth and a first guess are made."""
    return {"spinup", "lead", "forecast"} <= set(type(config.case).model_fields)


def network(config) -> Observations:
    """The altimeter's tracks and the moorings of a twin experiment, still without values.

    Moorings measure both components of the current at each time at which the model is compared with observations.

    Args:
        config: resolved Config of a twin case.
    """
    case, every = config.case, config.assimilation.every_steps * config.time.dt
    altimeter = Altimeter(case.repeat * DAY, case.separation, case.spacing, case.eta_error)
    parts = [tracks(config, altimeter, case.seed)]
    if case.moorings:
        error = {"u": case.velocity_error, "v": case.velocity_error}
        parts.append(moorings(config, case.moorings, case.moorings, every, error))
    return together(*parts)
