"""Checks of the arguments of a Simulation and of `advance`."""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from ..config import Case, Config, from_toml, load
from ..config.loading.load import is_source
from ..errors import UsageError
from ..files.restart.folder import choose
from ..files.restart.python_fields import with_stored
from ..files.run_folder import is_folder
from ..ocean.own_term import OwnTerm
from ..parallel.environment import world
from ..parallel.transport.sharded import processes
from .calls import seconds_of
from .resolve import for_processes
from .validate import MOST_STEPS

#: Overrides of a configuration, as {"grid.nx": 128}.
Overrides: TypeAlias = Mapping[str, Any] | tuple[()]
#: Fields from Python, each a `Field`; type checkers treat a dict of several kinds as one of objects.
Fields: TypeAlias = Mapping[str, Any] | None
#: Terms from Python.
Terms: TypeAlias = Iterable[OwnTerm]
#: The path of a file or folder.
Place: TypeAlias = str | os.PathLike[str]
#: Whether to show the progress of a run, or the function that shows it.
Progress: TypeAlias = bool | Callable[[dict[str, Any]], object] | None

#: Fraction of a step that counts as rounding.
ROUND_OFF = 1e-6


def configured(config: Any, overrides: Overrides, fields: Fields, terms: Terms, restart: Place | None = None) -> Any:
    """The configuration of a Simulation, with the fields from Python of the run that wrote the restart file.

    An object that is neither a configuration nor a source of one is returned unchanged.
    """
    if overrides and not isinstance(overrides, Mapping):
        raise UsageError(
            f'{overrides!r:.60}: overrides must be a dict, as {{"grid.nx": 128}}; give a restart file as restart=...'
        )
    if not is_source(config) and not isinstance(config, Config):
        return config
    plain = isinstance(config, Config) and not (overrides or fields or terms)
    made = config if plain else load(config, overrides, fields=fields, terms=terms)
    return made if restart is None else with_stored(made, restart)


def as_restarted(
    source: Place, overrides: Overrides, case: type[Case] | None, terms: Terms, fields: Fields = None
) -> tuple[Config, Path]:
    """The configuration in a restart file, or in the newest intact one of a folder, and the path of that file."""
    path = Path(source)
    restart, _ = choose(path) if is_folder(path) else choose(path.parent, str(path))
    config, place = from_toml(restart.configuration, case or restart.case_file, terms), world()
    config = load(config, overrides, fields=fields) if overrides or fields else config
    alone = processes(config.run.devices) if config.run.transport == "sharded" else 1
    return for_processes(config, place.size if place else alone), restart.path


def steps_for(model: Any, steps: int | None, days: float | None, until: float | str | None) -> int:
    """The number of steps for `advance`. UsageError: no valid number or time, several of them, or a past time."""
    most = MOST_STEPS - model.step
    if days is None and until is None:
        return whole_number(steps, most)
    if sum(each is not None for each in (steps, days, until)) > 1:
        raise UsageError("advance: give one of steps, days and until")
    if until is None:
        call = f"advance({days=!r:.40})"
        found = round(seconds_of(f"{days} days", f"{call}: is no length of time") / model.dt)
    else:
        call = f"advance({until=!r:.40})"
        found = math.ceil(seconds_of(until, f"{call}: is no length of time") / model.dt - ROUND_OFF) - model.step
    if found < 0:
        raise UsageError(f"{call}: the model is already at {model.time:g} s")
    return whole_number(found, most)


def whole_number(steps: Any, most: int) -> int:
    """The number of steps as int. UsageError: it is not a whole number from 0 to `most`."""
    try:
        number = -1 if isinstance(steps, bool) else operator.index(steps)
    except TypeError:
        number = -1
    if not 0 <= number <= most:
        bound = f"at most {most} from here" if number > most else "0 or more"
        raise UsageError(f"advance({steps!r:.40}): needs a whole number of steps, {bound}")
    return number
