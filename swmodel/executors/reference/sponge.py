"""The sponge: a function of the Tendency T that prepares it, and returns the function that adds it to F."""

from __future__ import annotations

import numpy as np

from ...ocean.coordinates import points
from .neighbours import c, difference


def sponge(T):
    """dh/dt = - sponge (h - H), du/dt = - sponge u, each with the rate at its own points; dC/dt = C/h dh/dt.

    With open sides h - H - eta_ext and u - U_ext/h.
    """
    h_rate, u_rate, v_rate = (rate(T.ring, location) for location in ("centre", "u", "v"))

    def add(x, F):
        Fh, Fu, Fv = c(F[:3])
        u, v = c(x[1:3])
        outflow = difference(c(x[0]), T.ring.depth, h_rate, out=T.work)
        if (outside := T.ring.open_sides).faces:
            level = outside.level(T.begin, T.time)
            flows = [outside.transport(axis, level, T.begin, T.time).reshape(T.ring.shape) for axis in "xy"]
            outflow -= h_rate * c(level.reshape(T.ring.shape))
            u = u - c(flows[0]) / T.face_thickness[0](x[0], out=c(T.padded))
            v = v - c(flows[1]) / T.face_thickness[1](x[0], out=c(T.padded))
        Fh -= outflow
        for content, F_k in zip(c(x[3:]), c(F[3:]), strict=True):
            F_k -= outflow * content / c(x[0])
        Fu -= np.multiply(u, u_rate, out=T.work)
        Fv -= np.multiply(v, v_rate, out=T.work)

    return add


def rate(ring, location):
    """Sum over the sides of rate (1 - d/width)² where the distance d from the side is below width, s-1, [R, C]."""
    sponge, at = ring.config.sponge, points(ring.config.grid, location, ring.rows, ring.columns)
    west, south = at.origin[0] - 0.5 * at.dx, at.origin[1] - 0.5 * at.dy
    distance = {
        "west": at.x - west,
        "east": west + at.length_x - at.x,
        "south": at.y - south,
        "north": south + at.length_y - at.y,
    }
    total = sum(sponge.rate * np.maximum(1 - distance[side] / sponge.width, 0) ** 2 for side in sponge.sides)
    return np.asarray(total, dtype=ring.dtype)
