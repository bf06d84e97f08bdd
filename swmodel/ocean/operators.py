"""Means, differences and derivatives on the C-grid.

In the names of means and differences, f or c is the place of the result along the axis: a face or a centre.

    dx_f, mx_f    difference and mean in x, half a cell to the east: centre -> u face, v face -> corner
    dx_c, mx_c    the same, half a cell to the west: u face -> centre, corner -> v face
    dy_f, my_f    in y, half a cell to the north: centre -> v face, u face -> corner
    dy_c, my_c    half a cell to the south: v face -> centre, corner -> u face

They act on Patches. Divergence, curl and diffusion sum fluxes through faces or circulation along edges, and divide by
the area, so that what leaves a cell enters its neighbour, on a plane and on a sphere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, TypeAlias

import numpy as np

from .grid import Grid
from .patch import Patch

__all__ = ["mx_f", "mx_c", "my_f", "my_c", "dx_f", "dx_c", "dy_f", "dy_c", "slope_x", "slope_y", "curl", "divergence",
           "diffusion_u", "diffusion_v", "at_corners", "where", "root", "cell_by_cell"]  # fmt: skip

#: A field, or a number that is the same everywhere.
FieldOrNumber: TypeAlias = Patch | float


def mean(values: Any, axis: int) -> Any:
    """(x[i] + x[i+1]) / 2 along an axis counted from the last (-1, -2); the result is one shorter."""
    return _primitives()[0].bind(values, axis=axis) if hasattr(values, "aval") else _mean(values, axis)


def difference(values: Any, axis: int) -> Any:
    """x[i+1] - x[i] along an axis counted from the last (-1, -2); the result is one shorter."""
    return _primitives()[1].bind(values, axis=axis) if hasattr(values, "aval") else _difference(values, axis)


def _mean(x: Any, axis: int) -> Any:
    lower, upper = _neighbours(x, axis)
    return 0.5 * (lower + upper)


def _difference(x: Any, axis: int) -> Any:
    lower, upper = _neighbours(x, axis)
    return upper - lower


def _neighbours(x: Any, axis: int) -> tuple[Any, Any]:
    """All values but the last, and all but the first, along the axis."""
    before = (slice(None),) * (axis % x.ndim)
    return x[(*before, slice(None, -1))], x[(*before, slice(1, None))]


@cache
def _primitives() -> tuple[Any, Any]:
    """Mean and difference as linear primitives of JAX, which is imported only when arrays of JAX need them.

    JAX itself would pad the transposes of both slices with zeros and add them. Here the transpose is the same
    operation, up to its sign, on one padded array: an adjoint step takes 7.3 ms instead of 11.3, the step itself 2.2
    ms (900 x 450 cells, float32, two cores).
    """
    import jax

    from ..parallel.linear import linear_primitive

    def pad_with_zeros(y: Any, axis: int) -> Any:
        widths = [(0, 0, 0)] * y.ndim
        widths[axis] = (1, 1, 0)
        return jax.lax.pad(y, y.dtype.type(0), widths)

    return (
        linear_primitive("mean_of_neighbours", _mean, lambda y, axis: mean(pad_with_zeros(y, axis), axis)),
        linear_primitive(
            "difference_of_neighbours", _difference, lambda y, axis: -difference(pad_with_zeros(y, axis), axis)
        ),
    )


def _apply_to_neighbours(a: Patch, operation: Callable, axis: int, side: int) -> Patch:
    """`operation` of neighbours along an axis (0: y, 1: x), assigned to the first (side 0) or second (side 1)."""
    values, (row, column) = a.values, a.start
    if values.shape[axis - 2] == 1:
        two_cells = (2, 1) if axis == 0 else (1, 2)
        return Patch(operation(values * np.ones(two_cells, values.dtype), axis - 2), a.start)
    start = (row + side, column) if axis == 0 else (row, column + side)
    return Patch(operation(values, axis - 2), start)


mx_f = partial(_apply_to_neighbours, operation=mean, axis=1, side=0)
mx_c = partial(_apply_to_neighbours, operation=mean, axis=1, side=1)
my_f = partial(_apply_to_neighbours, operation=mean, axis=0, side=0)
my_c = partial(_apply_to_neighbours, operation=mean, axis=0, side=1)
dx_f = partial(_apply_to_neighbours, operation=difference, axis=1, side=0)
dx_c = partial(_apply_to_neighbours, operation=difference, axis=1, side=1)
dy_f = partial(_apply_to_neighbours, operation=difference, axis=0, side=0)
dy_c = partial(_apply_to_neighbours, operation=difference, axis=0, side=1)


def cell_by_cell(function: Callable[[Any], Any], inputs: Sequence[Patch], reach: int = 0) -> list[Patch]:
    """Apply a function, such as a neural network, to the values around each cell; JAX computes it.

    Args:
        function: function of a vector [inputs (2 reach + 1)²], in jax.numpy, to a vector [outputs]. Its argument holds
            one input after the other, each row by row from the south, and from west to east.
        inputs: Patches at one location of the C-grid.
        reach: number of neighbours in each direction.

    Returns:
        `outputs` Patches at the location of the inputs.

    Raises:
        ValueError: the function does not return a vector.
    """
    import jax
    import jax.numpy as jnp

    offsets = range(-reach, reach + 1)
    neighbourhood = [a.shift(-row, -column) for a in inputs for row in offsets for column in offsets]
    total = sum(neighbourhood[1:], start=neighbourhood[0])  # on their common cells
    last = tuple(first + length for first, length in zip(total.start, total.values.shape[-2:], strict=True))
    xp = np if isinstance(total.values, np.ndarray) else jnp  # with jnp, XLA would compile each operation
    columns = [xp.broadcast_to(a.cut(total.start, last).values, total.values.shape).reshape(-1) for a in neighbourhood]
    outputs = xp.asarray(jax.vmap(function, in_axes=1, out_axes=-1)(xp.stack(columns)))
    if outputs.ndim != 2:
        raise ValueError(f"cell_by_cell: the function must return a vector, not an array with {outputs.ndim - 1} axes")
    return [Patch(values.reshape(total.values.shape), total.start) for values in outputs]


def where(condition: Any, a: Any, b: Any) -> Patch:
    """a in the cells where the condition holds, b in the others: np.where, typed for Patches."""
    return np.where(condition, a, b)


def maximum(a: Any, b: Any) -> Patch:
    """The larger of a and b in each cell: np.maximum, typed for Patches."""
    return np.maximum(a, b)


def minimum(a: Any, b: Any) -> Patch:
    """The smaller of a and b in each cell: np.minimum, typed for Patches."""
    return np.minimum(a, b)


def zero_in_smooth_sea(a: Patch) -> Patch:
    """Mark a, which is zero in a smooth sea, so that the native step skips what depends on it there; returns a."""
    return a.map(lambda values: getattr(values.__array_namespace__(), "zero_in_smooth_sea", lambda same: same)(values))


def divergence(U: Patch, V: Patch, grid: Grid) -> Patch:
    """Divergence at centres, m s-1, of the transports U, V through the faces, m3 s-1."""
    return (dx_c(U) + dy_c(V)) * grid.rarea.centre


def slope_x(P: Patch, grid: Grid) -> Patch:
    """d_x of a field at centres, on u faces."""
    return dx_f(P) * grid.rdx.u


def slope_y(P: Patch, grid: Grid) -> Patch:
    """d_y of a field at centres, on v faces."""
    return dy_f(P) * grid.rdy.v


def curl(u: Patch, v: Patch, grid: Grid) -> Patch:
    """d_x v - d_y u at corners: the circulation around them divided by their area, s-1."""
    return apply_weighted(grid.rarea.corner, dx_f, grid.dy.v, v) - apply_weighted(grid.rarea.corner, dy_f, grid.dx.u, u)


def apply_weighted(factor: Patch, operation: partial[Patch], weight: Patch, a: Patch) -> Patch:
    """factor * operation(weight * a), where the operation is a mean or a difference.

    A weight that is the same for both neighbours (a number, or in x a number in each row) needs one multiplication. On
    a plane XLA would otherwise repeat it for each neighbour in each fusion with the field: 7 % more operations in a
    step of the jet.
    """
    rows, columns = weight.values.shape[-2:]
    if columns == 1 and (rows == 1 or operation.keywords["axis"] == 1):
        return (factor * weight) * operation(a)
    return factor * operation(weight * a)


def diffusion_u(u: Patch, nu: FieldOrNumber, grid: Grid) -> Patch:
    """d_x (nu d_x u) + d_y (nu s d_y u) on open u faces, nu at centres; s is `grid.slip`."""
    through_x = nu * (grid.dy.centre * grid.rdx.centre * dx_c(u))
    through_y = at_corners(nu, grid) * (grid.slip * (grid.dx.corner * grid.rdy.corner * dy_f(u)))
    return grid.open_u * ((dx_f(through_x) + dy_c(through_y)) * grid.rarea.u)


def diffusion_v(v: Patch, nu: FieldOrNumber, grid: Grid) -> Patch:
    """d_x (nu s d_x v) + d_y (nu d_y v) on open v faces."""
    through_x = at_corners(nu, grid) * (grid.slip * (grid.dy.corner * grid.rdx.corner * dx_f(v)))
    through_y = nu * (grid.dx.centre * grid.rdy.centre * dy_c(v))
    return grid.open_v * ((dx_c(through_x) + dy_f(through_y)) * grid.rarea.v)


def at_corners(values: FieldOrNumber, grid: Grid) -> FieldOrNumber:
    """Mean of a field at centres over the wet cells around each corner; a number stays a number."""
    if not isinstance(values, Patch) or values.values.shape[-2:] == (1, 1):
        return values
    return grid.corner_weight * my_f(mx_f(grid.wet * values))


def root(square: Any) -> Any:
    """Square root whose derivative at zero is zero rather than infinite."""
    xp = square.__array_namespace__()
    is_zero = square == 0
    return xp.where(is_zero, 0, xp.sqrt(xp.where(is_zero, 1, square)))
