"""The statements of one iteration of the loop along a row: each value of a Program as an expression of vectors."""

from __future__ import annotations

from .expressions import MASK_BITS, expression, index_in, variable_name
from .graph import STATIC_LEAVES, Coefficient, Node, Ref
from .schedule import vectors_away

#: The C++ tables of those masks whose value depends on the number of wet cells around a corner.
CORNER_TABLES = {"slip": "slip", "corner_weight": "CORNER_WEIGHT<T>", "dry_corner": "DRY_CORNER<T>"}


class LoopBody:
    """The statements of one iteration of the loop, near land or far from it.

    Args:
        emitter: the `emit.Emitter`, with the variables of all row values.
        open_water_refs: {node: the Ref of its simplified form far from land}; None near land.

    Attributes:
        lines: the statements.
        statics: {number of a static field: the rows in which it is read}.
    """

    def __init__(self, emitter, open_water_refs: dict[Node, Ref] | None):
        self.emitter, self.schedule, self.open_water_refs = emitter, emitter.schedule, open_water_refs
        self.lines: list[str] = []
        self.statics: dict[int, set[int]] = {}
        self.variables: dict[str, str] = {}
        idle = emitter.idle_nodes if open_water_refs else ()
        self.pending = set(self.schedule.row_values)
        sources = {key: value.source for key, value in self.schedule.row_values.items() if key[0] not in idle}
        for key in (key for key, source in sources.items() if source == "compute"):
            self.compute(*key)
        for number, ref in enumerate(emitter.program.outputs.values()):
            self.lines.append(f"out{number} = {self.read(ref, 0, 0)};")
        for key in sources:
            self.compute(*key)

    def local_variable(self, text: str) -> str:
        """A variable with the value of an expression, the same variable for equal expressions."""
        if text not in self.variables:
            self.variables[text] = f"t{len(self.variables)}"
            self.lines.append(f"const auto {self.variables[text]} = {text};")
        return self.variables[text]

    def compute(self, node: Node, row: int):
        """Load or compute a row value into its variable, unless this has been done."""
        if (node, row) not in self.pending:
            return
        self.pending.remove((node, row))
        (source, vector, _), name = self.schedule.row_values[node, row], self.emitter.variables[node, row]
        if source != "compute":
            self.lines.append(f"{name} = load<V>({self.emitter.vector_address(source, node, row, vector)});")
            return
        folded = Ref(node) if self.open_water_refs is None else self.open_water_refs[node]
        text = self.expression(folded.node, row + folded.row, vector, folded.column)
        self.lines.append(f"{name} = {text};")
        self.variables.setdefault(text, name)

    def read(self, ref: Ref, row: int, vector: int) -> str:
        """The expression of the values of a ref, read at (row, vector)."""
        if self.open_water_refs is not None:
            node, folded = ref.node, self.open_water_refs.get(ref.node, Ref(ref.node))
            ref = folded.moved(ref.row, ref.column)
            if carrier := self.emitter.carriers.get(ref.node):
                carrier = carrier.moved(ref.row, ref.column)
                if self.is_held(carrier, row, vector):
                    if carrier.node is not node:
                        self.record_masks(carrier, row, vector)
                    ref = carrier
        node, node_row = ref.node, row + ref.row
        if node.op == "number":
            return f"broadcast<V>(T({node.value!r}))"
        if node.op == "mask":
            return self.local_variable(self.mask(node, node_row, vector, ref.column))
        if node.op in STATIC_LEAVES:
            return self.local_variable(self.leaf(node, node_row, vector, ref.column))
        if node.op == "field" or self.is_held(ref, row, vector) and node not in self.schedule.recomputed:
            self.compute(node, node_row)
            return self.shifted(node, node_row, vector, ref.column)
        return self.local_variable(self.expression(node, node_row, vector, ref.column))

    def is_held(self, ref: Ref, row: int, vector: int) -> bool:
        """Whether variables hold the value of a ref at (row, vector)."""
        value = self.schedule.row_values.get((ref.node, row + ref.row))
        first, last = sorted((vector, vector + vectors_away(ref.column)))
        return value is not None and value.oldest <= first and last <= value.newest

    def record_masks(self, ref: Ref, row: int, vector: int):
        """Record the masks of a carrier, because it equals the node that it replaces only far from land."""
        for arg in ref.args:
            if arg.node.op == "mask":
                self.emitter.mask_offsets.add((row + arg.row, vector, arg.column))
            elif arg.node in self.schedule.recomputed:
                self.record_masks(arg, row, vector)

    def mask(self, node, row, vector, column, x="broadcast<V>(T(1))") -> str:
        """x where a mask is 1, else 0; for a mask of CORNER_TABLES its value at each corner."""
        self.emitter.mask_offsets.add((row, vector, column))
        pointer = variable_name("mask_bits", "", row)
        self.emitter.mask_pointers[pointer] = f"rows.mask_bits({row})"
        cell = self.local_variable(f"load_mask_bits<V>({pointer} + i + {vector} * N + {column})")
        if node.value in CORNER_TABLES:
            return f"lookup_corner<V>({CORNER_TABLES[node.value]}, {cell})"
        return f"masked<{MASK_BITS[node.value]}>({x}, {cell})"

    def leaf(self, node: Node, row: int, vector: int, column: int) -> str:
        """The expression of a static field."""
        numbering = self.emitter.numbering
        if node.op == "row_static":
            number = index_in(numbering.row_statics, node.value)
            name = variable_name("l", number, row)
            self.emitter.loop_constants[name] = f"broadcast<V>(rows.row_static({number}, {row}))"
            return name
        number = index_in(numbering.statics, node.value)
        self.statics.setdefault(number, set()).add(row)
        return f"load<V>({variable_name('s', number, row)} + i + {vector} * N + {column})"

    def shifted(self, node, row, vector, column) -> str:
        """The expression of a value that variables hold, read `column` columns to the east."""
        if not column:
            return self.variable(node, row, vector)
        n_vectors = abs(vectors_away(column))
        lanes = f"{column}" if column > 0 else f"{f'{n_vectors} * ' if n_vectors > 1 else ''}N - {-column}"
        first = vector - (n_vectors if column < 0 else 0)
        vectors = ", ".join(self.variable(node, row, first + n) for n in range(n_vectors + 1))
        return self.local_variable(f"shifted<{lanes}>({vectors})")

    def variable(self, node: Node, row: int, vector: int) -> str:
        value, max_age = self.schedule.row_values[node, row], self.emitter.max_age
        age = value.newest - vector
        assert 0 <= age <= value.newest - value.oldest, (node, row, vector, value)
        max_age[node, row] = max(max_age[node, row], age)
        return self.emitter.variables[node, row] + (f"_{age}" if age else "")

    def expression(self, node, row, vector, column=0) -> str:

        def read(ref: Ref) -> str:
            return self.read(ref.moved(0, column), row, vector)

        def masked(ref: Ref, x: str) -> str:
            return self.mask(ref.node, row + ref.row, vector, column + ref.column, x)

        return expression(node, read, masked, self.constant, self.local_variable)

    def constant(self, k: Coefficient) -> str:
        if not k.powers:
            return f"broadcast<V>(T({k.number!r}))"
        number = index_in(self.emitter.coefficients, k)
        self.emitter.loop_constants[f"k{number}"] = f"broadcast<V>(k[{number}])"
        return f"k{number}"
