"""Errors of input files, and remarks on how they are read."""

from __future__ import annotations

import logging
import os
from functools import cache

from ....errors import as_line
from ....parallel.environment import STARTED_BY_LAUNCHER_VARIABLE, RankInfo, get_rank_info

log = logging.getLogger(__name__)


class InputError(ValueError):
    """An input file does not hold the field that the configuration needs."""

    exit_code = 2


@cache
def log_once(line: str, level: int = logging.WARNING) -> None:
    """Log a message once, on rank 0, unless the launcher has logged it."""
    if (get_rank_info() or RankInfo()).rank == 0 and STARTED_BY_LAUNCHER_VARIABLE not in os.environ:
        log.log(level, "%s", as_line(line))
