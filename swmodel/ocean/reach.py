"""How far the tendency of a cell reaches: found by asking for it on ever wider halos."""

from __future__ import annotations

from functools import cache

import numpy as np

from ..errors import UsageError
from .dynamics import tendency
from .grid import Grid, Places, as_patches
from .instant import Instant
from .patch import Patch
from .table import VARIABLES
from .terms import TERMS

#: Cells of the block in each direction: more than a field loses by being differentiated as often as any term does.
CELLS = 8
#: Most rows of neighbours that a scheme may need.
WIDEST = 16


@cache
def reach(scheme) -> int:
    """Rows of neighbours that the scheme needs on each side of a block.

    Raises:
        UsageError: more than WIDEST.
    """
    for width in range(1, WIDEST + 1):
        if is_enough(scheme, width):
            return width
    raise UsageError(f"the terms {', '.join(scheme.terms)} read cells further than {WIDEST} rows or columns away")


def is_enough(scheme, width: int) -> bool:
    """Whether a halo of `width` rows gives the tendency on the whole block."""
    around, block = np.ones((CELLS + 2 * width + 2,) * 2), (CELLS, CELLS)
    number = np.ones((1, 1))
    metrics = dict.fromkeys(("dx", "dy", "area", "rdx", "rdy", "rarea"), Places(*[number] * 4))
    grid = Grid(**{name: metrics.get(name, around) for name in Grid._fields})
    rows = [
        VARIABLES["gravity"],
        *(row for name in scheme.terms for row in (*TERMS[name].coefficients, *TERMS[name].fields)),
    ]
    params = {row.name: around if row.location else number for row in rows} | {"density": number}
    names = scheme.state._fields
    state = scheme.state(*(Patch(around[1:-1, 1:-1], (-width, -width)) for _ in names))
    now = Instant(np.zeros((), np.int32))
    try:
        found = tendency(state, now, as_patches(grid, width), as_patches(params, width), scheme)
        return all(field.on(block).shape == block for field in found)
    except IndexError:
        return False
