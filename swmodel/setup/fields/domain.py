"""The part of the grid in which the model computes the level."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ...config.options.model import Config


def domain_mask(config: Config, rows, columns, margin: int) -> np.ndarray:
    """1 in the domain without `margin` rows or columns along open boundaries, else 0; broadcasts to [rows, columns]."""
    grid, masks = config.grid, []
    for indices, n_cells, is_periodic, (low, high) in (
        (rows, grid.ny, grid.periodic_y, ("south", "north")),
        (columns, grid.nx, grid.periodic_x, ("west", "east")),
    ):
        first, last = (margin * (side in config.open_boundaries.sides) for side in (low, high))
        inside = (indices >= first) & (indices < n_cells - last)
        masks.append(np.ones(1) if is_periodic else inside.astype(float))
    return masks[0][:, None] * masks[1][None, :]
