"""A pass as several kernels, where the values of one would not fit into the registers of a thread.

The early kernels write *temporaries*: values that later ones read at several cells. They compute them as far around the
block as these read them, so all values have the bits that they have in a single kernel.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from ..native.graph import LEAVES, Node, Program, Ref, topological

#: Nodes that are tried as the next temporary: those that seem to save the most.
TRIED = 24


class Region(NamedTuple):
    """Rows and columns around the block for which a kernel computes its values, too."""

    south: int = 0
    north: int = 0
    west: int = 0
    east: int = 0

    def read_at(self, cells: Iterable[tuple[int, int]]) -> Region:
        """The region of a value that is read so many rows and columns away."""
        rows, columns = zip(*cells, strict=True)
        return Region(
            max(0, self.south - min(rows)),
            max(0, self.north + max(rows)),
            max(0, self.west - min(columns)),
            max(0, self.east + max(columns)),
        )

    def __or__(self, other) -> Region:
        return Region(*map(max, self, other))


class Part(NamedTuple):
    """What one kernel writes."""

    outputs: dict[str, Ref]  # fields by name
    temporaries: tuple[Node, ...]
    region: Region

    @property
    def refs(self) -> list[Ref]:
        return [*map(Ref, self.temporaries), *self.outputs.values()]


def split(program: Program, most: int | None) -> list[Part]:
    """The kernels of a pass, in their order; each computes at most so many values for a cell, if that can be reached.

    None: one kernel.
    """
    if most is None:
        return [Part(program.outputs, (), Region())]
    temporaries: list[Node] = []
    while True:
        alone = [[Ref(node)] for node in temporaries] + [[ref] for ref in program.outputs.values()]
        large = next((refs for refs in alone if size(refs, temporaries) > most), None)
        chosen = large and best(large, temporaries)
        if not chosen:
            return packed(program, temporaries, most)
        temporaries = sorted([*temporaries, chosen], key=lambda node: node.number)


def computed(refs: Collection[Ref], stored: Iterable[Node]) -> dict[Node, set[tuple[int, int]]]:
    """{node: rows and columns away} of the values that a thread reads or computes for some refs.

    It reads `stored` nodes, but computes those that are the refs themselves.
    """
    stored, found = set(stored), {}
    roots = dict.fromkeys(ref.node for ref in refs)
    nodes = {node.number: node for node in roots}
    waiting = [-number for number in nodes]
    heapify(waiting)
    for node, row, column in refs:
        found.setdefault(node, set()).add((row, column))
    while waiting:  # the latest first: nothing else reads it
        node = nodes[-heappop(waiting)]
        if node in stored and node not in roots:
            continue
        for arg, row, column in node.args:
            if arg not in found:
                found[arg], nodes[arg.number] = set(), arg
                heappush(waiting, -arg.number)
            columns = 0 if arg.line else 1
            found[arg].update([(r + row, columns * (c + column)) for r, c in found[node]])
    return found


def size(refs: Collection[Ref], stored: Iterable[Node]) -> int:
    """How many values a thread computes for some refs."""
    found = computed(refs, stored)
    return sum(len(cells) for node, cells in found.items() if node.op not in LEAVES and node not in stored)


def best(refs: list[Ref], temporaries: list[Node]) -> Node | None:
    """The node that divides the values for some refs the most evenly, as a temporary; None: none helps."""
    found, whole = computed(refs, temporaries), size(refs, temporaries)
    known = {ref.node for ref in refs} | set(temporaries)
    nodes = [n for n in topological(refs) if n in found and n.op not in LEAVES and not n.line and n not in known]
    below: dict[Node, int] = {}
    for node in nodes:
        below[node] = min(1 + sum(below.get(arg.node, 0) for arg in node.args), whole)
    nodes.sort(key=lambda node: -below[node] * len(found[node]))

    def largest(node: Node) -> int:
        return max(size([Ref(node)], temporaries), size(refs, [*temporaries, node]))

    sizes = {node: largest(node) for node in nodes[:TRIED]}
    chosen = min(sizes, key=sizes.__getitem__, default=None)
    return chosen if chosen is not None and sizes[chosen] < whole else None


def packed(program: Program, temporaries: list[Node], most: int) -> list[Part]:
    """As few kernels as the limit allows; each value is written before another kernel reads it.

    No kernel reads farther than the pass as a whole does, as halos are only so wide.
    """
    limits = {node: Region().read_at(cells) for node, cells in computed(program.outputs.values(), ()).items()}
    needed: dict[Node, Region] = dict.fromkeys(temporaries, Region())
    parts: list[Part] = []
    # Outputs beside those of the memory that are made from the same values.
    outputs = sorted(program.outputs.items(), key=lambda item: item[0].rpartition(".")[2], reverse=True)
    for name, ref in [*outputs, *((None, Ref(node)) for node in reversed(temporaries))]:
        own = Part({name: ref} if name else {}, () if name else (ref.node,), needed.get(ref.node, Region()))
        first = parts[0] if parts else own
        both = Part(own.outputs | first.outputs, own.temporaries + first.temporaries, own.region | first.region)
        reads = computed(both.refs, temporaries)
        joins = (
            bool(parts)
            and (name or ref.node not in computed(first.refs, temporaries))
            and size(both.refs, temporaries) <= most
            and all(both.region.read_at(c) | limits[n] == limits[n] for n, c in reads.items() if n.op in LEAVES)
        )
        parts[: bool(joins)] = [both if joins else own]
        for node, cells in computed(own.refs, temporaries).items():
            if node in needed and node not in own.temporaries:
                needed[node] |= parts[0].region.read_at(cells)
    return parts
