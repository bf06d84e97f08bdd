"""The energy that water outside open sides can bring: by waves that come in, and by a sponge that relaxes to it.

A wave that comes in with Q = U_ext + sqrt(g H) eta_ext brings the power g Q² / (4 sqrt(g H)) per metre of open face,
over density. Relaxing at the rate s to a sea level eta brings no more than s g eta² / 4 per area, and relaxing to a
transport U no more than s U² / (4 H), as - x (x - a) is never above a² / 4.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...ocean.operators import mx_f, my_f
from ...ocean.patch import Patch
from ...ocean.records import names_of
from ...ocean.terms.open_sides import MEAN, NAMES, OSCILLATING, PRESSURE, Outside, flows_of, numbers_of, parts_of


def brought(scheme, grid, params, shape: tuple[int, int]) -> float:
    """The largest power brought into a block of this shape, over density, m5 s-3.

    Args:
        scheme: the terms that are switched on, open sides among them.
        grid, params: Patches of NumPy arrays.
    """
    level, x, y = largest(scheme, grid, params)
    g, depth_x, depth_y = params["gravity"], mx_f(grid.depth), my_f(grid.depth)
    parts = [
        grid.side_u * grid.dy.u * waves(x, mx_f(level), depth_x, g),
        grid.side_v * grid.dx.v * waves(y, my_f(level), depth_y, g),
    ]
    if "sponge" in scheme.terms:
        parts += [
            grid.wet * grid.area.centre * params["sponge_c"] * g * level * level,
            grid.open_u * grid.area.u * params["sponge_u"] * x * x / depth_x,
            grid.open_v * grid.area.v * params["sponge_v"] * y * y / depth_y,
        ]
    return 0.25 * sum(float(np.broadcast_to(part.on(shape), shape).sum(dtype=np.float64)) for part in parts)


def waves(transport: Patch, level: Patch, depth: Patch, g: Patch) -> Patch:
    """g Q² / sqrt(g H) on faces, m4 s-3."""
    speed = np.sqrt(g * depth)
    together = transport + speed * level
    return g * together * together / speed


def largest(scheme, grid, params) -> Outside:
    """The largest sizes of what is given outside: all tides together, and of what varies the larger record."""

    def size(name: str, least: Any = 0.0) -> Patch:
        ends = names_of(name)[:2] if name in scheme.varying else (name,)
        return np.maximum(*[abs(params[end] - least) for end in (ends[0], ends[-1])])

    *means, u, v = (size(row.name) for row in MEAN)
    found = dict(zip(OSCILLATING, means, strict=True))
    for name in (name for name in NAMES if numbers_of(name)[0] in params):
        *_, cosine, sine = (params[number] for number in numbers_of(name))
        factor = np.sqrt(cosine * cosine + sine * sine)
        for of in OSCILLATING if flows_of(name) in params else ("",):
            a, b = (params[part] for part in parts_of(name, of))
            found[of] = found[of] + factor * np.sqrt(a * a + b * b)
    level, x, y = found.values()
    if PRESSURE in params:
        level = level + size("air_pressure", params[PRESSURE]) / (params["density"] * params["gravity"])
    h = grid.depth + level
    return Outside(level, x + u * mx_f(h), y + v * my_f(h))
