"""A pass as several kernels, for passes whose values do not fit into the registers of a thread.

Early kernels write *temporaries*: values that later kernels read at several cells. A temporary is computed as far
beyond the block as later kernels read it, so that all values have the same bits as in a single kernel.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from ..native.graph import LEAVES, Node, Program, Ref, read_offsets, topological

#: Largest number of nodes that are tried as the next temporary: those that probably save the most values.
MAX_CANDIDATES = 24


class Margins(NamedTuple):
    """The numbers of rows and columns beyond each side of the block in which a kernel also computes its values."""

    south: int = 0
    north: int = 0
    west: int = 0
    east: int = 0

    def extended_by(self, cells: Iterable[tuple[int, int]]) -> Margins:
        """The margins of a value that a kernel with these margins reads at the offsets `cells` (rows, columns)."""
        rows, columns = zip(*cells, strict=True)
        return Margins(
            max(0, self.south - min(rows)),
            max(0, self.north + max(rows)),
            max(0, self.west - min(columns)),
            max(0, self.east + max(columns)),
        )

    def __or__(self, other) -> Margins:
        return Margins(*map(max, self, other))


class KernelOutputs(NamedTuple):
    """The values that one kernel writes."""

    outputs: dict[str, Ref]  # fields by name
    temporaries: tuple[Node, ...]
    margins: Margins

    @property
    def refs(self) -> list[Ref]:
        return [*map(Ref, self.temporaries), *self.outputs.values()]


class ValueCounter:
    """Counts the values that a thread computes for some refs, if it reads other nodes from memory.

    The offsets at which a thread computes a node are the bits of one integer, because a shift then gives those of an
    operand. `read_offsets` finds the same with sets, but takes minutes for a large derivative.

    Args:
        program: the program to which all refs and nodes belong.
    """

    def __init__(self, program: Program):
        cells = set().union(*read_offsets(program.outputs.values()).values())
        # The largest distances between two nodes.
        rows, columns = (2 * max(abs(cell[axis]) for cell in cells) for axis in (0, 1))
        self.row_bits, self.middle_row, self.middle_column = 2 * columns + 1, rows, columns
        self.operands = {
            node.number: [
                (arg.number, row * self.row_bits + (0 if arg.is_uniform_in_row else column), arg.is_uniform_in_row)
                for arg, row, column in node.args
                if arg.op not in LEAVES
            ]
            for node in topological(program.outputs.values())
        }

    def offset_bits(self, refs: Iterable[Ref], stored: set[Node]) -> dict[int, int]:
        """{number of a node that is not a leaf: bits of the offsets}; see `read_offsets`."""
        bits: dict[int, int] = {}
        for node, row, column in refs:
            if node.op not in LEAVES:
                bit = 1 << ((self.middle_row + row) * self.row_bits + self.middle_column + column)
                bits[node.number] = bits.get(node.number, 0) | bit
        stored_numbers = {node.number for node in stored} - set(bits)
        queue = [-number for number in bits]
        heapify(queue)
        while queue:  # largest number first: no node in the queue depends on it
            number = -heappop(queue)
            if number in stored_numbers:
                continue
            for operand, shift, is_uniform_in_row in self.operands[number]:
                if operand not in bits:
                    bits[operand] = 0
                    heappush(queue, -operand)
                moved = self.in_middle_column(bits[number]) if is_uniform_in_row else bits[number]
                bits[operand] |= moved << shift if shift >= 0 else moved >> -shift
        return bits

    def in_middle_column(self, bits: int) -> int:
        """The offsets of a node that is uniform in a row and is read at offsets `bits`: same rows, middle column."""
        row, result, row_mask = 0, 0, (1 << self.row_bits) - 1
        while bits:
            result |= bool(bits & row_mask) << (row * self.row_bits + self.middle_column)
            bits, row = bits >> self.row_bits, row + 1
        return result

    def count(self, refs: Iterable[Ref], stored: Collection[Node]) -> int:
        """The number of values that a thread computes for some refs, if it reads those of `stored` nodes."""
        numbers = {node.number for node in stored}
        return sum(bits.bit_count() for n, bits in self.offset_bits(refs, set(stored)).items() if n not in numbers)


def split(program: Program, max_values: int | None) -> list[KernelOutputs]:
    """The kernels of a pass, in order, each with at most `max_values` values per cell if possible; None: one kernel."""
    if max_values is None:
        return [KernelOutputs(program.outputs, (), Margins())]
    counter, temporaries = ValueCounter(program), list[Node]()
    while True:
        refs_of_kernels = [[Ref(node)] for node in temporaries] + [[ref] for ref in program.outputs.values()]
        too_large = next((refs for refs in refs_of_kernels if counter.count(refs, temporaries) > max_values), None)
        chosen = too_large and best_temporary(counter, too_large, temporaries)
        if not chosen:
            return pack_into_kernels(counter, program, temporaries, max_values)
        temporaries = sorted([*temporaries, chosen], key=lambda node: node.number)


def best_temporary(counter: ValueCounter, refs: list[Ref], temporaries: list[Node]) -> Node | None:
    """The node that, as a temporary, divides the values for `refs` most evenly; None if no node helps."""
    bits, total = counter.offset_bits(refs, set(temporaries)), counter.count(refs, temporaries)
    stored = {ref.node for ref in refs} | set(temporaries)
    nodes = [n for n in topological(refs) if n.number in bits and not n.is_uniform_in_row and n not in stored]
    tree_sizes: dict[Node, int] = {}
    for node in nodes:
        tree_sizes[node] = min(1 + sum(tree_sizes.get(arg.node, 0) for arg in node.args), total)
    nodes.sort(key=lambda node: -tree_sizes[node] * bits[node.number].bit_count())

    def largest(node: Node) -> int:
        return max(counter.count([Ref(node)], temporaries), counter.count(refs, [*temporaries, node]))

    sizes = {node: largest(node) for node in nodes[:MAX_CANDIDATES]}
    chosen = min(sizes, key=sizes.__getitem__, default=None)
    return chosen if chosen is not None and sizes[chosen] < total else None


def pack_into_kernels(
    counter: ValueCounter, program: Program, temporaries: list[Node], max_values: int
) -> list[KernelOutputs]:
    """Few kernels within the limit, made by merging adjacent ones; a temporary is written before other kernels read it.

    No kernel reads farther than the whole pass would, because halos are only wide enough for that.
    """
    limits = {node: Margins().extended_by(cells) for node, cells in read_offsets(program.outputs.values()).items()}
    margins_of: dict[Node, Margins] = dict.fromkeys(temporaries, Margins())
    kernels: list[KernelOutputs] = []
    # Adjacent outputs have the same base name, such as u and memory0.u, because these share values.
    outputs = sorted(program.outputs.items(), key=lambda item: item[0].rpartition(".")[2], reverse=True)
    for name, ref in [*outputs, *((None, Ref(node)) for node in reversed(temporaries))]:
        new = KernelOutputs(
            {name: ref} if name else {}, () if name else (ref.node,), margins_of.get(ref.node, Margins())
        )
        first = kernels[0] if kernels else new
        merged = KernelOutputs(
            new.outputs | first.outputs, new.temporaries + first.temporaries, new.margins | first.margins
        )
        reads = read_offsets(merged.refs, temporaries)
        can_merge = (
            bool(kernels)
            and (name or ref.node not in read_offsets(first.refs, temporaries))
            and counter.count(merged.refs, temporaries) <= max_values
            and all(merged.margins.extended_by(c) | limits[n] == limits[n] for n, c in reads.items() if n.op in LEAVES)
        )
        kernels[: bool(can_merge)] = [merged if can_merge else new]
        for node, cells in read_offsets(new.refs, temporaries).items():
            if node in margins_of and node not in new.temporaries:
                margins_of[node] |= kernels[0].margins.extended_by(cells)
    return kernels
