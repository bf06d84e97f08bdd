"""One operation of a graph as a C++ expression, for the native step and for CUDA kernels.

Both pass functions that read operands and masks; this module fixes the order of operations, and thereby the bits.
"""

from __future__ import annotations

from collections.abc import Callable

from .graph import Coefficient, Node, Ref
from .operations import OPERATIONS

#: The C++ names of the precisions.
CPP_TYPES = {"float32": "float", "float64": "double"}
#: The bit of each mask that is 0 or 1 in a cell's mask bits; see vector.h.
MASK_BITS = {"wet": 1, "open_u": 2, "open_v": 4, "open_boundary_u": 64, "open_boundary_v": 128}
#: What remains of a multiply-add once its product is computed.
SUM_AFTER_PRODUCT = {"fma": "{0} + {1}", "fms": "{0} - {1}", "fnma": "{1} - {0}"}


def expression(
    node: Node,
    read: Callable[[Ref], str],
    masked: Callable[[Ref, str], str],
    constant: Callable[[Coefficient], str],
    variable: Callable[[str], str],
) -> str:
    """The C++ expression of the operation of a node.

    Args:
        read: the text of an operand.
        masked: the text of an expression that is a value where the mask of a Ref is 1, and 0 elsewhere.
        constant: the text of a Coefficient.
        variable: the name of a variable with the value of an expression.
    """
    factors = node.args[:2] if node.op in ("mul", *SUM_AFTER_PRODUCT) else ()
    for mask, other in zip(factors, factors[::-1], strict=True):
        if mask.node.op == "mask" and mask.node.value in MASK_BITS:  # 0 on land, even if the other factor is infinite
            product = masked(mask, read(other))
            if node.op == "mul":
                return product
            rest = read(node.args[2])
            return SUM_AFTER_PRODUCT[node.op].format(variable(product), rest)
    operands = [read(ref) for ref in node.args]
    if node.op in ("add", "mul"):
        operands.sort()
    k = node.value and constant(node.value)
    text = OPERATIONS[node.op].cpp
    return text.format(*operands, k=k) if text else f"{node.op}({', '.join(operands)})"


def coefficient_product(k: Coefficient, value_names: list[str]) -> str:
    """The C++ expression of a Coefficient; appends new names to `value_names`. The order of factors fixes the bits."""
    text = f"T({k.number!r})"
    for name, power in k.powers:
        text += f" {'*' if power > 0 else '/'} values[{index_in(value_names, name)}]" * abs(power)
    return text


def variable_name(letter: str, number, *offsets: int) -> str:
    """The name of a C++ variable for a value at offsets in rows and columns; "m" is their minus sign."""
    return "_".join([f"{letter}{number}", *map(str, offsets)]).replace("-", "m")


def index_in(names: list, name) -> int:
    """The position of a name in a list, to which a new name is appended."""
    if name not in names:
        names.append(name)
    return names.index(name)
