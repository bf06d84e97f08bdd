"""The energy that a sponge brings in, where water relaxes to what is given outside open sides.

Relaxing at the rate s to a sea level eta brings no more than s g eta² / 4 over each area and density, and to a
transport U no more than s U² / (4 H), as - x (x - a) is never above a² / 4.
"""

from __future__ import annotations

import numpy as np

from ...ocean.operators import mx_f, my_f
from ...ocean.patch import Patch
from ...ocean.records import names_of
from ...ocean.terms.open_sides import MEAN, NAMES, OSCILLATING, PRESSURE, Outside, flows_of, numbers_of, parts_of


def relaxation(scheme, grid, params, shape: tuple[int, int]) -> float:
    """The most that there is on a block of this shape, over density, m5 s-3.

    Args:
        scheme: the terms that are switched on, a sponge and open sides among them.
        grid, params: Patches of NumPy arrays.
    """
    level, x, y = largest(scheme, grid, params)
    parts = (
        grid.area.centre * grid.wet * params["sponge_c"] * params["gravity"] * level * level,
        grid.area.u * grid.open_u * params["sponge_u"] * x * x / mx_f(grid.depth),
        grid.area.v * grid.open_v * params["sponge_v"] * y * y / my_f(grid.depth),
    )
    return 0.25 * sum(float(np.broadcast_to(part.on(shape), shape).sum(dtype=np.float64)) for part in parts)


def largest(scheme, grid, params) -> Outside:
    """The largest sizes of what is given outside: of the tides all together, and of what varies by both records."""

    def size(name: str, least: Patch | float = 0.0) -> Patch:
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
