"""The statements of one turn of the loop along a row: each value of a Program as an expression of vectors."""

from __future__ import annotations

from .expressions import BITS, expression, number_in
from .graph import LEAVES_IN_MEMORY, Coefficient, Node, Ref

#: The tables of masks that follow from the wet cells at a corner.
CORNERS = {"slip": "slip", "share": "SHARE<T>", "dry": "DRY_CORNER<T>"}


def named(letter: str, number, row: int) -> str:
    """The name of a variable for a row."""
    return f"{letter}{number}_{row}".replace("-", "s")


class Body:
    """The statements of one turn of the loop, near land or on water.

    Args:
        emitter: the `emit.Emitter`, with the variables of all places.
        water: as in Emitter; None near land.

    Attributes:
        lines: the statements.
        statics: {number of a static field: rows that are read}.
    """

    def __init__(self, emitter, water: dict[Node, Ref] | None):
        self.emitter, self.schedule, self.water = emitter, emitter.schedule, water
        self.lines: list[str] = []
        self.statics: dict[int, set[int]] = {}
        self.known: dict[str, str] = {}
        idle = emitter.idle if water else ()
        self.later = set(self.schedule.places)
        wanted = {at: place.source for at, place in self.schedule.places.items() if at[0] not in idle}
        for at in (at for at, source in wanted.items() if source == "compute"):
            self.compute(*at)
        for number, ref in enumerate(emitter.program.outputs.values()):
            self.lines.append(f"out{number} = {self.read(ref, 0, 0)};")
        for at in wanted:
            self.compute(*at)

    def local(self, text: str) -> str:
        """A variable with the value of an expression, the same one for equal expressions."""
        if text not in self.known:
            self.known[text] = f"t{len(self.known)}"
            self.lines.append(f"const auto {self.known[text]} = {text};")
        return self.known[text]

    def compute(self, node: Node, row: int):
        """Give the variable of a place its value, from memory or computed, unless it has it already."""
        if (node, row) not in self.later:
            return
        self.later.remove((node, row))
        (source, vector, _), name = self.schedule.places[node, row], self.emitter.numbers[node, row]
        if source != "compute":
            self.lines.append(f"{name} = load<V>({self.emitter.vector_of(source, node, row, vector)});")
            return
        folded = Ref(node) if self.water is None else self.water[node]
        text = self.expression(folded.node, row + folded.row, vector, folded.column)
        self.lines.append(f"{name} = {text};")
        self.known.setdefault(text, name)

    def read(self, ref: Ref, row: int, vector: int) -> str:
        """The values of a ref, read at (row, vector)."""
        if self.water is not None:
            node, folded = ref.node, self.water.get(ref.node, Ref(ref.node))
            ref = folded.moved(ref.row, ref.column)
            if held := self.emitter.carried.get(ref.node):
                held = held.moved(ref.row, ref.column)
                if self.has(held, row, vector):
                    if held.node is not node:
                        self.notice(held, row, vector)
                    ref = held
        node, at = ref.node, row + ref.row
        if node.op == "number":
            return f"all<V>(T({node.value!r}))"
        if node.op == "mask":
            return self.local(self.mask(node, at, vector, ref.column))
        if node.op in LEAVES_IN_MEMORY:
            return self.local(self.leaf(node, at, vector, ref.column))
        if node.op == "field" or self.has(ref, row, vector) and node not in self.schedule.thin:
            self.compute(node, at)
            return self.shifted(node, at, vector, ref.column)
        return self.local(self.expression(node, at, vector, ref.column))

    def has(self, ref: Ref, row: int, vector: int) -> bool:
        """Whether variables hold the value of a ref at (row, vector)."""
        place = self.schedule.places.get((ref.node, row + ref.row))
        first, last = vector - (ref.column < 0), vector + (ref.column > 0)
        return place is not None and place.oldest <= first and last <= place.newest

    def notice(self, ref: Ref, row: int, vector: int):
        """Remember the masks of a carried value, which replaces another node only far from land."""
        for arg in ref.args:
            if arg.node.op == "mask":
                self.emitter.masks.add((row + arg.row, vector, arg.column))
            elif arg.node in self.schedule.thin:
                self.notice(arg, row, vector)

    def mask(self, node, row, vector, column, x="all<V>(T(1))") -> str:
        """x where a mask is 1, else 0; or the number of a mask at each corner."""
        self.emitter.masks.add((row, vector, column))
        pointer = named("cells", "", row)
        self.emitter.mask_rows[pointer] = f"at.cells({row})"
        cell = self.local(f"cells<V>({pointer} + i + {vector} * N + {column})")
        if node.value in CORNERS:
            return f"by_corner<V>({CORNERS[node.value]}, {cell})"
        return f"only<{BITS[node.value]}>({x}, {cell})"

    def leaf(self, node: Node, row: int, vector: int, column: int) -> str:
        """A value from memory that is never written."""
        names = self.emitter.names
        if node.op == "line":
            number = number_in(names.lines, node.value)
            name = named("l", number, row)
            self.emitter.used[name] = f"all<V>(at.line({number}, {row}))"
            return name
        number = number_in(names.static, node.value)
        self.statics.setdefault(number, set()).add(row)
        return f"load<V>({named('s', number, row)} + i + {vector} * N + {column})"

    def shifted(self, node, row, vector, column) -> str:
        """A value that has a place, `column` columns to the east."""
        if not column:
            return self.variable(node, row, vector)
        first = vector - (column < 0)
        lanes = f"{column}" if column > 0 else f"N - {-column}"
        return self.local(f"shifted<{lanes}>({self.variable(node, row, first)}, {self.variable(node, row, first + 1)})")

    def variable(self, node: Node, row: int, vector: int) -> str:
        """The variable that holds a value."""
        place, history = self.schedule.places[node, row], self.emitter.history
        back = place.newest - vector
        assert 0 <= back <= place.newest - place.oldest, (node, row, vector, place)
        history[node, row] = max(history[node, row], back)
        return self.emitter.numbers[node, row] + (f"_{back}" if back else "")

    def expression(self, node, row, vector, column=0) -> str:
        """The operation of a node."""

        def read(ref: Ref) -> str:
            return self.read(ref.moved(0, column), row, vector)

        def masked(ref: Ref, x: str) -> str:
            return self.mask(ref.node, row + ref.row, vector, column + ref.column, x)

        return expression(node, read, masked, self.constant, self.local)

    def constant(self, k: Coefficient) -> str:
        """A Coefficient, spread over a vector."""
        if not k.powers:
            return f"all<V>(T({k.number!r}))"
        number = number_in(self.emitter.constants, k)
        self.emitter.used[f"k{number}"] = f"all<V>(k[{number}])"
        return f"k{number}"
