"""The passes of a generated step as kernels: each thread computes some cells, one above the other.

A thread loads all that its cells need, which the cache serves to its neighbours, too, computes each value once, and
writes. There is no shared memory, no barrier and no atomic operation. Outputs go to planes that the pass does not read,
so the order of threads does not matter. A block of threads with land in reach has a body of its own.
"""

from __future__ import annotations

from typing import NamedTuple

from ..native.expressions import BITS, TYPES, expression, product
from ..native.generate import Generated
from ..native.graph import LEAVES, Coefficient, Node, Program, Ref, nodes_of
from .split import Part, Region, split

#: Columns and rows of threads in a block.
THREADS = 32, 4
#: Cells that a thread computes, one above the other.
ROWS = 2
#: What is in front of temporaries has a multiple of so many bytes.
ALIGNED = 256

FILE = """#include "cell.h"

namespace swmodel {{
using T = {type};
{passes}
}}  // namespace swmodel
"""
PASS = """
struct Numbers{n} {{
  T k[{constants}], slip;
  Wide read[{fields}], written[{outputs}];
  int ny, nx;
}};
CONSTANT(Numbers{n}, numbers{n})
KERNEL(prepare{n}) {{
  auto& to = *static_cast<Numbers{n}*>(job.numbers);
  const T* const values = static_cast<const T*>(job.values);
  const int* const planes = job.planes;
{products}
{offsets}
  to.slip = *static_cast<const T*>(job.slip);
  to.ny = job.extent[0];
  to.nx = job.extent[1];
}}
KERNEL(surround{n}) {{
  constexpr int FIELDS[] = {{{reads}}};
  surround<T>(job, blockIdx.y, FIELDS[blockIdx.y]);
}}
KERNEL(give{n}) {{
  constexpr int FIELDS[] = {{{gives}}};
  give<T>(job, blockIdx.y, FIELDS[blockIdx.y]);
}}
{parts}"""
PART = """KERNEL(pass{n}_{number}) {{
  const auto& k = numbers{n};
  const int i = blockIdx.x * {x} + threadIdx.x - {region.west};
  const int j = {rows} * (blockIdx.y * {y} + threadIdx.y) - {region.south};
  const int ny = k.ny + {region.north}, stride = job.stride, at = j * stride + i;
  if (i >= k.nx + {region.east} || j >= ny) return;
  T* const memory = static_cast<T*>(job.memory);
{pointers}
{body}
}}
"""
WATER_AND_LAND = """  if (!job.flags[blockIdx.y * gridDim.x + blockIdx.x]) {{
{water}
  }} else {{
{land}
  }}"""


class Kernels(NamedTuple):
    """The kernels of a step."""

    text: str  # CUDA C++, for cell.h
    rows: int  # cells that a thread computes
    numbers: int  # bytes that are enough for what `prepare` makes for any pass
    temporaries: int  # most planes of temporaries that a pass needs
    regions: tuple[tuple[Region, ...], ...]  # of the kernels of each pass


def kernels_of(made: Generated, dtype: str, rows: int = ROWS, most: int | None = None) -> Kernels:
    """The kernels of all passes of a step, each with at most so many values of a cell; see `split.split`."""
    passes = [Pass(made, number, rows, most) for number in range(len(made.programs))]
    text = FILE.format(type=TYPES[dtype], passes="".join(each.text() for each in passes))
    numbers = 8 * max(len(p.constants) + len(p.read) + len(p.program.outputs) + 8 for p in passes)
    regions = tuple(tuple(part.region for part in p.parts) for p in passes)
    return Kernels(text, rows, -(-numbers // ALIGNED) * ALIGNED, max(len(p.temporaries) for p in passes), regions)


class Pass:
    """The kernels of one pass: what it needs in constant memory, its halos, its cells, and edges for the neighbours."""

    def __init__(self, made: Generated, number: int, rows: int, most: int | None):
        self.made, self.number, self.rows = made, number, rows
        self.program: Program = made.programs[number]
        self.parts = split(self.program, most)
        #: The temporaries, in the order of their planes.
        self.temporaries = [node for part in self.parts for node in part.temporaries]
        self.constants: list[Coefficient] = []
        self.values = list(made.values)
        read = {node.value for node in nodes_of([self.program]) if node.op == "field"}
        #: The fields that cells read, in the order of the planes.
        self.read = [name for name in made.fields if name in read]

    def text(self) -> str:
        """The CUDA C++ of the kernels."""
        made, program = self.made, self.program
        parts = "".join(self.part(number, part) for number, part in enumerate(self.parts))
        products = [f"to.k[{n}] = {product(k, self.values)};" for n, k in enumerate(self.constants)]
        assert self.values == list(made.values)
        read, written = ([made.fields.index(name) for name in some] for some in (self.read, program.outputs))
        origin = "* job.plane + job.origin;"
        offsets = [f"to.read[{n}] = planes[{f}] {origin}" for n, f in enumerate(read)]
        offsets += [f"to.written[{n}] = planes[job.fields + {f}] {origin}" for n, f in enumerate(written)]
        return PASS.format(
            n=self.number,
            constants=len(self.constants) + 1,
            fields=len(read) + 1,
            outputs=len(written) + 1,
            reads=numbers(made, program.reads),
            gives=numbers(made, program.gives),
            products=block(products, 2),
            offsets=block(offsets, 2),
            parts=parts,
        )

    def part(self, number: int, part: Part) -> str:
        """The CUDA C++ of a kernel that computes values."""
        outputs, planes = list(self.program.outputs), {node: n for n, node in enumerate(self.temporaries)}
        read = {f"f{n}": f"memory + k.read[{n}]" for n in range(len(self.read))}
        read |= {f"kept{n}": f"temporary<T>(job, {n})" for n in planes.values()}
        written = {f"out{n}": f"memory + k.written[{n}]" for n, name in enumerate(outputs) if name in part.outputs}
        written |= {f"keep{planes[node]}": f"temporary<T>(job, {planes[node]})" for node in part.temporaries}
        refs = [part.outputs[name] for name in outputs if name in part.outputs]
        refs += map(Ref, part.temporaries)
        values = dict(zip(written, refs, strict=True))
        body = block(Cells(self, values, {node: Ref(node) for node in planes if node not in part.temporaries}).lines, 2)
        if not part.temporaries:  # they are computed beyond the block, too, where no flags are
            water = self.made.water
            values = {name: water[ref.node].moved(ref.row, ref.column) for name, ref in values.items()}
            kept = {water[node].node: Ref(node, -water[node].row, -water[node].column) for node in planes}
            cells = Cells(self, values, {node: ref for node, ref in kept.items() if node.op not in LEAVES})
            body = WATER_AND_LAND.format(water=block(cells.lines, 2), land=body)
        read = {name: where for name, where in read.items() if f" {name}[" in body}
        pointers = [f"const T* __restrict__ const {name} = {where} + at;" for name, where in read.items()]
        pointers += [f"T* __restrict__ const {name} = {where} + at;" for name, where in written.items()]
        return PART.format(
            n=self.number,
            number=number,
            x=THREADS[0],
            y=THREADS[1],
            rows=self.rows,
            region=part.region,
            pointers=block(pointers, 2),
            body=body,
        )

    def constant(self, k: Coefficient) -> str:
        """A Coefficient: a number, or its place in the constant memory."""
        if not k.powers:
            return f"T({k.number!r})"
        if k not in self.constants:
            self.constants.append(k)
        return f"k.k[{self.constants.index(k)}]"


class Cells:
    """The statements for the cells of a thread: each value that they need, once.

    Args:
        written: values by the names of the pointers through which they are written.
        kept: where values are that are read from temporaries: {node: temporary}.
    """

    def __init__(self, owner: Pass, written: dict[str, Ref], kept: dict[Node, Ref]):
        self.owner, self.kept = owner, kept
        self.known: dict[str, str] = {}
        self.lines: list[str] = []
        rows = range(owner.rows)
        values = [[self.read(ref.moved(row, 0)) for ref in written.values()] for row in rows]
        for row in rows:
            stores = " ".join(f"{to}[{place(row, 0)}] = {x};" for to, x in zip(written, values[row], strict=True))
            self.lines.append(f"if (j + {row} < ny) {{ {stores} }}" if row else stores)

    def variable(self, name: str, text: str) -> str:
        """A variable with the value of an expression."""
        if name not in self.known:
            self.known[name] = text
            self.lines.append(f"const auto {name} = {text};")
        return name

    def local(self, text: str) -> str:
        """A variable for an expression that has no name of its own."""
        return self.variable(f"t{len(self.known)}", text)

    def read(self, ref: Ref) -> str:
        """The variable that holds a value; computes what it depends on first."""
        node, row, column = ref
        made = self.owner.made
        if node.op == "number":
            return f"T({node.value!r})"
        name = f"x{node.number}_{row}_{column}".replace("-", "m")
        if name in self.known:
            return name
        if node in self.kept:
            temporary, *away = self.kept[node].moved(row, column)
            text = f"kept{self.owner.temporaries.index(temporary)}[{place(*away)}]"
        elif node.op == "field":
            text = f"f{self.owner.read.index(node.value)}[{place(row, column)}]"
        elif node.op == "static":
            text = f"static_field<T>(job, {made.statics.index(node.value)}, j + {row}, i + {column})"
        elif node.op == "line":
            text = f"line<T>(job, {made.lines.index(node.value)}, j + {row})"
        elif node.op == "mask":
            text = self.masked(ref, "T(1)")
        else:
            text = self.expression(ref)
        return self.variable(name, text)

    def expression(self, ref: Ref) -> str:
        """The operation of a node."""

        def read(arg: Ref) -> str:
            return self.read(arg.moved(ref.row, ref.column))

        def masked(arg: Ref, x: str) -> str:
            return self.masked(arg.moved(ref.row, ref.column), x)

        return expression(ref.node, read, masked, self.owner.constant, self.local)

    def masked(self, ref: Ref, x: str) -> str:
        """x where a mask is 1, else 0; or the number of a mask at a corner."""
        node, row, column = ref
        cell = self.variable(f"cell_{row}_{column}".replace("-", "m"), f"cell_of(job, j + {row}, i + {column})")
        if node.value in BITS:
            return f"only<{BITS[node.value]}>({x}, {cell})"
        return f"{node.value}_of({cell}, k.slip)"


def place(row: int, column: int) -> str:
    """The index of a cell relative to the first one of a thread."""
    return f"{row} * stride + {column}" if row else f"{column}"


def numbers(made: Generated, names) -> str:
    """The numbers of fields, for an array of C++ with at least one element."""
    return ", ".join(str(made.fields.index(name)) for name in names) or "0"


def block(lines: list[str], by: int) -> str:
    return "\n".join(" " * by + line for line in lines)
