"""Arrays without values on which the dynamics run: a Graph records their operations.

A Symbol is the product coefficient * factor * ref: numbers that are the same for all cells, a field that is constant
during a run, and the rest. Products, shifts, and sums of Symbols with the same factor keep the three apart.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from types import SimpleNamespace

import numpy as np

from ...errors import UsageError
from .graph import NONZERO_NAMES, ONE, Coefficient, Graph, Ref, divides
from .operations import FUNCTIONS, OPERATIONS

#: The operations that are allowed on fields. Values that are the same for all cells also have the methods that use
#: `Symbol._call_method`.
SUPPORTED_OPERATIONS = (
    f"+ - * /, abs, powers with constant exponents, comparisons and where, {', '.join(FUNCTIONS)}, maximum, minimum"
)


class NotTraceable(UsageError):
    """The error for an operation on a field that cannot be recorded."""


@dataclass(frozen=True, eq=False)
class Symbol:
    """An array with a shape and without values."""

    graph: Graph  # records the operations
    shape: tuple[int, ...]  # [rows, columns]; an axis of length one holds the same value for all cells
    coefficient: Coefficient = ONE  # the same for all cells
    factor: Ref | None = None  # constant during a run; None: 1
    ref: Ref | None = None  # the rest, as read from the first cell; None if there is only the coefficient

    __array_ufunc__ = None  # a NumPy array times a Symbol is a Symbol
    ndim = 2

    @property
    def dtype(self):
        """The type of the fields, or of a value that is the same for all cells."""
        return self.graph.dtype if self.ref else np.dtype(self.value().dtype)

    def value(self):
        """The value of a Symbol that is the same for all cells, as an array [1, 1]."""
        value = self.coefficient.evaluate(self.graph.values)
        return np.full((1, 1), value, self.graph.dtype) if isinstance(value, float) else value

    @property
    def is_static(self) -> bool:
        """Whether the Symbol contains no field that varies during a run; its coefficient may vary."""
        return self.ref is None or self.ref.node.is_static

    @property
    def is_integer(self) -> bool:
        """Whether the Symbol is an integer that is the same for all cells; conditions are 1.0 or 0.0."""
        return self.ref is None and np.issubdtype(self.dtype, np.integer)

    def __getitem__(self, key):
        key = key if isinstance(key, tuple) else (key,)
        if Ellipsis in key:
            ellipsis_index = key.index(Ellipsis)
            key = (*key[:ellipsis_index], *[slice(None)] * (3 - len(key)), *key[ellipsis_index + 1 :])
        key = (*key, *[slice(None)] * (2 - len(key)))
        if not all(isinstance(k, slice) and k.step in (None, 1) for k in key):
            raise NotTraceable("indexing single cells of a field")
        spans = [range(length)[k] for length, k in zip(self.shape, key, strict=True)]
        move = [span.start if length > 1 else 0 for span, length in zip(spans, self.shape, strict=True)]
        return replace(self.moved(*move), shape=tuple(len(span) for span in spans))

    def moved(self, row: int, column: int) -> Symbol:
        """The same values, read `row` rows to the north and `column` columns to the east."""
        refs = [ref and ref.moved(row, column) for ref in (self.factor, self.ref)]
        return Symbol(self.graph, self.shape, self.coefficient, *refs)

    def __bool__(self):
        raise NotTraceable("a branch on the value of a field; use where(condition, a, b)")

    def __iter__(self):
        raise NotTraceable("a loop over cells")

    def __add__(self, other):
        return add(self, self._as_symbol(other))

    def __sub__(self, other):
        return add(self, -self._as_symbol(other))

    def __mul__(self, other):
        return limit_coefficient(multiply(self, self._as_symbol(other)))

    def __truediv__(self, other):
        return limit_coefficient(divide(self, self._as_symbol(other)))

    def __rsub__(self, other):
        return add(self._as_symbol(other), -self)

    def __rtruediv__(self, other):
        return limit_coefficient(divide(self._as_symbol(other), self))

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self):
        return replace(self, coefficient=Coefficient(-1.0) * self.coefficient)

    def __abs__(self):
        if self.ref and all(name in NONZERO_NAMES for name, _ in self.coefficient.powers):
            absolute_coefficient = replace(self.coefficient, number=abs(self.coefficient.number))
            return replace(apply("abs", replace(self, coefficient=ONE)), coefficient=absolute_coefficient)
        return apply("abs", self)

    def __pow__(self, exponent):
        if isinstance(exponent, int) and exponent > 0:
            return math.prod([self] * (exponent - 1), start=self)
        return apply("power", self, k=Coefficient(float(exponent)))

    def __eq__(self, other):
        return indicator("equal", self, other)

    def __ne__(self, other):
        return 1 - (self == other)

    def __lt__(self, other):
        return indicator("less", self, other)

    def __gt__(self, other):
        return indicator("less", other, self)

    def __le__(self, other):
        return 1 - (self > other)

    def __ge__(self, other):
        return 1 - (self < other)

    def __array_namespace__(self):
        return SYMBOL_NAMESPACE

    def _call_method(self, name, *args) -> Symbol:
        """Call a method of a value that is the same for all cells."""
        if self.ref is not None:
            raise NotTraceable(f"`{name}` of a field")
        arguments = [arg.value() if isinstance(arg, Symbol) else arg for arg in args]
        key = tuple(arg.coefficient if isinstance(arg, Symbol) else arg for arg in args)
        return uniform(self.graph, getattr(self.value(), name)(*arguments), (name, self.coefficient, *key))

    def astype(self, dtype):
        return self._call_method("astype", dtype)

    def __rshift__(self, other):
        return self._call_method("__rshift__", other)

    def __and__(self, other):
        return self._call_method("__and__", other) if self.is_integer else self * other

    def __or__(self, other):
        return self._call_method("__or__", other) if self.is_integer else apply_to_values("maximum", self, other)

    def _as_symbol(self, other) -> Symbol:
        if isinstance(other, Symbol):
            return other
        if isinstance(other, Coefficient):
            return Symbol(self.graph, (1, 1), other)
        if isinstance(other, int | float | np.floating):
            return Symbol(self.graph, (1, 1), Coefficient(float(other)))
        if isinstance(other, np.ndarray) and other.ndim == 2 and (other == 1).all():
            return Symbol(self.graph, other.shape)
        if math.prod(other.shape) == 1:
            return uniform(self.graph, other)
        raise NotTraceable("an array that is neither a number nor a field of the model")


def uniform(graph: Graph, value, key=None) -> Symbol:
    """The Symbol of a value that is the same for all cells; for `key` see `Graph.coefficient`."""
    return Symbol(graph, (1, 1), graph.coefficient(value, key))


def _shape(*symbols):
    return tuple(max(lengths) for lengths in zip(*(s.shape for s in symbols), strict=True))


def to_ref(x: Symbol, with_coefficient=True) -> Ref:
    """The Ref of a Symbol as one value: its ref times its factor and, if `with_coefficient`, its coefficient."""
    graph, ref = x.graph, x.ref or x.graph.number(1.0)
    if x.coefficient.number == 0:
        return graph.number(0.0)
    if x.factor and ref.node.op == "div" and ref.node.args[0].node.is_one:
        ref = graph.operation("div", x.factor, ref.args[1])
    elif x.factor:
        ref = graph.operation("mul", x.factor, ref)
    if not with_coefficient or x.coefficient == ONE:
        return ref
    if ref.node.op == "number" and not x.coefficient.powers:
        return graph.number(x.coefficient.number)
    return graph.operation("scale", ref, k=x.coefficient)


#: Limits of a coefficient: at most MAX_FACTORS factors, and a number between 1/MAX_COEFFICIENT and MAX_COEFFICIENT.
MAX_FACTORS, MAX_COEFFICIENT = 8, 1e12


def limit_coefficient(x: Symbol) -> Symbol:
    """x, converted to one value if its coefficient is beyond the limits above."""
    number, powers = abs(x.coefficient.number), x.coefficient.powers
    is_within_limits = (
        1 / MAX_COEFFICIENT < number < MAX_COEFFICIENT and sum(abs(power) for _, power in powers) <= MAX_FACTORS
    )
    return x if is_within_limits or x.ref is None or not number else Symbol(x.graph, x.shape, ref=to_ref(x))


def add(x: Symbol, y: Symbol) -> Symbol:
    """x + y; a coefficient that is common to both, or divides the other, is factored out."""
    graph, shape, cx, cy = x.graph, _shape(x, y), x.coefficient, y.coefficient
    if not cx.number or not cy.number:
        return replace(y if not cx.number else x, shape=shape)
    if x.ref is None and y.ref is None:
        if cx.powers == cy.powers:
            return replace(x, shape=shape, coefficient=replace(cx, number=cx.number + cy.number))
        return replace(uniform(graph, x.value() + y.value(), ("add", cx, cy)), shape=shape)
    if x.ref and y.ref and x.ref.node.op == y.ref.node.op == "div":
        numerator_x, denominator_x = _numerator_and_denominator(x, x.ref)
        numerator_y, denominator_y = _numerator_and_denominator(y, y.ref)
        if denominator_x == denominator_y:
            return divide(add(numerator_x, numerator_y), Symbol(graph, shape, ref=denominator_x))
    factor = x.factor if x.factor == y.factor else None
    a, b = (s.ref if s.ref and factor else to_ref(s, False) for s in (x, y))

    def result(coefficient, ref):
        return Symbol(graph, shape, coefficient, factor, ref)

    if a == b and cx.powers == cy.powers:
        return result(replace(cx, number=cx.number + cy.number), a)
    if cx.powers == cy.powers and cx.number == cy.number:
        return result(cx, graph.operation("add", a, b))
    if cx.powers == cy.powers and cx.number == -cy.number:
        first, second, coefficient = (b, a, cy) if b.sort_key < a.sort_key else (a, b, cx)
        return result(coefficient, graph.operation("sub", first, second))
    if cy == ONE or (cx != ONE and not divides(cx, cy) and divides(cy, cx)):
        a, b, cx, cy = b, a, cy, cx
    if cx == ONE or divides(cx, cy):
        return result(cx, graph.operation("axpy", a, b, k=cy / cx))
    return result(ONE, graph.operation("axpy", to_ref(Symbol(graph, shape, cx, ref=a)), b, k=cy))


def _numerator_and_denominator(x: Symbol, quotient: Ref) -> tuple[Symbol, Ref]:
    """The numerator of x, with the coefficient and the factor of x, and the denominator; `quotient` is the ref of x."""
    numerator, denominator = quotient.args
    parts = (None, x.factor) if numerator.node.is_one else (x.factor, numerator)
    return Symbol(x.graph, x.shape, x.coefficient, *parts), denominator


def multiply(x: Symbol, y: Symbol) -> Symbol:
    """x y; values that are constant during a run, except masks, are multiplied together first and become the factor."""
    graph, shape, coefficient = x.graph, _shape(x, y), x.coefficient * y.coefficient
    if x.is_static and not y.is_static:
        x, y = y, x
    if x.ref is None or y.ref is None:
        return replace(x if x.ref else y, shape=shape, coefficient=coefficient)
    if y.is_static and not x.is_static and y.ref.node.op != "mask":
        product = graph.operation("mul", x.factor, y.ref) if x.factor else y.ref
        return Symbol(graph, shape, coefficient, product, x.ref)
    if x.ref == y.ref and x.ref.node.op == "mask" and x.ref.node.value in ("wet", "open_u", "open_v"):
        return Symbol(graph, shape, coefficient, None, x.ref)
    factor = graph.operation("mul", x.factor, y.factor) if x.factor and y.factor else x.factor or y.factor
    return Symbol(graph, shape, coefficient, factor, graph.operation("mul", x.ref, y.ref))


def divide(x: Symbol, y: Symbol) -> Symbol:
    graph, shape, coefficient = x.graph, _shape(x, y), x.coefficient / y.coefficient
    if y.ref is None:
        return replace(x, shape=shape, coefficient=coefficient)
    one = graph.number(1.0)
    if y.is_static:
        inverse = Symbol(graph, shape, ref=graph.operation("div", one, y.ref))
        return multiply(replace(x, coefficient=coefficient), inverse)
    factor, numerator = (x.factor, x.ref) if x.ref and not x.is_static else (x.ref, one)
    if y.factor:
        factor = graph.operation("div", factor or one, y.factor)
    return Symbol(graph, shape, coefficient, factor, graph.operation("div", numerator, y.ref))


def apply(op: str, *symbols: Symbol, k=None) -> Symbol:
    """The operation on the values of symbols, each of which includes its coefficient and factor."""
    graph = symbols[0].graph
    if all(s.ref is None for s in symbols):
        values = [s.value() for s in symbols]
        value = OPERATIONS[op].value(values[0].__array_namespace__(), k and k.number, *values)
        return uniform(graph, value, (op, k, *(s.coefficient for s in symbols)))
    return Symbol(graph, _shape(*symbols), ref=graph.operation(op, *(to_ref(s) for s in symbols), k=k))


def where(condition: Symbol, x, y) -> Symbol:
    """x where the condition holds, else y."""
    ref = condition.ref
    if ref and ref.node.op == "select" and [r.node.value for r in ref.node.args[1:]] == [1.0, 0.0]:
        condition = Symbol(condition.graph, condition.shape, ref=ref.args[0])
    return apply_to_values("select", condition, x, y)


def apply_to_values(op: str, *values) -> Symbol:
    """As `apply`, for values of which at least one is a Symbol; the others may be numbers or arrays."""
    first_symbol = next(value for value in values if isinstance(value, Symbol))
    return apply(op, *(first_symbol._as_symbol(value) for value in values))


def indicator(op: str, x, y) -> Symbol:
    """1 where a condition holds, else 0."""
    return where(apply_to_values(op, x, y), 1.0, 0.0)


#: The functions of fields, which `field.__array_namespace__()` returns.
SYMBOL_NAMESPACE = SimpleNamespace(
    abs=abs,
    where=where,
    zero_in_smooth_sea=partial(apply_to_values, "zero_in_smooth_sea"),
    **{name: partial(apply_to_values, name) for name in (*FUNCTIONS, "maximum", "minimum")},
)
