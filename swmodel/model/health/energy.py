"""What can bring energy into runs: forces, waves through open sides, and a sponge that relaxes to water outside.

A wave that comes in with Q = U_ext + sqrt(g H) eta_ext brings the power g Q² / (4 sqrt(g H)) per metre of open face,
over density. Relaxing at the rate s to a sea level eta brings no more than s g eta² / 4 per area, and relaxing to a
transport U no more than s U² / (4 H), as - x (x - a) is never above a² / 4.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ...ocean.operators import mx_f, my_f, slope_x, slope_y
from ...ocean.patch import Patch
from ...ocean.records import names_of
from ...ocean.terms.open_sides import Outside
from ...ocean.terms.outside import ARRAYS, LEVEL, MEAN, NAMES, PRESSURE, flows_of, numbers_of, parts_of
from .measures import blocks_of


class Forces(NamedTuple):
    """The forces on runs, and the power they get, on a process's part of them.

    Attributes:
        stress: that of the wind, Pa, [runs].
        acceleration: that by all other forces, m s-2, [runs].
        power: that which water outside open sides brings, over density, m5 s-3, [runs].
    """

    stress: np.ndarray
    acceleration: float
    power: float


def max_forcing(domain) -> np.ndarray:
    """The largest stress, Pa, acceleration by potentials, m s-2, and `boundary_power`, on this process's blocks."""
    stress = max(largest_stress(domain.scheme, params, shape) for _, params, shape in blocks_of(domain))
    return np.array([stress, max_potential_slope(domain), boundary_power(domain)])


def boundary_power(domain) -> float:
    """The most power that the water outside open sides brings into the blocks of this process, over density, m5 s-3."""
    blocks = blocks_of(domain) if "open_sides" in domain.scheme.terms else ()
    return sum((power_from_outside(domain.scheme, *each) for each in blocks), 0.0)


def largest_stress(scheme, params, shape: tuple[int, int]) -> float:
    """The largest stress on the surface of a block of this shape, Pa, by Params in Patches.

    Of a coefficient that varies the record that is larger in size counts.
    """
    acting = [term for term in scheme.acting if term.stress]

    def values(name):
        if name not in scheme.varying:
            return params[name].on(shape)
        before, after = (params[part].on(shape) for part in names_of(name)[:2])
        return np.maximum(np.abs(before), np.abs(after))

    found = {row.name: values(row.name) for term in acting for row in (*term.coefficients, *term.fields)}
    return sum(float(term.stress(found).max()) for term in acting)


def largest_acceleration(domain) -> float:
    """The largest acceleration by forces of a configuration, m s-2, other than those of `max_potential_slope`."""
    return sum(acceleration_by(term, domain.config) for term in domain.scheme.acting if not term.potential)


def max_potential_slope(domain) -> float:
    """The largest acceleration by terms with a potential on the blocks of this process, m s-2."""
    terms = [term for term in domain.scheme.acting if term.potential]
    blocks = blocks_of(domain) if terms else ()
    return max((sum(slope_of(term, domain.scheme, *each) for term in terms) for each in blocks), default=0.0)


def slope_of(term, scheme, grid, params, shape: tuple[int, int]) -> float:
    """The largest slope of a term's potential on a block of this shape, m s-2; if it varies, at either record."""
    ends = {0, 1} if {row.name for row in term.coefficients} & set(scheme.varying) else {0}

    def slopes(end):
        varying = {row.name: params[names_of(row.name)[end]] for row in term.coefficients if row.name in scheme.varying}
        P = term.potential(params | varying)
        across = ((grid.open_u, slope_x(P, grid)), (grid.open_v, slope_y(P, grid)))
        return np.hypot(*(float(np.abs((open_ * slope).on(shape)).max()) for open_, slope in across))

    return max(slopes(end) for end in ends)


def acceleration_by(term, config) -> float:
    """The largest acceleration by a term, m s-2: infinite if it may add energy without a known bound."""
    if term.acceleration:
        return term.acceleration(config)
    return math.inf if term.energy > 0 and not term.stress else 0.0


def power_from_outside(scheme, grid, params, shape: tuple[int, int]) -> float:
    """The largest power brought into a block of this shape, over density, m5 s-3."""
    level, x, y = max_outside(scheme, grid, params)
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


def max_outside(scheme, grid, params) -> Outside:
    """The largest sizes of what is given outside: all tides together, and of what varies the larger record."""

    def size(name: str, least: Any = 0.0) -> Patch:
        ends = names_of(name)[:2] if name in scheme.varying else (name,)
        return np.maximum(*[abs(params[end] - least) for end in (ends[0], ends[-1])])

    *means, u, v = (size(row.name) for row in MEAN)
    found = dict(zip(ARRAYS, means, strict=True))
    for name in (name for name in NAMES if numbers_of(name)[0] in params):
        *_, cosine, sine = (params[number] for number in numbers_of(name))
        factor = np.sqrt(cosine * cosine + sine * sine)
        for array in ARRAYS if flows_of(name) in params else (LEVEL,):
            a, b = (params[part] for part in parts_of(name, array))
            found[array] = found[array] + factor * np.sqrt(a * a + b * b)
    level, x, y = found.values()
    if PRESSURE in params:
        level = level + size("air_pressure", params[PRESSURE]) / (params["density"] * params["gravity"])
    h = grid.depth + level
    return Outside(level, x + u * mx_f(h), y + v * my_f(h))
