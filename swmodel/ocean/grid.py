"""The static fields of a block: lengths, areas, Coriolis parameter, depth, masks with boundary conditions."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .patch import Patch

#: Smallest cosine of latitude from which sizes of cells are computed.
MIN_COSINE = 1e-6


class Metric(NamedTuple):
    """A quantity at the four locations of the C-grid: [1, 1], or [y, 1] where each row has its own value."""

    centre: Any
    u: Any
    v: Any
    corner: Any


class Grid(NamedTuple):
    """Static fields on a block and its `Scheme.static_halo`, [y, x]; an axis of length one broadcasts."""

    dx: Metric  #: m, distance in x between the neighbours of a point: length of a north face, of a cell, ...
    dy: Metric  #: m, the same in y
    area: Metric  #: m2, of the cell around a point
    rdx: Metric  #: 1/dx, m-1 (multiplying is faster than dividing)
    rdy: Metric  #: 1/dy, m-1
    rarea: Metric  #: 1/area, m-2
    f: Any  #: s-1, corners
    depth: Any  #: m, centres
    wet: Any  #: centres: 1 water, 0 land, beyond walls and in the outermost cells at open boundaries
    open_u: Any  #: east faces: 1 between two wet cells without a barrier, else 0
    open_v: Any  #: north faces
    slip: Any  #: corners: 1 interior; boundary 0 (free slip) or 2 (no slip)
    corner_weight: Any  #: corners: 4 / (number of wet cells around), 0 if there is none
    dry_corner: Any  #: corners: 1 where no cell is wet, else 0
    open_boundary_u: Any  #: east faces: 1 between a wet cell and outside water, else 0; [1, 1] without open boundaries
    open_boundary_v: Any  #: north faces


def make_metrics(dx: Any, dx_edge: Any, dy: Any, area: Any, area_edge: Any) -> dict[str, Metric]:
    """Lengths and areas of a grid with cells of one size in each row, by their names in a Grid.

    The area of a face in the kinetic energy is dx dy, so that pressure and transports exchange energy without loss.

    Args:
        dx, dx_edge: distances in x along the middle of the rows, and along their northern edges, m.
        dy: distance in y, m.
        area, area_edge: areas of the cells, and of those around the corners of their northern edges, m2.
    """
    dxs, dys = Metric(dx, dx, dx_edge, dx_edge), Metric(*[dy] * 4)
    areas = Metric(area, dx * dy, dx_edge * dy, area_edge)
    lengths_and_areas = {"dx": dxs, "dy": dys, "area": areas}
    return lengths_and_areas | {
        f"r{name}": Metric(*(1 / each for each in metric)) for name, metric in lengths_and_areas.items()
    }


def plane_metrics(dx: float, dy: float) -> dict[str, Metric]:
    """The metrics of a uniform grid on a plane, [1, 1]."""
    dx_array, dy_array = np.full((1, 1), dx), np.full((1, 1), dy)
    return make_metrics(dx_array, dx_array, dy_array, dx_array * dy_array, dx_array * dy_array)


def sphere_metrics(radius: float, dlon: float, dlat: float, latitude: np.ndarray) -> dict[str, Metric]:
    """The metrics of rows of cells dlon by dlat on a sphere, [y, 1]: dx = R cos(lat) dlon, dy = R dlat, exact areas.

    Angles are in radians; `latitude` is that of the middle of the rows, [y, 1]. Rows beyond a pole get a positive size.
    """
    edge, sine_of_half = latitude + 0.5 * dlat, np.sin(0.5 * dlat)
    dx, dx_edge = (radius * dlon * np.maximum(np.cos(angle), MIN_COSINE) for angle in (latitude, edge))
    area, area_edge = (2 * radius * sine_of_half * length for length in (dx, dx_edge))
    return make_metrics(dx, dx_edge, np.full((1, 1), radius * dlat), area, area_edge)


def as_patches(fields: Any, halo: int) -> Any:
    """Grid or params with each field as a Patch that starts `halo` cells outside the block; vectors are unchanged."""
    if isinstance(fields, dict):
        return {name: as_patches(field, halo) for name, field in fields.items()}
    if isinstance(fields, tuple):
        return type(fields)(*(as_patches(field, halo) for field in fields))
    return fields if len(fields.shape) == 1 else Patch(fields, (-halo, -halo))
