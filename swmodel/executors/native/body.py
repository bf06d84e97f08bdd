"""The statements of one turn of the loop along a row: each value of a Program as an expression of vectors."""

from __future__ import annotations

from .graph import Node, Ref
from .operations import OPERATIONS
from .schedule import LEAVES

#: The bits of a cell (vector.h) for masks that are 0 or 1; the tables for those that follow from wet cells at a corner.
BITS = {"wet": 1, "open_u": 2, "open_v": 4, "side_u": 64, "side_v": 128}
CORNERS = {"slip": "slip", "share": "SHARE<T>", "dry": "DRY_CORNER<T>"}
#: What is left of a multiply-add once its product is known.
SUMS = {"fma": "{0} + {1}", "fms": "{0} - {1}", "fnma": "{1} - {0}"}


class Body:
    """The statements of one turn of the loop, near land or on water.

    Args:
        emitter: the `emit.Emitter`, which knows the variables of all places.
        water: see there; None near land.
    """

    def __init__(self, emitter, water: dict[Node, Ref] | None):
        self.emitter, self.water = emitter, water
        self.lines: list[str] = []
        self.known: dict[str, str] = {}
        self.later = {at for at, place in emitter.schedule.places.items() if place.source == "compute"}

    def local(self, text: str) -> str:
        """A variable with the value of an expression, the same one for equal expressions."""
        if text not in self.known:
            self.known[text] = f"t{len(self.known)}"
            self.lines.append(f"const auto {self.known[text]} = {text};")
        return self.known[text]

    def compute(self, node: Node, row: int):
        """Give the variable of a place its value, unless it has it already."""
        if (node, row) not in self.later:
            return
        self.later.remove((node, row))
        vector, name = self.emitter.schedule.places[node, row].newest, self.emitter.numbers[node, row]
        if self.water is None:
            text = self.expression(node, row, vector)
        else:
            folded = self.water[node]
            text = self.expression(folded.node, row + folded.row, vector, folded.column)
        self.lines.append(f"{name} = {text};")
        self.known.setdefault(text, name)

    def read(self, ref: Ref, row: int, vector: int) -> str:
        """The values of a ref that is read at (row, vector)."""
        if self.water is not None:
            asked, folded = ref.node, self.water.get(ref.node, Ref(ref.node))
            ref = folded.moved(ref.row, ref.column)
            if held := self.emitter.carried.get(ref.node):
                held = held.moved(ref.row, ref.column)
                if self.emitter.has(held, row, vector):
                    if held.node is not asked:
                        self.emitter.notice(held, row, vector)
                    ref = held
        node, at = ref.node, row + ref.row
        if node.op == "number":
            return f"all<V>(T({node.value!r}))"
        if node.op == "mask":
            return self.local(self.mask(node, at, vector, ref.column))
        if node.op in LEAVES and node.op != "field":
            return self.local(self.emitter.leaf(node, at, vector, ref.column))
        if node.op == "field" or self.emitter.has(ref, row, vector) and node not in self.emitter.schedule.thin:
            self.compute(node, at)
            return self.shifted(node, at, vector, ref.column)
        return self.local(self.expression(node, at, vector, ref.column))

    def mask(self, node, row, vector, column, x="all<V>(T(1))") -> str:
        """x where a mask is 1, else 0; or the number that a mask has at each corner."""
        self.emitter.masks.add((row, vector, column))
        cell = self.local(f"cells<V>({self.emitter.cells(row)} + i + {vector} * N + {column})")
        if node.value in CORNERS:
            return f"by_corner<V>({CORNERS[node.value]}, {cell})"
        return f"only<{BITS[node.value]}>({x}, {cell})"

    def shifted(self, node, row, vector, column) -> str:
        """A value that has a place, `column` columns to the east."""
        name = self.emitter.name
        if not column:
            return name(node, row, vector)
        first = vector - (column < 0)
        lanes = f"{column}" if column > 0 else f"N - {-column}"
        return self.local(f"shifted<{lanes}>({name(node, row, first)}, {name(node, row, first + 1)})")

    def expression(self, node, row, vector, column=0) -> str:
        """The operation of a node."""
        factors = node.args[:2] if node.op in ("mul", *SUMS) else ()
        for ref, other in zip(factors, factors[::-1], strict=True):
            if ref.node.op == "mask" and ref.node.value in BITS:  # values on land do not pass, even infinite ones
                x = self.read(other.moved(0, column), row, vector)
                product = self.mask(ref.node, row + ref.row, vector, column + ref.column, x)
                if node.op == "mul":
                    return product
                rest = self.read(node.args[2].moved(0, column), row, vector)
                return SUMS[node.op].format(self.local(product), rest)
        operands = [self.read(ref.moved(0, column), row, vector) for ref in node.args]
        if node.op in ("add", "mul"):
            operands.sort()
        k = node.value and self.emitter.constant(node.value)
        text = OPERATIONS[node.op].text
        return text.format(*operands, k=k) if text else f"{node.op}({', '.join(operands)})"
