"""Neighbours in padded arrays; their means and differences."""

from __future__ import annotations

import numpy as np


# A padded array [..., R+2, C+2] at its own points, or one place to the east, north-west, ... of them: [..., R, C].
def c(a):
    return a[..., 1:-1, 1:-1]


def e(a):
    return a[..., 1:-1, 2:]


def w(a):
    return a[..., 1:-1, :-2]


def n(a):
    return a[..., 2:, 1:-1]


def s(a):
    return a[..., :-2, 1:-1]


def ne(a):
    return a[..., 2:, 2:]


def nw(a):
    return a[..., 2:, :-2]


def se(a):
    return a[..., :-2, 2:]


def sw(a):
    return a[..., :-2, :-2]


def wrap(*arrays):
    """Fill the outer rows and columns of padded arrays with the values from across the ring."""
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
    """(a - b) scale."""
    np.subtract(a, b, out=out)
    out *= scale
    return out
