"""When and where the values of a Program are computed, in one loop along each row.

The loop goes along row j in vectors, from west to east. A value is computed for the northernmost row that is read;
further south it comes from a ring of rows computed before, or is computed again where that is cheaper. What is read
further east is computed some vectors ahead; what is read further west is carried in registers. Places are relative to
what is written: row j, vector i.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

from .graph import Node, Program, Ref, topological

#: Operations above which a value is kept in a ring rather than computed again.
CHEAP = 3
LEAVES = ("field", "static", "line", "mask", "number")


class Place(NamedTuple):
    """A value in one row.

    Attributes:
        source: "load" from a field, "ring", or "compute".
        newest: the vector, counted from i, that is loaded or computed in the turn of i.
        oldest: the westernmost vector that is still needed then.
    """

    source: str
    newest: int
    oldest: int


@dataclass
class Schedule:
    """Where the values of one Program come from.

    Attributes:
        places: {(node, row): Place}, in an order in which operands come first.
        rings: {node: (row that is kept, rows that are kept)}.
        thin: nodes without a place: computed from others wherever they are read.
        ahead: how many rows further north fields are read.
        warm: how many rows further south the loop begins, to fill the rings before the first row is written.
        east: how many vectors further east fields are read.
        late: columns further west that a value depends on: at the beginning of a row so many come out wrong.
    """

    places: dict[tuple[Node, int], Place] = field(default_factory=dict)
    rings: dict[Node, tuple[int, int]] = field(default_factory=dict)
    thin: set[Node] = field(default_factory=set)
    ahead: int = 0
    warm: int = 0
    east: int = 0
    late: int = 0


def schedule(program: Program, thin: set[Node]) -> Schedule:
    """The schedule of a program.

    Args:
        thin: nodes to be computed from others wherever they are read.
    """
    nodes = [
        n for n in topological(program.outputs.values()) if n not in thin and (n.op == "field" or n.op not in LEAVES)
    ]
    asked: dict[Node, dict[int, tuple[int, int]]] = {n: {} for n in nodes}
    made = Schedule(thin=thin)

    def ask(node, row, vector):
        low, high = asked[node].get(row, (vector, vector))
        asked[node][row] = min(low, vector), max(high, vector)

    def ask_for(ref: Ref, row, vector):
        for read in reads(ref, thin):
            ask(read.node, row + read.row, vector)
            if read.column:
                ask(read.node, row + read.row, vector + (1 if read.column > 0 else -1))

    for ref in program.outputs.values():
        ask_for(ref, 0, 0)
    for node in reversed(nodes):
        if node.op == "field":
            _place_field(made, node, asked[node], node.value in program.outputs)
            continue
        rows = asked[node]
        top, cost = max(rows), weight(node, thin)
        here = [row for row in rows if row == top or (row >= 0 and cost <= CHEAP)]
        _keep(made, node, rows, min(here))
        for row in here:
            low, high = rows[row]
            made.places[node, row] = Place("compute", high, low)
            for ref in node.args:
                ask_for(ref, row, high)
    _finish(made)
    return made


def reads(ref: Ref, thin) -> list[Ref]:
    """What a ref reads that has a place: thin nodes are followed to their operands."""
    node = ref.node
    if node.op in LEAVES and node.op != "field":
        return []
    if node not in thin:
        return [ref]
    return [r for arg in node.args for r in reads(arg.moved(ref.row, ref.column), thin)]


def weight(node: Node, thin, seen=None) -> int:
    """How many operations compute a value from fields."""
    seen = set() if seen is None else seen
    if node in seen or node.op in LEAVES:
        return 0
    seen.add(node)
    return (node not in thin) + sum(weight(r.node, thin, seen) for r in node.args)


def _place_field(made, node, rows, written):
    """Rows that are not overwritten yet are loaded; the others come from a ring."""
    if any(row < 0 for row in rows) or (written and 0 in rows):
        low, high = rows.get(0, (0, 0))
        rows[0] = min(low, 0), max(high, 0)
    _keep(made, node, rows, min((row for row in rows if row >= 0), default=0))
    for row, (low, high) in rows.items():
        if row >= 0:
            made.places[node, row] = Place("load", high, low)


def _keep(made, node, rows, kept: int):
    """A ring for the rows south of `kept`; its oldest row is read no later than the newest is written over it."""
    missing = [row for row in rows if row < kept]
    if not missing:
        return
    made.rings[node] = kept, kept - min(missing)
    newest = max(rows[row][1] for row in (*missing, kept))
    rows[kept] = rows[kept][0], newest
    for row in missing:
        made.places[node, row] = Place("ring", newest, rows[row][0])


def _finish(made):
    """The order of the places, and how far rows and vectors are read."""
    ordered: dict[tuple[Node, int], Place] = {}

    def visit(node, row):
        if (node, row) in ordered:
            return
        if made.places[node, row].source == "compute":
            for ref in node.args:
                for read in reads(ref, made.thin):
                    visit(read.node, row + read.row)
        ordered[node, row] = made.places[node, row]

    for node, row in list(made.places):
        visit(node, row)
    made.places = ordered

    @cache
    def warm(node, row):
        place = ordered[node, row]
        if place.source == "load":
            return 0
        if place.source == "ring":
            kept = made.rings[node][0]
            return kept - row + warm(node, kept)
        below = (warm(r.node, row + r.row) for ref in node.args for r in reads(ref, made.thin))
        return max(below, default=0)

    @cache
    def late(node, row):
        if made.places[node, row].source == "ring":
            return late(node, made.rings[node][0])
        below = (late(r.node, row + r.row) - r.column for ref in node.args for r in reads(ref, made.thin))
        return max(0, *below, 0)

    made.warm = max(warm(*at) for at in ordered)
    made.late = max(late(*at) for at in ordered)
    made.east = max(place.newest for place in ordered.values())
    made.ahead = max((row for (node, row) in ordered if node.op == "field"), default=0)
