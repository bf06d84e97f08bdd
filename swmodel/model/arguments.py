"""Checks of the arguments of `Simulation` and `Simulation.advance`."""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from ..config import Case, Config, from_toml, load
from ..config.loading.load import Source, is_unloaded_source
from ..errors import UsageError
from ..files.restart.folder import choose_restart
from ..files.restart.python_fields import with_stored_fields
from ..files.run_folder import is_run_folder
from ..ocean.user_term import UserTerm
from ..parallel.environment import get_rank_info
from ..parallel.transport.sharded import n_processes
from .calls import parse_seconds
from .resolve import config_for_processes
from .validate import MAX_STEPS

#: Overrides of a configuration, such as {"grid.nx": 128}.
Overrides: TypeAlias = Mapping[str, Any] | tuple[()]
#: Fields from Python, each a `Field`; `Any` because type checkers infer `object` for a dict of several kinds.
Fields: TypeAlias = Mapping[str, Any] | None
#: Terms from Python.
Terms: TypeAlias = Iterable[UserTerm]
PathLike: TypeAlias = str | os.PathLike[str]
#: Whether to show the progress of a run, or the function that shows it.
Progress: TypeAlias = bool | Callable[[dict[str, Any]], object] | None

#: Difference that counts as round-off, in steps.
ROUND_OFF_STEPS = 1e-6


def build_config(
    config: Source, overrides: Overrides, fields: Fields, terms: Terms, restart: PathLike | None = None
) -> Any:
    """The configuration of a Simulation, with the fields from Python that only the restart file contains.

    If `config` is neither a Source nor a Config, it is returned unchanged, and `make_domain` refuses it. UsageError:
    `overrides` is not a dict.
    """
    if overrides and not isinstance(overrides, Mapping):
        raise UsageError(
            f'{overrides!r:.60}: overrides must be a dict like {{"grid.nx": 128}}; pass a restart file as restart=...'
        )
    if not is_unloaded_source(config) and not isinstance(config, Config):
        return config
    if not isinstance(config, Config) or overrides or fields or terms:
        config = load(config, overrides, fields=fields, terms=terms)
    return config if restart is None else with_stored_fields(config, restart)


def config_of_restart(
    source: PathLike, overrides: Overrides, case: type[Case] | None, terms: Terms, fields: Fields = None
) -> tuple[Config, Path]:
    """The configuration in a restart file, or in the newest intact one of a run folder, and the path of that file."""
    path = Path(source)
    restart, _ = choose_restart(path) if is_run_folder(path) else choose_restart(path.parent, str(path))
    config, rank_info = from_toml(restart.configuration, case or restart.case_file, terms), get_rank_info()
    config = load(config, overrides, fields=fields) if overrides or fields else config
    size_without_launcher = n_processes(config.run.devices) if config.run.transport == "sharded" else 1
    return config_for_processes(config, rank_info.size if rank_info else size_without_launcher), restart.path


def count_steps(model: Any, steps: int | None, days: float | None, until: float | str | None) -> int:
    """The number of steps for `advance`. UsageError: an argument is invalid, in the past, or needs too many steps."""
    max_steps = MAX_STEPS - model.step
    if days is None and until is None:
        return check_step_count(steps, max_steps)
    if sum(each is not None for each in (steps, days, until)) > 1:
        raise UsageError("advance: give only one of steps, days and until")
    if until is None:
        context = f"advance({days=!r:.40})"
        n_steps = round(parse_seconds(f"{days} days", f"{context}: is not a length of time") / model.dt)
    else:
        context = f"advance({until=!r:.40})"
        seconds = parse_seconds(until, f"{context}: is not a length of time")
        n_steps = math.ceil(seconds / model.dt - ROUND_OFF_STEPS) - model.step
    if n_steps < 0 and until is not None:
        raise UsageError(f"{context}: the model is already at {model.time:g} s")
    return check_step_count(n_steps, max_steps, context)


def check_step_count(steps: Any, max_steps: int, context: str = "") -> int:
    """The number of steps as int. UsageError: it is not a whole number from 0 to `max_steps`.

    `context`: the call with its argument, for the message; "": advance(steps).
    """
    try:
        number = -1 if isinstance(steps, bool) else operator.index(steps)
    except TypeError:
        number = -1
    if not 0 <= number <= max_steps:
        bound = f"at most {max_steps} from here" if number > max_steps else "0 or more"
        raise UsageError(f"{context or f'advance({steps!r:.40})'}: needs a whole number of steps, {bound}")
    return number
