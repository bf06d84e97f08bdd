"""The passes of a generated step as kernels: each thread computes adjacent cells of a column.

A thread loads the values that its cells need, computes each value once, and writes the results. Neighbouring threads
share loads only through the cache: there is no shared memory, barrier or atomic operation. Outputs go to planes that
the pass does not read, so the order of threads does not matter. Blocks of threads with land within reach have their own
statements.
"""

from __future__ import annotations

from typing import NamedTuple

from ..native.emit import indented_text
from ..native.expressions import CPP_TYPES, MASK_BITS, coefficient_product, expression, variable_name
from ..native.generate import StepCode, round_up
from ..native.graph import LEAVES, Coefficient, Node, Program, Ref, nodes_of
from .split import KernelOutputs, Margins, split

#: Columns and rows of threads in a block; as in kernel_arguments.h.
BLOCK_THREADS = 32, 4
#: Adjacent cells of a column that a thread computes.
CELLS_PER_THREAD = 2
#: Largest number of cells of a plane, which kernels index with 32 bits, and CUDA's largest number of blocks in y.
MAX_PLANE_CELLS, MAX_GRID_BLOCKS = 2**31 - 1, 2**16 - 1
#: Halos and alignment add at most this many rows and columns to a plane.
MAX_PADDING = 256
#: The constants precede the temporaries in the workspace; their size is a multiple of this many bytes.
CONSTANT_ALIGNMENT_BYTES = 256


def block_unsupported_reason(rows: int, columns: int) -> str:
    """Why kernels cannot compute a block of this many cells; an empty string if they can."""
    has_few_cells = (rows + MAX_PADDING) * (columns + MAX_PADDING) <= MAX_PLANE_CELLS
    has_few_rows = rows + MAX_PADDING <= MAX_GRID_BLOCKS * BLOCK_THREADS[1]
    return "" if has_few_cells and has_few_rows else f"a block of {rows} x {columns} cells is too large for a GPU"


FILE_TEMPLATE = """#include "device_functions.h"

namespace swmodel {{
using T = {type};
{passes}
}}  // namespace swmodel
"""
PASS_TEMPLATE = """
struct Constants{n} {{
  T coefficients[{coefficients}], slip;
  Int64 read_offsets[{fields}], write_offsets[{outputs}];
  int ny, nx;
}};
CONSTANT(Constants{n}, constants{n})
KERNEL(fill_constants{n}) {{
  auto& constants = *static_cast<Constants{n}*>(args.constants);
  const T* const values = static_cast<const T*>(args.scalars);
  const int* const planes = args.planes;
{products}
{offsets}
  constants.slip = *static_cast<const T*>(args.slip);
  constants.ny = args.extent[0];
  constants.nx = args.extent[1];
}}
KERNEL(fill_halo{n}) {{
  constexpr int FIELDS[] = {{{halo_fields}}};
  fill_halo<T>(args, blockIdx.y, FIELDS[blockIdx.y]);
}}
KERNEL(pack_edges{n}) {{
  constexpr int FIELDS[] = {{{sent_fields}}};
  pack_edges<T>(args, blockIdx.y, FIELDS[blockIdx.y]);
}}
{kernels}"""
KERNEL_TEMPLATE = """KERNEL(pass{n}_{number}) {{
  const auto& constants = constants{n};
  const int i = blockIdx.x * {x} + threadIdx.x - {margins.west};
  const int j = {rows} * (blockIdx.y * {y} + threadIdx.y) - {margins.south};
  const int ny = constants.ny + {margins.north}, stride = args.stride, offset = j * stride + i;
  if (i >= constants.nx + {margins.east} || j >= ny) return;
  T* const memory = static_cast<T*>(args.memory);
{pointers}
{body}
}}
"""
WATER_AND_LAND_TEMPLATE = """  if (!args.near_land[blockIdx.y * gridDim.x + blockIdx.x]) {{
{water}
  }} else {{
{land}
  }}"""


class CudaKernels(NamedTuple):
    """The kernels of a step."""

    source: str  # CUDA C++ that includes device_functions.h
    cells_per_thread: int  # adjacent cells of a column that a thread computes
    constant_bytes: int  # room for the constants of any pass
    n_temporaries: int  # largest number of planes of temporaries that a pass needs
    margins: tuple[tuple[Margins, ...], ...]  # for each pass, those of its kernels


def write_kernels(
    code: StepCode, dtype: str, cells_per_thread: int = CELLS_PER_THREAD, max_values: int | None = None
) -> CudaKernels:
    """The kernels of all passes of a step, each with at most `max_values` values per cell if possible; see `split`."""
    passes = [PassKernels(code, number, cells_per_thread, max_values) for number in range(len(code.programs))]
    text = FILE_TEMPLATE.format(type=CPP_TYPES[dtype], passes="".join(each.text() for each in passes))
    # Coefficients, slip, offsets, ny and nx, each at most 8 bytes, and padding.
    constant_bytes = 8 * max(len(p.coefficients) + len(p.fields_read) + len(p.program.outputs) + 8 for p in passes)
    return CudaKernels(
        text,
        cells_per_thread,
        round_up(constant_bytes, CONSTANT_ALIGNMENT_BYTES),
        max(len(p.temporaries) for p in passes),
        tuple(tuple(kernel.margins for kernel in p.kernels) for p in passes),
    )


class PassKernels:
    """The kernels of one pass: they fill constants and halos, compute cells, and pack the edges for neighbours."""

    def __init__(self, code: StepCode, number: int, cells_per_thread: int, max_values: int | None):
        self.code, self.number, self.cells_per_thread = code, number, cells_per_thread
        self.program: Program = code.programs[number]
        self.kernels = split(self.program, max_values)
        #: The temporaries, in the order of their planes.
        self.temporaries = [node for kernel in self.kernels for node in kernel.temporaries]
        self.coefficients: list[Coefficient] = []
        self.step_scalars = list(code.scalars)
        read = {node.value for node in nodes_of([self.program]) if node.op == "field"}
        #: The fields that cells read, in the order of `StepCode.fields`.
        self.fields_read = [name for name in code.fields if name in read]

    def text(self) -> str:
        code, program = self.code, self.program
        kernel_texts = "".join(self.kernel_text(number, kernel) for number, kernel in enumerate(self.kernels))
        products = [
            f"constants.coefficients[{n}] = {coefficient_product(k, self.step_scalars)};"
            for n, k in enumerate(self.coefficients)
        ]
        assert self.step_scalars == list(code.scalars)
        read, written = ([code.fields.index(name) for name in names] for names in (self.fields_read, program.outputs))
        origin = "* args.plane_size + args.origin;"
        offsets = [f"constants.read_offsets[{n}] = planes[{f}] {origin}" for n, f in enumerate(read)]
        offsets += [
            f"constants.write_offsets[{n}] = planes[args.n_fields + {f}] {origin}" for n, f in enumerate(written)
        ]
        return PASS_TEMPLATE.format(
            n=self.number,
            coefficients=len(self.coefficients) + 1,
            fields=len(read) + 1,
            outputs=len(written) + 1,
            halo_fields=field_indices(code, program.halo_fields),
            sent_fields=field_indices(code, program.sent_fields),
            products=indented_text(products, 2),
            offsets=indented_text(offsets, 2),
            kernels=kernel_texts,
        )

    def kernel_text(self, number: int, kernel: KernelOutputs) -> str:
        outputs, planes = list(self.program.outputs), {node: n for n, node in enumerate(self.temporaries)}
        read = {f"f{n}": f"memory + constants.read_offsets[{n}]" for n in range(len(self.fields_read))}
        read |= {f"temporary{n}": f"temporary_plane<T>(args, {n})" for n in planes.values()}
        written = {
            f"out{n}": f"memory + constants.write_offsets[{n}]"
            for n, name in enumerate(outputs)
            if name in kernel.outputs
        }
        written |= {
            f"temporary_out{planes[node]}": f"temporary_plane<T>(args, {planes[node]})" for node in kernel.temporaries
        }
        refs = [kernel.outputs[name] for name in outputs if name in kernel.outputs]
        refs += map(Ref, kernel.temporaries)
        values = dict(zip(written, refs, strict=True))
        temporary_refs = {node: Ref(node) for node in planes if node not in kernel.temporaries}
        body = indented_text(CellStatements(self, values, temporary_refs).lines, 2)
        # Kernels that write temporaries also compute cells beyond the block, for which `near_land` has no flags.
        if not kernel.temporaries:
            water = self.code.open_water_refs
            values = {name: water[ref.node].moved(ref.row, ref.column) for name, ref in values.items()}
            temporary_refs = {water[node].node: Ref(node, -water[node].row, -water[node].column) for node in planes}
            temporary_refs = {node: ref for node, ref in temporary_refs.items() if node.op not in LEAVES}
            cells = CellStatements(self, values, temporary_refs)
            body = WATER_AND_LAND_TEMPLATE.format(water=indented_text(cells.lines, 2), land=body)
        read = {name: address for name, address in read.items() if f" {name}[" in body}
        pointers = [f"const T* __restrict__ const {name} = {address} + offset;" for name, address in read.items()]
        pointers += [f"T* __restrict__ const {name} = {address} + offset;" for name, address in written.items()]
        return KERNEL_TEMPLATE.format(
            n=self.number,
            number=number,
            x=BLOCK_THREADS[0],
            y=BLOCK_THREADS[1],
            rows=self.cells_per_thread,
            margins=kernel.margins,
            pointers=indented_text(pointers, 2),
            body=body,
        )

    def constant(self, k: Coefficient) -> str:
        """A Coefficient as a number, or as an element of the constant memory."""
        if not k.powers:
            return f"T({k.number!r})"
        if k not in self.coefficients:
            self.coefficients.append(k)
        return f"constants.coefficients[{self.coefficients.index(k)}]"


class CellStatements:
    """The statements for the cells of a thread, which compute each value once.

    Args:
        written: {name of a pointer: the value that is written through it}.
        temporary_refs: {node: the Ref of the temporary from which it is read}.
    """

    def __init__(self, pass_kernels: PassKernels, written: dict[str, Ref], temporary_refs: dict[Node, Ref]):
        self.pass_kernels, self.temporary_refs = pass_kernels, temporary_refs
        self.variables: dict[str, str] = {}
        self.lines: list[str] = []
        rows = range(pass_kernels.cells_per_thread)
        values = [[self.read(ref.moved(row, 0)) for ref in written.values()] for row in rows]
        for row in rows:
            stores = " ".join(
                f"{pointer}[{cell_offset(row, 0)}] = {x};" for pointer, x in zip(written, values[row], strict=True)
            )
            self.lines.append(f"if (j + {row} < ny) {{ {stores} }}" if row else stores)

    def variable(self, name: str, text: str) -> str:
        if name not in self.variables:
            self.variables[name] = text
            self.lines.append(f"const auto {name} = {text};")
        return name

    def local_variable(self, text: str) -> str:
        """A variable with a new name for the value of an expression."""
        return self.variable(f"t{len(self.variables)}", text)

    def read(self, ref: Ref) -> str:
        """The variable that holds a value, or a number; adds the statements that compute the variable."""
        node, row, column = ref
        code = self.pass_kernels.code
        if node.op == "number":
            return f"T({node.value!r})"
        name = variable_name("x", node.number, row, column)
        if name in self.variables:
            return name
        if node in self.temporary_refs:
            temporary, *away = self.temporary_refs[node].moved(row, column)
            text = f"temporary{self.pass_kernels.temporaries.index(temporary)}[{cell_offset(*away)}]"
        elif node.op == "field":
            text = f"f{self.pass_kernels.fields_read.index(node.value)}[{cell_offset(row, column)}]"
        elif node.op == "static":
            text = f"static_field<T>(args, {code.statics.index(node.value)}, j + {row}, i + {column})"
        elif node.op == "row_static":
            text = f"row_static<T>(args, {code.row_statics.index(node.value)}, j + {row})"
        elif node.op == "mask":
            text = self.masked(ref, "T(1)")
        else:
            text = self.expression(ref)
        return self.variable(name, text)

    def expression(self, ref: Ref) -> str:

        def read(arg: Ref) -> str:
            return self.read(arg.moved(ref.row, ref.column))

        def masked(arg: Ref, x: str) -> str:
            return self.masked(arg.moved(ref.row, ref.column), x)

        return expression(ref.node, read, masked, self.pass_kernels.constant, self.local_variable)

    def masked(self, ref: Ref, x: str) -> str:
        """x where a mask is 1, else 0; for `slip`, `corner_weight` and `dry_corner` the value of the mask."""
        node, row, column = ref
        bits = self.variable(variable_name("bits", "", row, column), f"mask_bits_of(args, j + {row}, i + {column})")
        if node.value in MASK_BITS:
            return f"masked<{MASK_BITS[node.value]}>({x}, {bits})"
        return f"{node.value}_of({bits}, constants.slip)"


def cell_offset(row: int, column: int) -> str:
    """The index of a cell relative to the first cell of a thread."""
    return f"{row} * stride + {column}" if row else f"{column}"


def field_indices(code: StepCode, names) -> str:
    """The numbers of fields as the elements of a C++ array, which needs at least one element."""
    return ", ".join(str(code.fields.index(name)) for name in names) or "0"
