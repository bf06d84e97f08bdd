"""How fast waves leave through open sides, which limits the time step where the outside water is deep."""

from __future__ import annotations

import numpy as np

from ...ocean.coordinates import metrics
from .. import fields
from .outside import side_of


def radiation(config) -> float:
    """The fastest rate at which a cell empties through its faces of open sides, s-1.

    A face gives sqrt(g H) (3/2 - min(1, H_2/H)/2) / d: H is its depth, H_2 that of the next face inside, 0 if it is
    closed, and d the length of the cell across the side. The level at the face weighs the cell with 3/2 and the next
    one with -1/2; the next one follows the cell if waves between them are as fast as those through the face.
    """
    grid, total = config.grid, {}
    for side in (side_of(config, name) for name in config.open_sides.sides):
        inside, last = (side.rows, grid.ny) if side.in_rows else (side.columns, grid.nx)
        next_one = np.clip(2 * inside[1:] - inside[:1], 0, last - 1)
        further = side._replace(**{"rows" if side.in_rows else "columns": np.append(inside, next_one)})
        outer, inner, beyond = further.both(config, "depth")
        wet = further.as_rows(fields.wet(config, further.rows, further.columns))[2] > 0
        H, H_2 = (outer + inner) / 2, np.where(wet, inner + beyond, 0.0) / 2
        d = further.as_rows(metrics(grid, further.rows)["dy" if side.in_rows else "dx"].centre)[1]
        with np.errstate(invalid="ignore", divide="ignore"):
            rates = np.sqrt(config.physics.gravity * H) * (1.5 - 0.5 * np.minimum(1, H_2 / H)) / d
        cells = side.as_rows(side.rows[:, None] * grid.nx + side.columns[None, :])[1]
        for cell, rate in zip(cells[side.open], rates[side.open], strict=True):
            total[cell] = total.get(cell, 0.0) + rate
    return float(max(total.values(), default=0.0))
