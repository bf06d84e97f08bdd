"""The equations as a graph of arithmetic and shifts, which a run of the dynamics on Symbols records.

A Node is a value at every cell, which reads other Nodes a fixed number of rows and columns away. Equal values are the
same Node. Factors that are the same for all cells form a Coefficient in front of the Nodes, so that products of such
factors are computed once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from types import MappingProxyType
from typing import Any, NamedTuple

from .operations import OPERATIONS


class Ref(NamedTuple):
    """The value of a node `row` rows north and `column` columns east of the cell."""

    node: Node
    row: int = 0
    column: int = 0

    @property
    def sort_key(self):
        return self.node.number, self.row, self.column

    @property
    def args(self) -> list[Ref]:
        """The operands of the node, shifted as the node is."""
        return [arg.moved(self.row, self.column) for arg in self.node.args]

    def moved(self, row: int, column: int) -> Ref:
        """The Ref shifted with its reader; a node that is uniform in a row is always read in column 0."""
        return Ref(self.node, self.row + row, 0 if self.node.is_uniform_in_row else self.column + column)


@dataclass(frozen=True, eq=False)
class Node:
    """One operation at every cell."""

    number: int  # position in the order of creation: operands come first
    op: str  # "field", "static", "row_static" (static, uniform in each row), "mask", "number", or arithmetic
    args: tuple[Ref, ...]  # operands
    value: Any  # the name of a leaf, a number, or the Coefficient k of an operation
    is_static: bool  # whether it is constant during a run
    is_uniform_in_row: bool  # whether it is the same in all columns of a row

    @property
    def is_one(self) -> bool:
        return self.op == "number" and self.value == 1

    def __repr__(self):
        return f"{self.op}:{self.number}"


#: Leaves that are constant during a run and can be read at any column; all leaves.
STATIC_LEAVES = ("static", "row_static", "mask", "number")
LEAVES = ("field", *STATIC_LEAVES)
#: Operations whose value is a condition.
CONDITIONS = [name for name, operation in OPERATIONS.items() if operation.is_condition]


class Graph:
    """Unique Nodes, and the values of the names in Coefficients."""

    def __init__(self, dtype):
        self.dtype = dtype
        self.nodes: dict[tuple, Node] = {}
        self.values: dict[str, Any] = {}
        self.constant_names: set[str] = set()
        self._names: dict[Any, str] = {}
        self._named_values: list = []

    def leaf(self, op: str, name, keeps_column=False) -> Node:
        """A field, a static field, a mask, or a number.

        With `keeps_column` a "row_static" keeps the column of each read. Its adjoint needs that, because a cell beyond
        a wall differs from the cell at the opposite end of the row.
        """
        return self.node(op, (), name, op != "field", op in ("row_static", "number") and not keeps_column)

    def number(self, value: float) -> Ref:
        return Ref(self.leaf("number", value))

    def coefficient(self, value, key=None) -> Coefficient:
        """The Coefficient of a value, the same one for the same key or, without a key, for the same object.

        A string as key becomes the name of the value, which is then constant during a run.
        """
        if isinstance(key, str):
            self.values[key] = value.reshape(1, 1)
            self.constant_names.add(key)
            return Coefficient(1.0, ((key, 1),))
        key = key or id(value)
        if key not in self._names:
            self._names[key] = f"c{len(self._names)}"
            self._named_values.append(value)  # keeps its id unique
        label = self._names[key]
        self.values[label] = value.reshape(1, 1)
        return Coefficient(1.0, ((label, 1),))

    def operation(self, op: str, *refs: Ref, k=None) -> Ref:
        """The Ref of an operation; its node has the position of the first operand, so that shifted copies share it."""
        if OPERATIONS[op].commutes and refs[1].sort_key < refs[0].sort_key:
            refs = (refs[1], refs[0], *refs[2:])
        row = next((r.row for r in refs if r.node.op != "number"), 0)
        column = next((r.column for r in refs if not r.node.is_uniform_in_row), 0)
        is_uniform = all(r.node.is_uniform_in_row for r in refs)
        args = tuple(Ref(r.node) if r.node.op == "number" else r.moved(-row, -column) for r in refs)
        is_constant = k is None or all(name in self.constant_names for name, _ in k.powers)
        is_static = is_constant and op not in CONDITIONS and all(r.node.is_static for r in refs)
        return Ref(self.node(op, args, k, is_static, is_uniform), row, 0 if is_uniform else column)

    def node(self, op, args, value, is_static, is_uniform) -> Node:
        """The node with this operation, operands and value; a new one only if there is none."""
        key = op, tuple(r.sort_key for r in args), value
        if key not in self.nodes:
            self.nodes[key] = Node(len(self.nodes), op, args, value, is_static, is_uniform)
        return self.nodes[key]


def topological(refs) -> list[Node]:
    """All nodes that the refs depend on, each after its operands."""
    ordered: dict[Node, None] = {}

    def visit(node):
        if node not in ordered:
            for ref in node.args:
                visit(ref.node)
            ordered[node] = None

    for ref in refs:
        visit(ref.node)
    return list(ordered)


def nodes_of(programs: list[Program]) -> list[Node]:
    return topological([ref for program in programs for ref in program.outputs.values()])


def read_offsets(refs: Collection[Ref], stored: Collection[Node] = ()) -> dict[Node, set[tuple[int, int]]]:
    """{node: {offsets (rows, columns) at which it is read or computed}} of the nodes that refs depend on.

    The operands of `stored` nodes are left out, unless the stored nodes are those of the refs themselves.
    """
    stored = set(stored)
    offsets: dict[Node, set[tuple[int, int]]] = {}
    for node, row, column in refs:
        offsets.setdefault(node, set()).add((row, column))
    roots = set(offsets)
    nodes = {node.number: node for node in roots}
    queue = [-number for number in nodes]
    heapify(queue)
    while queue:  # the node with the largest number first, on which no node in the queue depends
        node = nodes[-heappop(queue)]
        if node in stored and node not in roots:
            continue
        for arg, row, column in node.args:
            if arg not in offsets:
                offsets[arg], nodes[arg.number] = set(), arg
                heappush(queue, -arg.number)
            columns = 0 if arg.is_uniform_in_row else 1
            offsets[arg].update([(r + row, columns * (c + column)) for r, c in offsets[node]])
    return offsets


def leaf_names(ref: Ref) -> set[str]:
    """The names of the leaves of a value, without numbers."""
    return {node.value for node in topological([ref]) if not node.args and node.op != "number"}


def evaluate(outputs: dict[str, Ref], fields: dict, values: dict, xp) -> dict:
    """The outputs by name, as arrays like the fields; outer rows and columns, which lack neighbours, are undefined.

    Args:
        fields: arrays [y, x] of the leaves by name; an axis of length one holds one value for all cells.
        values: the values of the names in Coefficients.
        xp: numpy or jax.numpy.
    """
    computed: dict[Node, Any] = {}
    order = topological(outputs.values())
    uses = Counter(ref.node for node in order for ref in node.args) + Counter(ref.node for ref in outputs.values())

    def read(ref):
        value = computed[ref.node]
        uses[ref.node] -= 1
        if not uses[ref.node]:  # free values after their last use
            del computed[ref.node]
        axes = [axis for axis in (0, 1) if getattr(value, "ndim", 0) and value.shape[axis] > 1]
        shift = [-(ref.row, ref.column)[axis] for axis in axes]
        return xp.roll(value, shift, axes) if any(shift) else value

    for node in order:
        if node.op == "number":
            computed[node] = node.value
        elif not node.args:
            computed[node] = fields[node.value]
        else:
            k = node.value and node.value.evaluate(values)
            computed[node] = OPERATIONS[node.op].value(xp, k, *(read(ref) for ref in node.args))
    return {name: read(ref) for name, ref in outputs.items()}


@dataclass(frozen=True)
class Coefficient:
    """A number times integer powers of named values, the same for all cells."""

    number: float = 1.0
    powers: tuple[tuple[str, int], ...] = ()

    def __mul__(self, other: Coefficient) -> Coefficient:
        return self._multiply(other, 1)

    def __truediv__(self, other: Coefficient) -> Coefficient:
        return self._multiply(other, -1)

    def _multiply(self, other, sign):
        if not self.number:
            return self
        powers = dict(self.powers)
        for name, power in other.powers:
            powers[name] = powers.get(name, 0) + sign * power
        number = self.number * other.number if sign > 0 else self.number / other.number
        if not number:
            return Coefficient(0.0)
        return Coefficient(number, tuple(sorted((n, p) for n, p in powers.items() if p)))

    def evaluate(self, values):
        """The value of the Coefficient from the values of its names, in their precision."""
        result = None
        for name, power in self.powers:
            for _ in range(abs(power)):
                if result is None:
                    result = values[name] if power > 0 else 1 / values[name]
                else:
                    result = result * values[name] if power > 0 else result / values[name]
        return self.number if result is None else result if self.number == 1 else self.number * result


ONE = Coefficient()
#: Names of values that are never zero.
NONZERO_NAMES = ("dx", "dy")


def divides(a: Coefficient, b: Coefficient) -> bool:
    """Whether b / a is finite for all values of the names."""
    return a.number != 0 and all(power > 0 or name in NONZERO_NAMES for name, power in (b / a).powers)


class Program(NamedTuple):
    """The computation of one pass over the cells."""

    halo_fields: tuple[str, ...]  # fields that are read at neighbouring cells, in the order of the halos
    #: Fields whose edges the pass returns: those that the next pass reads at neighbouring cells; see also
    #: `generate.split_by_smoothness`.
    sent_fields: tuple[str, ...]
    outputs: dict[str, Ref]  # the written values, by the names of the fields
    planes_after: Mapping[str, str] = MappingProxyType({})  # {field: the field whose memory it takes over in the pass}

    def plane_after(self, name: str) -> str:
        """The field in whose memory a field is after the pass."""
        return self.planes_after.get(name, name)

    @property
    def output_planes(self) -> dict[str, int]:
        """{field in whose memory an output is written: number of the output}."""
        return {self.plane_after(name): number for number, name in enumerate(self.outputs)}

    def without_copies(self) -> Program:
        """The program without copies: an output that is another field, unchanged, takes over the memory of that field.

        A computed field takes the memory that becomes free: that of the oldest field in the stepper's memory.
        """
        unchanged = {
            name: ref.node.value
            for name, ref in self.outputs.items()
            if ref.node.op == "field" and ref.node.value != name and not (ref.row or ref.column)
        }
        previous_names = {source: name for name, source in unchanged.items()}
        planes_after = dict(unchanged)
        for name in (name for name in previous_names if name not in unchanged):
            planes_after[name] = name
            while planes_after[name] in previous_names:
                planes_after[name] = previous_names[planes_after[name]]
        return self._replace(
            outputs={n: ref for n, ref in self.outputs.items() if n not in unchanged}, planes_after=planes_after
        )
