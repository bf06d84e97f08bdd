"""Rewriting makes Programs faster: static parts become fields, a b + c is fused, and masks vanish far from land."""

from __future__ import annotations

from collections import Counter

import numpy as np

from .graph import CONDITIONS, STATIC_LEAVES, Graph, Node, Program, Ref, nodes_of, topological
from .operations import OPERATIONS
from .trace import MASKS_ON_WATER

#: Largest shift of a value in one operation, in columns: the length of the shortest vectors. The shifts of nodes that
#: are computed again at every read add up (`recomputed_nodes`).
MAX_COLUMN_SHIFT = 2
#: Operations whose values for numbers are exact.
FOLDABLE = (*CONDITIONS, "maximum", "minimum")


def hoist_static_parts(graph: Graph, programs: list[Program]) -> tuple[list[Program], dict[str, Ref]]:
    """The programs with their static parts as separate fields, and the Ref of each such field by name.

    Each part is as large as possible. A single mask stays as it is, because masks are packed into bytes.
    """
    parts: dict[str, Ref] = {}

    def part(node: Node, args) -> Ref | None:
        if not node.is_static or node.op in STATIC_LEAVES:
            return None
        name = f"part{node.number}"
        parts[name] = Ref(node)
        return Ref(graph.leaf("row_static" if node.is_uniform_in_row else "static", name))

    rebuilt = rebuild(graph, programs, part)
    for node in nodes_of(rebuilt):
        if node.op in ("static", "row_static") and node.value not in parts:
            parts[node.value] = Ref(node)
    return rebuilt, parts


def fuse_multiply_adds(graph: Graph, programs: list[Program]) -> list[Program]:
    """The programs with a b + c as one operation, where the product is used only once."""
    uses = Counter(ref.node for p in programs for ref in p.outputs.values())
    for node in nodes_of(programs):
        uses.update(ref.node for ref in node.args)

    def fuse(node, args):
        if node.op not in ("add", "sub"):
            return None
        x, y = args
        first, second = (r.node.op == "mul" and uses[old.node] == 1 for r, old in zip(args, node.args, strict=True))
        if second:
            return graph.operation("fma" if node.op == "add" else "fnma", *y.args, x)
        if first:
            return graph.operation("fma" if node.op == "add" else "fms", *x.args, y)
        return None

    return rebuild(graph, programs, fuse)


def rebuild(graph: Graph, programs: list[Program], replacement) -> list[Program]:
    """The programs with nodes replaced; `replacement(node, new operands)` returns another Ref for a node, or None."""
    new: dict[Node, Ref] = {}
    for node in nodes_of(programs):
        args = [new[r.node].moved(r.row, r.column) for r in node.args]
        ref = replacement(node, args)
        if ref is None:
            ref = graph.operation(node.op, *args, k=node.value) if args else Ref(node)
        new[node] = ref
    return [
        p._replace(outputs={name: new[r.node].moved(r.row, r.column) for name, r in p.outputs.items()})
        for p in programs
    ]


def assign_columns(graph: Graph, programs: list[Program]) -> list[Program]:
    """The programs with each value computed for the column that needs the fewest shifts."""
    order = nodes_of(programs)
    columns: dict[Node, list[int]] = {node: [] for node in order}
    for ref in (ref for p in programs for ref in p.outputs.values()):
        columns[ref.node].append(ref.column)
    best_column: dict[Node, int] = {}
    for node in reversed(order):
        columns_read = columns[node]
        best_column[node] = (
            min(columns_read, key=lambda c: (len({r - c for r in columns_read} - {0}), abs(c))) if node.args else 0
        )
        for ref in node.args:
            columns[ref.node].append(ref.column + best_column[node])
    new: dict[Node, Node] = {}

    def rebuilt_ref(ref, shift=0):
        """The new Ref to a value, through intermediate values beyond MAX_COLUMN_SHIFT."""
        if ref.node.is_uniform_in_row:
            return ref
        return limit_shift(Ref(new[ref.node], ref.row, ref.column + shift - best_column[ref.node]))

    def limit_shift(ref):
        """The Ref, with a shift of at most MAX_COLUMN_SHIFT; a condition moves its operands instead."""
        node, column = ref.node, ref.column
        if node.op in CONDITIONS and abs(column) > MAX_COLUMN_SHIFT:
            args = tuple(arg if arg.node.is_uniform_in_row else limit_shift(arg.moved(0, column)) for arg in node.args)
            return Ref(graph.node(node.op, args, node.value, node.is_static, node.is_uniform_in_row), ref.row)
        while abs(column) > MAX_COLUMN_SHIFT and node.op not in STATIC_LEAVES:
            shift = MAX_COLUMN_SHIFT if column > 0 else -MAX_COLUMN_SHIFT
            node = graph.node("identity", (Ref(node, 0, shift),), None, node.is_static, node.is_uniform_in_row)
            column -= shift
        return Ref(node, ref.row, column)

    for node in order:
        args = tuple(rebuilt_ref(ref, best_column[node]) for ref in node.args)
        new[node] = graph.node(node.op, args, node.value, node.is_static, node.is_uniform_in_row) if node.args else node
    return [p._replace(outputs={name: rebuilt_ref(ref) for name, ref in p.outputs.items()}) for p in programs]


def open_water_refs(graph: Graph, programs: list[Program]) -> dict[Node, Ref]:
    """The form of each node far from land, with the same bits there, because only exact operations are removed."""
    forms: dict[Node, Ref] = {}

    def fold(node, args):
        is_mask = node.op == "mask"
        forms[node] = graph.number(MASKS_ON_WATER[node.value]) if is_mask else fold_constants(graph, node, args)
        return forms[node]

    rebuild(graph, programs, fold)
    return forms


def programs_in_smooth_sea(graph: Graph, programs: list[Program]) -> list[Program]:
    """The programs for water where all values of `operators.zero_in_smooth_sea` are zero, with the same bits there."""

    def fold(node, args):
        return graph.number(0.0) if node.op == "zero_in_smooth_sea" else fold_constants(graph, node, args)

    return rebuild(graph, programs, fold)


def fold_constants(graph: Graph, node: Node, args: list[Ref]) -> Ref:
    """The node with these operands, simplified if some are numbers; only exact operations are removed."""
    one, zero = ([r.node.op == "number" and r.node.value == value for r in args] for value in (1.0, 0.0))
    op = node.op
    if op in FOLDABLE and all(r.node.op == "number" for r in args):
        return graph.number(float(OPERATIONS[op].value(np, None, *(r.node.value for r in args))))
    if op == "select" and args[0].node.op == "number":
        return args[1 if args[0].node.value else 2]
    if op == "select" and args[1] == args[2]:
        return args[1]
    if op == "mul" and any(one):
        return args[one.index(False)] if False in one else args[0]
    if op in ("fma", "fms", "fnma") and any(one[:2]):
        product, other = args[1 if one[0] else 0], args[2]
        pair = (other, product) if op == "fnma" else (product, other)
        return graph.operation("add" if op == "fma" else "sub", *pair)
    if op == "mul" and any(zero):
        return graph.number(0.0)
    if op in ("fma", "fnma") and any(zero[:2]):
        return args[2]
    if op == "fma" and zero[2]:
        return graph.operation("mul", *args[:2])
    if op == "axpy" and zero[0]:
        return graph.operation("scale", args[1], k=node.value)
    if op in ("add", "sub", "axpy") and zero[1]:
        return args[0]
    if op == "add" and zero[0]:
        return args[1]
    return graph.operation(op, *args, k=node.value) if args else Ref(node)


def recomputed_nodes(program: Program, water: dict[Node, Ref]) -> tuple[set[Node], dict[Node, Ref], set[Node]]:
    """The recomputed nodes, {value on water: Ref that carries it between iterations}, and the nodes idle on water.

    A recomputed node differs only near land from another node or a field. It is computed again at every read, as
    conditions are, so that nothing more is carried near land. On water no output depends on an idle node.
    """
    outputs = program.outputs.values()
    nodes, needed_on_water = topological(outputs), set(topological(water[ref.node] for ref in outputs))
    recomputed, carriers = {node for node in nodes if node.op in CONDITIONS}, {}
    for node in sorted(nodes, key=lambda n: water[n].node is not n):
        folded = water[node]
        if node in recomputed:
            continue
        if not node.args or folded.node is node:
            carriers[folded.node] = Ref(node)
        elif not folded.node.args or folded.node in carriers:
            recomputed.add(node)
        else:
            carriers[folded.node] = Ref(node, -folded.row, -folded.column)
    return recomputed, carriers, {node for node in nodes if water[node].node not in needed_on_water}
