"""A Program and its LoopSchedule as C++: one loop along a row, in vectors, which sweep.h calls row by row."""

from __future__ import annotations

from dataclasses import dataclass, field

from .body import LoopBody
from .expressions import coefficient_product, variable_name
from .graph import Coefficient, Node, Program, Ref, read_offsets
from .rewrite import recomputed_nodes
from .schedule import LoopSchedule


@dataclass
class Numbering:
    """The numbering of fields, static fields and numbers, which all programs of a step share."""

    fields: list[str]
    statics: list[str] = field(default_factory=list)
    row_statics: list[str] = field(default_factory=list)
    scalars: list[str] = field(default_factory=list)


class Emitter:
    """Writes one Program as a struct of C++ for Sweep.

    Args:
        number: number of the pass.
        open_water_refs: from `rewrite.open_water_refs`.
        is_split_by_smoothness: whether other passes write the groups that this one skips.
        has_water_loop: whether groups without land have a loop of their own; else they are computed as those near land.

    Attributes:
        carriers, idle_nodes: from `rewrite.recomputed_nodes`: nodes that carry values on water, and nodes idle there.
        variables: the variable of each row value; `max_age` has the age of its oldest use, in vectors.
        loop_constants, pointers, mask_pointers: {variable: its expression before the loop}; pointers are to rows.
        ring_buffers: {depth: the nodes with ring buffers of this depth}, in the order of memory.
        coefficients: the Coefficients with names, in the order of the array k.
        mask_offsets: offsets (row, vector, column) of the masks that an iteration depends on.
    """

    def __init__(
        self,
        number: int,
        program: Program,
        numbering: Numbering,
        open_water_refs: dict[Node, Ref],
        is_split_by_smoothness: bool,
        has_water_loop: bool,
    ):
        self.struct_name, self.program, self.numbering = f"Pass{number}", program, numbering
        self.open_water_refs, self.has_water_loop = open_water_refs, has_water_loop
        self.is_split_by_smoothness = is_split_by_smoothness
        recomputed, self.carriers, self.idle_nodes = recomputed_nodes(program, open_water_refs)
        self.schedule = schedule = LoopSchedule(program, recomputed)
        self.variables = {key: f"x{n}" for n, key in enumerate(schedule.row_values)}
        self.max_age = dict.fromkeys(schedule.row_values, 0)
        self.loop_constants: dict[str, str] = {}
        self.coefficients: list[Coefficient] = []
        self.mask_pointers: dict[str, str] = {}
        self.pointers: dict[str, str] = {}
        self.mask_offsets: set[tuple[int, int, int]] = set()
        self.ring_buffers: dict[int, list] = {}
        for node, (_, depth) in schedule.ring_buffers.items():
            self.ring_buffers.setdefault(depth, []).append(node)
        used = schedule.fields_read | set(program.outputs) | set(program.output_planes)
        #: The fields that are read or written; those that are read at neighbouring cells come first.
        self.fields_used = list(
            dict.fromkeys([*program.halo_fields, *(name for name in numbering.fields if name in used)])
        )

    def text(self) -> str:
        near_land = LoopBody(self, None)
        self.record_idle_masks()
        on_water = LoopBody(self, self.open_water_refs)
        program, fields, schedule, pointers = self.program, self.numbering.fields, self.schedule, self.pointers
        statics = {
            number: near_land.statics.get(number, set()) | on_water.statics.get(number, set())
            for number in (*near_land.statics, *on_water.statics)
        }
        outputs = f"V {', '.join(f'out{n}' for n in range(len(program.outputs)))};"
        streaming_flags, stores = self.stores()
        prefetch_lines = self.prefetches(on_water.statics)
        static_pointers = [
            (variable_name("s", number, row), f"rows.static_field({number}, {row})")
            for number, rows in statics.items()
            for row in sorted(rows)
        ]
        sent, used = ([fields.index(name) for name in names] for names in (program.sent_fields, self.fields_used))
        plane_after = [fields.index(program.plane_after(name)) for name in fields]
        constants = [
            f"k[{n}] = {coefficient_product(k, self.numbering.scalars)};" for n, k in enumerate(self.coefficients)
        ]

        def iteration(body, idle):
            ring_stores = self.ring_buffer_stores(idle)
            stored = ["if (i >= write_from) {", "  const bool inner = rows.is_inner(i, i + N);", *indented(stores), "}"]
            return [*prefetch_lines, outputs, *body.lines, *stored, *ring_stores, *self.shifts(idle)]

        iterations = iteration(near_land, ()), iteration(on_water, self.idle_nodes) if self.has_water_loop else []

        def listed(numbers):
            return ", ".join(map(str, numbers))

        return f"""
template <class T>
struct {self.struct_name} {{
  static constexpr int N_FIELDS = {len(fields)}, N_HALO_FIELDS = {len(program.halo_fields)};
  static constexpr bool SPLIT_BY_SMOOTHNESS = {str(self.is_split_by_smoothness).lower()};
  static constexpr int NORTH_REACH = {schedule.north_reach}, WARMUP_ROWS = {schedule.warmup_rows};
  static constexpr int EAST_VECTORS = {schedule.east_vectors}, WEST_REACH = {schedule.west_reach};
  static constexpr int RING_DEPTHS[] = {{{listed([*self.ring_buffers, 0])}}};
  static constexpr int RINGS_PER_DEPTH[] = {{{listed([*map(len, self.ring_buffers.values()), 0])}}};
  static constexpr int RING_ROWS = {sum(depth for _, depth in schedule.ring_buffers.values())};
  static constexpr int USED_FIELDS[] = {{{listed(used)}}}, SENT_FIELDS[] = {{{listed(sent)}}};
  static constexpr int PLANE_AFTER[] = {{{listed(plane_after)}}};
  static constexpr int N_CONSTANTS = {len(self.coefficients) + 1};
  static void fill_constants(const T* values, T* k) {{
{indented_text(constants, 4)}
  }}
  template <class V, bool LAND>
  static void compute_row(const RowAccess<T, {self.struct_name}>& rows, const T* k, const ColumnRun* run,
                          const ColumnRun* end, bool prefetches) {{
    constexpr Index N = sizeof(V) / sizeof(T);
{indented_text([f"T* const {name} = {source};" for name, source in pointers.items()], 4)}
{indented_text([f"const T* const {name} = {source};" for name, source in static_pointers], 4)}
{indented_text([f"const std::uint8_t* const {name} = {source};" for name, source in self.mask_pointers.items()], 4)}
    const T* const slip = rows.slip;
{indented_text([f"const V {name} = {source};" for name, source in self.loop_constants.items()], 4)}
{indented_text(streaming_flags, 4)}
{indented_text([f"V {', '.join(f'{name}{{}}' for name in self.variables_of(key))};" for key in self.max_age], 4)}
    for (; run < end; ++run) {{
      const Index last = run->last, write_from = run->write_from;
      Index i = run->first;
      if (LAND && run->near_land) {{
        for (; i < last; i += N) {{
{indented_text(iterations[0], 10)}
        }}
      }} else {{
        for (; i < last; i += N) {{
{indented_text(iterations[1], 10)}
        }}
      }}
    }}
  }}
}};
"""

    def record_idle_masks(self):
        """Record the masks of outputs, relative to idle values, which are needed where one of these masks is land."""
        read = read_offsets(self.program.outputs.values())
        masks = {cell for node, cells in read.items() if node.op == "mask" for cell in cells}
        from_node = {node: {(y - r, x - c) for r, c in read[node] for y, x in masks} for node in self.idle_nodes}
        for (node, row), value in self.schedule.row_values.items():
            if node in self.idle_nodes:
                self.mask_offsets |= {(row + y, value.newest, x) for y, x in from_node[node]}

    def vector_address(self, source: str, node, row: int, vector: int) -> str:
        """The address of a vector of a field ("load") or of a node's ring buffer."""
        if source == "load":
            return f"{self.pointer('f', 'field', self.numbering.fields.index(node.value), row)} + i + {vector} * N"
        depth = self.schedule.ring_buffers[node][1]
        group, nodes = list(self.ring_buffers).index(depth), self.ring_buffers[depth]
        pointer = self.pointer("r", "ring_buffer", group, row % depth)
        return f"{pointer} + (i + {vector} * N) * {len(nodes)} + {nodes.index(node)} * N"

    def pointer(self, letter: str, kind: str, number: int, row: int) -> str:
        """The name of a pointer that is declared before the loop."""
        name = variable_name(letter, number, row)
        self.pointers[name] = f"rows.{kind}({number}, {row})"
        return name

    def ring_buffer_stores(self, idle) -> list[str]:
        """The stores into ring buffers at the end of an iteration, which does not compute `idle` nodes."""
        return [
            f"store({self.vector_address('ring_buffer', node, row, self.schedule.row_values[node, row].newest)}, "
            f"{self.variables[node, row]});"
            for node, (row, _) in self.schedule.ring_buffers.items()
            if node not in idle
        ]

    def shifts(self, idle) -> list[str]:
        """The statements that move values to the next variable at the end of an iteration, except idle ones."""
        shifted = [self.variables_of(key) for key in self.max_age if key[0] not in idle]
        return [f"{names[b]} = {names[b - 1]};" for names in shifted for b in range(len(names) - 1, 0, -1)]

    def variables_of(self, key) -> list[str]:
        """The variables of a row value, the newest first."""
        return [self.variables[key] + (f"_{age}" if age else "") for age in range(self.max_age[key] + 1)]

    def stores(self) -> tuple[list[str], list[str]]:
        """The flags that say which outputs have streaming stores, and the stores of all outputs; adds the pointers."""
        fields, read, streaming_flags, stores = self.numbering.fields, self.schedule.fields_read, [], []
        for name, n in self.program.output_planes.items():
            self.pointers[f"o{n}"] = f"rows.output({fields.index(name)})"
            streaming_flags.append(
                f"const bool streams{n} = rows.uses_streaming_store({fields.index(name)}, {str(name in read).lower()});"
            )
            stores.append(f"store(o{n} + i, out{n}, streams{n} && inner);")
        return streaming_flags, stores

    def prefetches(self, statics: dict) -> list[str]:
        """The prefetches of all fields except outputs with streaming stores; adds pointers to fields."""
        program, fields, read = self.program, self.numbering.fields, self.schedule.fields_read
        streamed = {name: n for name, n in program.output_planes.items() if name not in read}
        lines = []
        for name in self.fields_used:
            row = self.schedule.north_reach if name in program.halo_fields else 0
            pointer = self.pointer("f", "field", fields.index(name), row)
            unless = f"if (!streams{streamed[name]}) " if name in streamed else ""
            lines.append(f"{unless}prefetch<{int(name in program.output_planes)}>({pointer} + prefetched);")
        lines += [
            f"prefetch<0>({variable_name('s', number, max(rows))} + prefetched);" for number, rows in statics.items()
        ]
        positions = [
            "  const Index ahead = i + PREFETCH_COLUMNS;",
            "  const Index prefetched = ahead < run->prefetch_end ? ahead : ahead + run->prefetch_jump;",
        ]
        return ["if (prefetches) {", *positions, *indented(lines), "}"]


def indented(lines, spaces=2) -> list[str]:
    return [" " * spaces + line for line in lines]


def indented_text(lines, spaces: int) -> str:
    """Statements as indented text."""
    return "\n".join(indented(lines, spaces))
