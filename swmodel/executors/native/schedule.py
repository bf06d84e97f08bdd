"""The order in which the values of a Program are computed, in one loop along each row.

The loop goes along row j from west to east, vector by vector. A value is computed for the northernmost row in which it
is read. In rows further south it comes from a ring buffer, or is computed again if that is cheaper. Values read further
east are computed some vectors ahead; values read further west are carried in registers. Rows and vectors are relative
to the written row j and vector i.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from .graph import LEAVES, STATIC_LEAVES, Node, Program, Ref, topological
from .rewrite import MAX_COLUMN_SHIFT

#: Largest number of operations of a value that is computed again; others are stored in a ring buffer.
MAX_RECOMPUTED_OPERATIONS = 3


class RowValue(NamedTuple):
    """A value in one row."""

    source: str  # "load" from a field, "ring_buffer", or "compute"
    newest: int  # the vector, relative to i, that is loaded or computed in the iteration of i
    oldest: int  # the westernmost vector that is still needed


def vectors_away(column: int) -> int:
    """How many vectors to the east a number that is `column` columns to the east may be; negative: to the west."""
    n_vectors = -(-abs(column) // MAX_COLUMN_SHIFT)  # the shortest vectors have MAX_COLUMN_SHIFT numbers
    return n_vectors if column > 0 else -n_vectors


class LoopSchedule:
    """The sources of the values of one Program, and the rows and vectors that its loop reads.

    Args:
        recomputed: nodes without a row value, computed at every read.

    Attributes:
        row_values: {(node, row): RowValue}, with operands first.
        ring_buffers: {node: (row that is stored, number of rows in the ring buffer)}.
        north_reach: rows further north at which fields are read.
        warmup_rows: rows further south at which the loop begins, to fill ring buffers before the first row is written.
        east_vectors: vectors further east at which fields are read.
        west_reach: columns further west that a value depends on; this many columns at the start of a row are invalid.
    """

    def __init__(self, program: Program, recomputed: set[Node]):
        self.recomputed = recomputed
        self.ring_buffers: dict[Node, tuple[int, int]] = {}
        self.row_values: dict[tuple[Node, int], RowValue] = {}
        nodes = [n for n in topological(program.outputs.values()) if n not in recomputed and n.op not in STATIC_LEAVES]
        rows_of: dict[Node, dict[int, tuple[int, int]]] = {n: {} for n in nodes}

        def require(node, row, vector):
            low, high = rows_of[node].get(row, (vector, vector))
            rows_of[node][row] = min(low, vector), max(high, vector)

        def require_operands(ref: Ref, row, vector):
            for read in self.operands(ref):
                require(read.node, row + read.row, vector)
                if read.column:
                    require(read.node, row + read.row, vector + vectors_away(read.column))

        for ref in program.outputs.values():
            require_operands(ref, 0, 0)
        for node in reversed(nodes):
            rows = rows_of[node]
            if node.op == "field":
                self._schedule_field(node, rows, node.value in program.output_planes)
                continue
            top, is_cheap = max(rows), self.is_cheap(node)
            computed_rows = [row for row in rows if row == top or (row >= 0 and is_cheap)]
            self._add_ring_buffer(node, rows, min(computed_rows))
            for row in computed_rows:
                low, high = rows[row]
                self.row_values[node, row] = RowValue("compute", high, low)
                for ref in node.args:
                    require_operands(ref, row, high)
        self._order_values()

    @property
    def fields_read(self) -> set[str]:
        return {node.value for node, _ in self.row_values if node.op == "field"}

    def operands(self, ref: Ref) -> list[Ref]:
        """The refs with row values that a ref reads; recomputed nodes are replaced by their operands."""
        if ref.node.op in STATIC_LEAVES:
            return []
        return [r for arg in ref.args for r in self.operands(arg)] if ref.node in self.recomputed else [ref]

    def is_cheap(self, node: Node) -> bool:
        """Whether a value takes at most MAX_RECOMPUTED_OPERATIONS operations, without those of recomputed nodes."""
        counted: set[Node] = set()
        pending, n_operations = [node], 0
        while pending and n_operations <= MAX_RECOMPUTED_OPERATIONS:
            operand = pending.pop()
            if operand not in counted and operand.op not in LEAVES:
                counted.add(operand)
                n_operations += operand not in self.recomputed
                pending += [ref.node for ref in operand.args]
        return n_operations <= MAX_RECOMPUTED_OPERATIONS

    def _schedule_field(self, node, rows, is_written):
        """Load the rows that are not overwritten yet; the others come from a ring buffer."""
        if any(row < 0 for row in rows) or (is_written and 0 in rows):
            low, high = rows.get(0, (0, 0))
            rows[0] = min(low, 0), max(high, 0)
        self._add_ring_buffer(node, rows, min((row for row in rows if row >= 0), default=0))
        for row, (low, high) in rows.items():
            if row >= 0:
                self.row_values[node, row] = RowValue("load", high, low)

    def _add_ring_buffer(self, node, rows, stored_row: int):
        """Add a ring buffer for the rows south of `stored_row`; its oldest row is read before it is overwritten."""
        missing = [row for row in rows if row < stored_row]
        if not missing:
            return
        self.ring_buffers[node] = stored_row, stored_row - min(missing)
        newest = max(rows[row][1] for row in (*missing, stored_row))
        rows[stored_row] = rows[stored_row][0], newest
        for row in missing:
            self.row_values[node, row] = RowValue("ring_buffer", newest, rows[row][0])

    def _order_values(self):
        """Order the row values, and find the reach of rows and vectors."""
        ordered: dict[tuple[Node, int], RowValue] = {}

        def operands_of(node, row) -> list[tuple[Node, int, int]]:
            """The row values that a computed value reads, and how many columns to the east."""
            return [(r.node, row + r.row, r.column) for ref in node.args for r in self.operands(ref)]

        def visit(node, row):
            if (node, row) in ordered:
                return
            if self.row_values[node, row].source == "compute":
                for other, other_row, _ in operands_of(node, row):
                    visit(other, other_row)
            ordered[node, row] = self.row_values[node, row]

        for node, row in self.row_values:
            visit(node, row)
        self.row_values = ordered

        @cache
        def warmup_rows(node, row):
            source = ordered[node, row].source
            if source == "ring_buffer":
                stored_row = self.ring_buffers[node][0]
                return stored_row - row + warmup_rows(node, stored_row)
            return max((warmup_rows(other, other_row) for other, other_row, _ in operands_of(node, row)), default=0)

        @cache
        def west_reach(node, row):
            if ordered[node, row].source == "ring_buffer":
                return west_reach(node, self.ring_buffers[node][0])
            return max(
                [0, *(west_reach(other, other_row) - column for other, other_row, column in operands_of(node, row))]
            )

        self.warmup_rows = max(warmup_rows(*key) for key in ordered)
        self.west_reach = max(west_reach(*key) for key in ordered)
        self.east_vectors = max(value.newest for value in ordered.values())
        self.north_reach = max((row for (node, row) in ordered if node.op == "field"), default=0)
