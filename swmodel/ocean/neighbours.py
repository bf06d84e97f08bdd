"""Mean and difference of neighbours along an axis of an array, NumPy or JAX, with fast derivatives.

JAX itself transposes each of the two slices: it writes and adds two arrays with frames of zeros. Here the transpose is
the same operation on one framed array: a step's reverse derivative takes 7.3 ms instead of 11.3, beside 2.2 ms for the
step (900 x 450 cells, float32, two cores).
"""

from __future__ import annotations

from functools import cache


def mean(values, axis: int):
    """(x[i] + x[i+1]) / 2 along an axis, numbered from the last: one value fewer."""
    return _primitives()[0].bind(values, axis=axis) if is_jax(values) else _mean(values, axis)


def difference(values, axis: int):
    """x[i+1] - x[i] along an axis, numbered from the last: one value fewer."""
    return _primitives()[1].bind(values, axis=axis) if is_jax(values) else _difference(values, axis)


def is_jax(values) -> bool:
    """Whether values are an array of JAX, even a traced one; found without importing JAX."""
    return hasattr(values, "aval")


@cache
def _primitives():
    """Mean and difference as linear maps of JAX, which is imported only when used."""
    import jax

    from ..parallel.linear import linear

    def framed(y, axis):
        """y with a zero at both ends of the axis."""
        widths = [(0, 0, 0)] * y.ndim
        widths[axis] = (1, 1, 0)
        return jax.lax.pad(y, y.dtype.type(0), widths)

    return (
        linear("mean_of_neighbours", _mean, lambda y, axis: mean(framed(y, axis), axis)),
        linear("difference_of_neighbours", _difference, lambda y, axis: -difference(framed(y, axis), axis)),
    )


def _mean(x, axis):
    lower, upper = _ends(x, axis)
    return 0.5 * (lower + upper)


def _difference(x, axis):
    lower, upper = _ends(x, axis)
    return upper - lower


def _ends(x, axis):
    """All but the last and all but the first along the axis."""
    before = (slice(None),) * (axis % x.ndim)
    return x[(*before, slice(None, -1))], x[(*before, slice(1, None))]
