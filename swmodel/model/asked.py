"""What a script asks of a Simulation, checked: what to compute, and how far."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping

from ..config import Config, load
from ..config.load import is_source
from ..errors import UsageError
from ..options import parse_duration

#: Part of a step that is rounding.
ROUND_OFF = 1e-6


def configured(config, overrides, fields, terms):
    """The configuration of a Simulation; what is none, nor a source of one, is given back.

    Raises:
        UsageError: overrides are no dict.
        ConfigError: with everything that is wrong.
    """
    if overrides and not isinstance(overrides, Mapping):
        raise UsageError(
            f'{overrides!r:.60}: overrides are a dict, as {{"grid.nx": 128}}; a file is given as restart=...'
        )
    if not is_source(config) and not isinstance(config, Config):
        return config
    plain = isinstance(config, Config) and not (overrides or fields or terms)
    return config if plain else load(config, overrides, fields=fields, terms=terms)


def steps_for(model, steps, days, until) -> int:
    """The steps from here that `advance` is asked for by a time.

    Raises:
        UsageError: more than one of steps, days and until is given, one is no time, or it has passed.
    """
    if sum(each is not None for each in (steps, days, until)) > 1:
        raise UsageError("advance: give one of steps, days and until")
    given, what = (days, "days") if until is None else (until, "until")
    try:
        seconds = float(parse_duration(given)) if what == "until" else float(given) * 86400.0
    except (TypeError, ValueError):
        seconds = math.nan
    if not math.isfinite(seconds):
        raise UsageError(f"advance({what}={given!r:.40}): is no length of time")
    number = seconds / model.dt
    found = math.ceil(number - ROUND_OFF) - model.step if what == "until" else round(number)
    if found < 0:
        raise UsageError(f"advance({what}={given!r:.40}): the model is at {model.time:g} s already")
    return found


def whole_number(steps, most: int) -> int:
    """The number of steps as int.

    Raises:
        UsageError: it is not a whole number from 0 to `most`.
    """
    try:
        number = -1 if isinstance(steps, bool) else operator.index(steps)
    except TypeError:
        number = -1
    if not 0 <= number <= most:
        bound = f"at most {most} from here" if number > most else "0 or more"
        raise UsageError(f"advance({steps!r:.40}): needs a whole number of steps, {bound}")
    return number
