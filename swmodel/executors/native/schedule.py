"""When and where the values of a Program are computed, in one loop along each row.

The loop goes along row j in vectors, from west to east. A value is computed for the northernmost row that is read;
further south it comes from a ring of rows computed before, or is computed again where that is cheaper. What is read
further east is computed some vectors ahead; what is read further west is carried in registers. Places are relative to
what is written: row j, vector i.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from .graph import LEAVES, LEAVES_IN_MEMORY, Node, Program, Ref, topological

#: Operations above which a value is kept in a ring rather than computed again.
CHEAP = 3


class Place(NamedTuple):
    """A value in one row."""

    source: str  # "load" from a field, "ring", or "compute"
    newest: int  # the vector, counted from i, that is loaded or computed in the turn of i
    oldest: int  # the westernmost vector that is still needed then


class Schedule:
    """Where the values of one Program come from.

    Args:
        thin: nodes without a place: computed from others wherever they are read.

    Attributes:
        places: {(node, row): Place}, in an order in which operands come first.
        rings: {node: (row that is kept, rows that are kept)}.
        ahead: how many rows further north fields are read.
        warm: how many rows further south the loop begins, to fill the rings before the first row is written.
        east: how many vectors further east fields are read.
        late: columns further west that a value depends on: at the beginning of a row so many come out wrong.
    """

    def __init__(self, program: Program, thin: set[Node]):
        self.thin, self.rings = thin, {}
        self.places: dict[tuple[Node, int], Place] = {}
        nodes = [n for n in topological(program.outputs.values()) if n not in thin and n.op not in LEAVES_IN_MEMORY]
        asked: dict[Node, dict[int, tuple[int, int]]] = {n: {} for n in nodes}

        def ask(node, row, vector):
            low, high = asked[node].get(row, (vector, vector))
            asked[node][row] = min(low, vector), max(high, vector)

        def ask_for(ref: Ref, row, vector):
            for read in self.reads(ref):
                ask(read.node, row + read.row, vector)
                if read.column:
                    ask(read.node, row + read.row, vector + (1 if read.column > 0 else -1))

        for ref in program.outputs.values():
            ask_for(ref, 0, 0)
        for node in reversed(nodes):
            rows = asked[node]
            if node.op == "field":
                self._place_field(node, rows, node.value in program.written)
                continue
            top, cost = max(rows), self.weight(node, set())
            here = [row for row in rows if row == top or (row >= 0 and cost <= CHEAP)]
            self._keep(node, rows, min(here))
            for row in here:
                low, high = rows[row]
                self.places[node, row] = Place("compute", high, low)
                for ref in node.args:
                    ask_for(ref, row, high)
        self._finish()

    @property
    def fields_read(self) -> set[str]:
        """The names of the fields that are read."""
        return {node.value for node, _ in self.places if node.op == "field"}

    def reads(self, ref: Ref) -> list[Ref]:
        """What a ref reads that has a place: thin nodes are followed to their operands."""
        if ref.node.op in LEAVES_IN_MEMORY:
            return []
        return [r for arg in ref.args for r in self.reads(arg)] if ref.node in self.thin else [ref]

    def weight(self, node: Node, seen: set[Node]) -> int:
        """How many operations compute a value from fields, without those in `seen`, to which they are added."""
        if node in seen or node.op in LEAVES:
            return 0
        seen.add(node)
        return (node not in self.thin) + sum(self.weight(r.node, seen) for r in node.args)

    def _place_field(self, node, rows, written):
        """Rows that are not overwritten yet are loaded; the others come from a ring."""
        if any(row < 0 for row in rows) or (written and 0 in rows):
            low, high = rows.get(0, (0, 0))
            rows[0] = min(low, 0), max(high, 0)
        self._keep(node, rows, min((row for row in rows if row >= 0), default=0))
        for row, (low, high) in rows.items():
            if row >= 0:
                self.places[node, row] = Place("load", high, low)

    def _keep(self, node, rows, kept: int):
        """A ring for the rows south of `kept`; its oldest row is read no later than the newest is written over it."""
        missing = [row for row in rows if row < kept]
        if not missing:
            return
        self.rings[node] = kept, kept - min(missing)
        newest = max(rows[row][1] for row in (*missing, kept))
        rows[kept] = rows[kept][0], newest
        for row in missing:
            self.places[node, row] = Place("ring", newest, rows[row][0])

    def _finish(self):
        """The order of the places, and how far rows and vectors are read."""
        ordered: dict[tuple[Node, int], Place] = {}

        def below(node, row) -> list[tuple[Node, int, int]]:
            """The places that a computed value reads, and how many columns further east."""
            return [(r.node, row + r.row, r.column) for ref in node.args for r in self.reads(ref)]

        def visit(node, row):
            if (node, row) in ordered:
                return
            if self.places[node, row].source == "compute":
                for other, at, _ in below(node, row):
                    visit(other, at)
            ordered[node, row] = self.places[node, row]

        for node, row in self.places:
            visit(node, row)
        self.places = ordered

        @cache
        def warm(node, row):
            source = ordered[node, row].source
            if source == "ring":
                kept = self.rings[node][0]
                return kept - row + warm(node, kept)
            return max((warm(other, at) for other, at, _ in below(node, row)), default=0)

        @cache
        def late(node, row):
            if ordered[node, row].source == "ring":
                return late(node, self.rings[node][0])
            return max([0, *(late(other, at) - column for other, at, column in below(node, row))])

        self.warm = max(warm(*at) for at in ordered)
        self.late = max(late(*at) for at in ordered)
        self.east = max(place.newest for place in ordered.values())
        self.ahead = max((row for (node, row) in ordered if node.op == "field"), default=0)
