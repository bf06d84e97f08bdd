"""The order and the places in which the values of a Program are computed, in one loop along each row.

The loop goes along row j in vectors, from west to east. A value is computed for the northernmost row that is read.
Further south it comes from a ring of earlier rows, or is computed again if that is cheaper. Values read further east
are computed some vectors ahead; values read further west are carried in registers. Places are relative to the written
row j and vector i.
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
    newest: int  # the vector, relative to i, that is loaded or computed in the turn of i
    oldest: int  # the westernmost vector that is still needed


class Schedule:
    """The sources of the values of one Program.

    Args:
        thin: nodes without a place, computed at every read.

    Attributes:
        places: {(node, row): Place}, with operands first.
        rings: {node: (row of the ring, number of its rows)}.
        ahead: rows further north at which fields are read.
        warm: rows further south at which the loop begins, to fill the rings before the first row is written.
        east: vectors further east at which fields are read.
        late: columns further west that a value depends on; this many columns at the begin of a row are invalid.
    """

    def __init__(self, program: Program, thin: set[Node]):
        self.thin, self.rings = thin, {}
        self.places: dict[tuple[Node, int], Place] = {}
        nodes = [n for n in topological(program.outputs.values()) if n not in thin and n.op not in LEAVES_IN_MEMORY]
        rows_of: dict[Node, dict[int, tuple[int, int]]] = {n: {} for n in nodes}

        def ask(node, row, vector):
            low, high = rows_of[node].get(row, (vector, vector))
            rows_of[node][row] = min(low, vector), max(high, vector)

        def ask_for(ref: Ref, row, vector):
            for read in self.reads(ref):
                ask(read.node, row + read.row, vector)
                if read.column:
                    ask(read.node, row + read.row, vector + (1 if read.column > 0 else -1))

        for ref in program.outputs.values():
            ask_for(ref, 0, 0)
        for node in reversed(nodes):
            rows = rows_of[node]
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
        """The names of the fields that the Program reads."""
        return {node.value for node, _ in self.places if node.op == "field"}

    def reads(self, ref: Ref) -> list[Ref]:
        """The refs with places that a ref reads; thin nodes are replaced by their operands."""
        if ref.node.op in LEAVES_IN_MEMORY:
            return []
        return [r for arg in ref.args for r in self.reads(arg)] if ref.node in self.thin else [ref]

    def weight(self, node: Node, seen: set[Node]) -> int:
        """The number of operations for a value, without those in `seen`, which it extends."""
        if node in seen or node.op in LEAVES:
            return 0
        seen.add(node)
        return (node not in self.thin) + sum(self.weight(r.node, seen) for r in node.args)

    def _place_field(self, node, rows, written):
        """Load rows that are not overwritten yet; others come from a ring."""
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
        """The order of the places, and the reach of rows and vectors."""
        ordered: dict[tuple[Node, int], Place] = {}

        def below(node, row) -> list[tuple[Node, int, int]]:
            """The places that a computed value reads, and their distance to the east in columns."""
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
