"""What is wrong with an input file, and what a user should know of how it is read."""

from __future__ import annotations

import logging
import os
from functools import cache

from ....errors import as_line
from ....parallel.environment import LAUNCHED, World, world

log = logging.getLogger(__name__)


class InputError(ValueError):
    """A NetCDF file does not hold what the configuration asks of it."""

    exit_code = 2


@cache
def remark(line: str) -> None:
    """Log a line once: on rank 0, and not in processes whose launcher has read the files before them."""
    if (world() or World()).rank == 0 and LAUNCHED not in os.environ:
        log.warning("%s", as_line(line))
