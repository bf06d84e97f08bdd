"""How far the tendency of a cell reaches: found by asking for it on ever wider halos."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ..errors import UsageError
from .dynamics import tendency
from .grid import Grid, Places, as_patches
from .instant import Instant
from .patch import BeyondHalo, Patch
from .records import params_of
from .table import VARIABLES

#: Cells of the block in each direction: more than a field loses by the differences of any term. A field with a single
#: cell left would be taken for a number.
CELLS = 64
#: Most rows of neighbours that a scheme may need.
WIDEST = 16
#: Schemes whose reach is kept.
KEPT = 128


@lru_cache(maxsize=KEPT)
def reach(scheme) -> int:
    """Rows of neighbours that the scheme needs on each side of a block."""
    for width in range(1, WIDEST + 1):
        if is_enough(scheme, width):
            return width
    names = ", ".join(term.name for term in scheme.acting)
    raise UsageError(f"the terms {names} read cells further than {WIDEST} rows or columns away")


def is_enough(scheme, width: int) -> bool:
    """Whether a halo of `width` rows is enough for the tendency on the whole block."""
    try:
        with np.errstate(all="ignore"):
            block: tuple = small_block(scheme, width, np.ones)
            found = tendency(*block, scheme)
        return all(field.on((CELLS, CELLS)).shape == (CELLS, CELLS) for field in found)
    except BeyondHalo:
        return False


def small_block(scheme, width: int, values) -> tuple:
    """Arguments of `tendency` on a block of CELLS by CELLS: State, Instant, Grid and params, of NumPy arrays.

    Args:
        width: cells of its halo.
        values: function of a shape that returns the array of a field.
    """
    shape, number = (CELLS + 2 * width + 2,) * 2, (1, 1)
    metrics = {name: Places(*[values(number)] * 4) for name in ("dx", "dy", "area", "rdx", "rdy", "rarea")}
    grid = Grid(**{name: metrics[name] if name in metrics else values(shape) for name in Grid._fields})
    rows = [
        VARIABLES["gravity"],
        *(row for term in scheme.acting for row in (*term.coefficients, *term.fields)),
    ]
    params = {row.name: values(shape if row.location else number) for row in rows} | {"density": values(number)}
    params |= {name: values(shape if where else number) for name, where in params_of(scheme.varying).items()}
    params |= {term.name: values((term.parameters.size,)) for term in scheme.acting if term.parameters}
    state = scheme.state(*(Patch(values(shape)[1:-1, 1:-1], (-width, -width)) for _ in scheme.state._fields))
    return state, Instant(np.zeros((), np.int32)), as_patches(grid, width + 1), as_patches(params, width + 1)
