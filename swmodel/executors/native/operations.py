"""The operations of a graph: their values, C++ and derivatives.

`xp` provides the functions: numpy or jax.numpy for arrays, `symbol.SYMBOL_NAMESPACE` for Symbols. k stands for the
Coefficient of an operation: its value in `value`, the Coefficient itself in `derivatives`, None if there is none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Operation(NamedTuple):
    """How an operation is computed, written in C++ and differentiated."""

    value: Callable  # function (xp, k, *operands) -> value
    #: C++ with functions of vector.h or device_functions.h; {0}, {1}, ... are the operands, {k} is k; "": call the
    #: function of the same name.
    cpp: str = ""
    #: Function (xp, k, value, *operands) -> [for each operand: function that multiplies an adjoint or tangent b by the
    #: derivative with respect to it]; None: a condition, or an operation that appears only after differentiation.
    derivatives: Callable | None = None
    commutes: bool = False  # whether the order of the first two operands does not matter
    is_condition: bool = False  # whether its value is a condition, which only `select` reads
    n_operations: int = 1  # number of arithmetic operations


def max_derivative(xp, x, y):
    """The function that multiplies b by the derivative of max(x, y) with respect to x; for min(x, y), exchange x and y.

    The derivative is 1 where x > y, 1/2 where they are equal, as in JAX, and 0 elsewhere.
    """
    return lambda b: xp.where(x > y, b, xp.where(x == y, 0.5 * b, 0.0))


def unary(name: str, derivative: Callable) -> Operation:
    """The operation xp.NAME(operand), whose derivative, times b, is derivative(xp, b, value, operand)."""
    return Operation(
        lambda xp, k, a: getattr(xp, name)(a), derivatives=lambda xp, k, y, a: [lambda b: derivative(xp, b, y, a)]
    )


def binary(name: str, derivatives: Callable) -> Operation:
    """The operation xp.NAME(a, c), for which the order of the operands does not matter."""
    return Operation(lambda xp, k, a, c: getattr(xp, name)(a, c), derivatives=derivatives, commutes=True)


#: Functions of one field.
FUNCTIONS = {
    "sqrt": unary("sqrt", lambda xp, b, y, a: 0.5 * (b / y)),
    "cbrt": unary("cbrt", lambda xp, b, y, a: (1 / 3) * (b / (y * y))),
    "exp": unary("exp", lambda xp, b, y, a: b * y),
    "log": unary("log", lambda xp, b, y, a: b / a),
    "sin": unary("sin", lambda xp, b, y, a: b * xp.cos(a)),
    "cos": unary("cos", lambda xp, b, y, a: -(b * xp.sin(a))),
}

OPERATIONS = FUNCTIONS | {
    "add": Operation(
        lambda xp, k, a, c: a + c, "{0} + {1}", lambda xp, k, y, a, c: [lambda b: b, lambda b: b], commutes=True
    ),
    "sub": Operation(lambda xp, k, a, c: a - c, "{0} - {1}", lambda xp, k, y, a, c: [lambda b: b, lambda b: -b]),
    "mul": Operation(
        lambda xp, k, a, c: a * c, "{0} * {1}", lambda xp, k, y, a, c: [lambda b: b * c, lambda b: b * a], commutes=True
    ),
    "div": Operation(
        lambda xp, k, a, c: a / c, "{0} / {1}", lambda xp, k, y, a, c: [lambda b: b / c, lambda b: -(b / c * y)]
    ),
    "scale": Operation(lambda xp, k, a: k * a, "{k} * {0}", lambda xp, k, y, a: [lambda b: b * k]),
    "axpy": Operation(
        lambda xp, k, a, c: a + k * c,
        "mad({k}, {1}, {0})",
        lambda xp, k, y, a, c: [lambda b: b, lambda b: b * k],
        n_operations=2,
    ),
    "fma": Operation(lambda xp, k, a, b, c: a * b + c, "mad({0}, {1}, {2})", n_operations=2),
    "fms": Operation(lambda xp, k, a, b, c: a * b - c, "mad({0}, {1}, -{2})", n_operations=2),
    "fnma": Operation(lambda xp, k, a, b, c: c - a * b, "mad(-{0}, {1}, {2})", n_operations=2),
    "identity": Operation(lambda xp, k, a: a, "{0}"),
    "zero_in_smooth_sea": Operation(lambda xp, k, a: a, "{0}", lambda xp, k, y, a: [lambda b: b], n_operations=0),
    "abs": unary("abs", lambda xp, b, y, a: xp.where(a < 0, -b, b)),
    "power": Operation(
        lambda xp, k, a: a**k, "power({0}, {k})", lambda xp, k, y, a: [lambda b: b * a ** (k.number - 1) * k]
    ),
    "maximum": binary("maximum", lambda xp, k, y, a, c: [max_derivative(xp, a, c), max_derivative(xp, c, a)]),
    "minimum": binary("minimum", lambda xp, k, y, a, c: [max_derivative(xp, c, a), max_derivative(xp, a, c)]),
    "equal": Operation(lambda xp, k, a, c: a == c, "{0} == {1}", commutes=True, is_condition=True),
    "less": Operation(lambda xp, k, a, c: a < c, "{0} < {1}", is_condition=True),
    "select": Operation(
        lambda xp, k, condition, a, c: xp.where(condition, a, c),
        "({0} != 0) ? {1} : {2}",
        lambda xp, k, y, condition, a, c: [
            lambda b: b,  # never called, because a condition has no derivative
            lambda b: xp.where(condition, b, 0.0),
            lambda b: xp.where(condition, 0.0, b),
        ],
    ),
}
