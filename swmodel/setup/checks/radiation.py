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
    cells, rates = [], []
    for name in config.open_sides.sides:
        side = side_of(config, name)
        inside, last = (side.rows, config.grid.ny) if side.in_rows else (side.columns, config.grid.nx)
        next_one = np.clip(2 * inside[1:] - inside[:1], 0, last - 1)
        further = side._replace(**{"rows" if side.in_rows else "columns": np.append(inside, next_one)})
        outer, inner, beyond = further.both(config, "depth")
        wet = further.as_rows(fields.wet(config, further.rows, further.columns))[2] > 0
        H, H_2 = (outer + inner) / 2, np.where(wet, inner + beyond, 0.0) / 2
        d = further.as_rows(metrics(config.grid, further.rows)["dy" if side.in_rows else "dx"].centre)[1]
        with np.errstate(invalid="ignore", divide="ignore"):
            rate = np.sqrt(config.physics.gravity * H) * (1.5 - 0.5 * np.minimum(1, H_2 / H)) / d
        number = side.rows[:, None] * config.grid.nx + side.columns[None, :]
        cells.append(side.as_rows(number)[1][side.open])
        rates.append(rate[side.open])
    if not sum(map(len, cells)):
        return 0.0
    _, number = np.unique(np.concatenate(cells), return_inverse=True)
    return float(np.bincount(number, np.concatenate(rates)).max())
