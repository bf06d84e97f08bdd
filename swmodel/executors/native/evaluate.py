"""A graph computed on arrays: static parts before a run, and all of it where generated code is judged."""

from __future__ import annotations

from collections import Counter

from .graph import Ref, topological
from .operations import OPERATIONS


def evaluate(outputs: dict[str, Ref], fields: dict, values: dict, xp) -> dict:
    """The outputs by name, arrays like the fields; rows and columns at the ends lack neighbours and are undefined.

    Args:
        fields: arrays [y, x] of the leaves by name; an axis of length one holds one value for all cells.
        values: the values of the names in Coefficients.
        xp: numpy or jax.numpy.
    """
    found = {}
    order = topological(outputs.values())
    uses = Counter(ref.node for node in order for ref in node.args) + Counter(ref.node for ref in outputs.values())

    def read(ref):
        value = found[ref.node]
        uses[ref.node] -= 1
        if not uses[ref.node]:  # free what is not needed any more
            del found[ref.node]
        axes = [axis for axis in (0, 1) if getattr(value, "ndim", 0) and value.shape[axis] > 1]
        move = [-(ref.row, ref.column)[axis] for axis in axes]
        return xp.roll(value, move, axes) if any(move) else value

    for node in order:
        if node.op == "number":
            found[node] = node.value
        elif not node.args:
            found[node] = fields[node.value]
        else:
            k = node.value and node.value.evaluate(values)
            found[node] = OPERATIONS[node.op].value(xp, k, *(read(ref) for ref in node.args))
    return {name: read(ref) for name, ref in outputs.items()}
