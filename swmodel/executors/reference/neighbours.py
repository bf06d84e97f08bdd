"""Neighbours in padded arrays, their means and differences, and neighbours in arrays of the domain."""

from __future__ import annotations

import numpy as np


def neighbour_view(north, east):
    """The function from a padded array [..., R+2, C+2] to values [..., R, C], `north` rows and `east` columns away."""
    rows, columns = (slice(1 + cells, cells - 1 or None) for cells in (north, east))
    return lambda a: a[..., rows, columns]


#: Values at the array's own points (c), and at their neighbours in the east, west, north, south, north-east, ...
c = neighbour_view(0, 0)
e, w, n, s = neighbour_view(0, 1), neighbour_view(0, -1), neighbour_view(1, 0), neighbour_view(-1, 0)
ne, nw, se, sw = neighbour_view(1, 1), neighbour_view(1, -1), neighbour_view(-1, 1), neighbour_view(-1, -1)


def neighbour(a, cells, axis):
    """The values `cells` cells further along an axis of the domain [R, C]."""
    return np.roll(a, -cells, axis)


def wrap(*arrays):
    """Fill the outer rows and columns of padded arrays with the values from the opposite side of the domain."""
    for a in arrays:
        a[..., 0] = a[..., -2]
        a[..., -1] = a[..., 1]
        a[..., 0, :] = a[..., -2, :]
        a[..., -1, :] = a[..., 1, :]


def mean(a, b, out):
    """(a + b) / 2."""
    np.add(a, b, out=out)
    out *= 0.5
    return out


def difference(a, b, scale, out):
    """(a - b) * scale."""
    np.subtract(a, b, out=out)
    out *= scale
    return out


def on_u(a, out):
    """Mean of a in x, on u faces."""
    return mean(e(a), c(a), out=out)


def on_v(a, out):
    """Mean of a in y, on v faces."""
    return mean(n(a), c(a), out=out)


#: The functions that average to u and to v faces.
FACE_MEANS = on_u, on_v
