"""A Program and its Schedule as C++: one loop along a row, in vectors, which sweep.h calls row by row."""

from __future__ import annotations

from dataclasses import dataclass, field

from .body import Body, named
from .expressions import product
from .graph import Coefficient, Program, cells_read
from .schedule import Schedule


@dataclass
class Names:
    """The numbering of fields, static fields, lines and numbers, which all programs of a step share."""

    fields: list[str]
    static: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    values: list[str] = field(default_factory=list)


class Emitter:
    """Writes one Program as a struct of C++ for Sweep.

    Args:
        water, carried, idle: from `fuse`: each node's form on water, its carrier, and nodes not needed there.
        ways: whether other passes write the groups that this one leaves out; whether groups without land have a turn of
            their own.

    Attributes:
        numbers: the variable of each place; `history` has the age of its oldest use, in vectors.
        used: {variable: its expression before the loop}; likewise `pointers` to rows, and `mask_rows`.
        rings: {depth: the nodes with rings of this depth}, in the order of memory.
        constants: the Coefficients.
        masks: (row, vector, column) of the masks that a turn depends on.
    """

    def __init__(self, title: str, program: Program, plan: Schedule, names: Names, water, carried, idle, ways):
        self.title, self.program, self.schedule, self.names = title, program, plan, names
        self.water, self.carried, self.idle = water, carried, idle
        self.parted, self.on_water = ways
        self.numbers = {at: f"x{n}" for n, at in enumerate(plan.places)}
        self.history = dict.fromkeys(plan.places, 0)
        self.used: dict[str, str] = {}
        self.constants: list[Coefficient] = []
        self.mask_rows: dict[str, str] = {}
        self.pointers: dict[str, str] = {}
        self.masks: set[tuple[int, int, int]] = set()
        self.rings: dict[int, list] = {}
        for node, (_, depth) in plan.rings.items():
            self.rings.setdefault(depth, []).append(node)
        used = plan.fields_read | set(program.outputs) | set(program.written)
        #: The fields that are read or written; those with reads of neighbours come first.
        self.fields_used = list(dict.fromkeys([*program.reads, *(name for name in names.fields if name in used)]))

    def text(self) -> str:
        """The C++ of the struct."""
        near = Body(self, None)
        self.notice_idle()
        away = Body(self, self.water)
        program, fields, s, pointers = self.program, self.names.fields, self.schedule, self.pointers
        statics = {number: near.statics.get(number, set()) | away.statics.get(number, set())
                   for number in (*near.statics, *away.statics)}  # fmt: skip
        outputs = f"V {', '.join(f'out{n}' for n in range(len(program.outputs)))};"
        passing, stores = self.stores()
        fetch = self.fetches(away.statics)
        steady = [(named("s", number, row), f"at.static_field({number}, {row})")
                  for number, rows in statics.items() for row in sorted(rows)]  # fmt: skip
        reads, gives, used = (
            [fields.index(n) for n in some] for some in (program.reads, program.gives, self.fields_used)
        )
        following = [fields.index(program.slot(name)) for name in fields]
        constants = [f"k[{n}] = {product(k, self.names.values)};" for n, k in enumerate(self.constants)]

        def turn(body, idle):
            last = self.kept_rows(idle)
            stored = ["if (i >= from) {", "  const bool inner = at.inner(i, i + N);", *indented(stores), "}"]
            return [*fetch, outputs, *body.lines, *stored, *last, *self.shifts(idle)]

        turns = turn(near, ()), turn(away, self.idle) if self.on_water else []

        def listed(numbers):
            return ", ".join(map(str, numbers))

        def block(lines, by):
            return "\n".join(indented(lines, by))

        return f"""
template <class T>
struct {self.title} {{
  static constexpr int FIELDS = {len(fields)};
  static constexpr bool PARTED = {str(self.parted).lower()};
  static constexpr int AHEAD = {s.ahead}, WARM = {s.warm}, EAST = {s.east}, LATE = {s.late};
  static constexpr int DEPTHS[] = {{{listed([*self.rings, 0])}}};
  static constexpr int RINGS[] = {{{listed([*map(len, self.rings.values()), 0])}}};
  static constexpr int RING_ROWS = {sum(depth for _, depth in s.rings.values())};
  static constexpr int READS[] = {{{listed(reads)}}}, GIVES[] = {{{listed(gives)}}};
  static constexpr int USED[] = {{{listed(used)}}}, NEXT[] = {{{listed(following)}}};
  static constexpr int CONSTANTS = {len(self.constants) + 1};
  static void constants(const T* values, T* k) {{
{block(constants, 4)}
  }}
  template <class V, bool LAND>
  static void row(const At<T, {self.title}>& at, const T* k, const Run* run, const Run* end, bool fetches) {{
    constexpr Index N = sizeof(V) / sizeof(T);
{block([f"T* const {name} = {source};" for name, source in pointers.items()], 4)}
{block([f"const T* const {name} = {source};" for name, source in steady], 4)}
{block([f"const std::uint8_t* const {name} = {source};" for name, source in self.mask_rows.items()], 4)}
    const T* const slip = at.slip;
{block([f"const V {name} = {source};" for name, source in self.used.items()], 4)}
{block(passing, 4)}
{block([f"V {', '.join(f'{name}{{}}' for name in self.values_of(at))};" for at in self.history], 4)}
    for (; run < end; ++run) {{
      const Index last = run->last, from = run->from;
      Index i = run->first;
      if (LAND && run->near_land) {{
        for (; i < last; i += N) {{
{block(turns[0], 10)}
        }}
      }} else {{
        for (; i < last; i += N) {{
{block(turns[1], 10)}
        }}
      }}
    }}
  }}
}};
"""

    def notice_idle(self):
        """Remember the masks of the outputs relative to idle values, which count where one of these is land."""
        read = cells_read(self.program.outputs.values())
        masks = [cell for node, cells in read.items() if node.op == "mask" for cell in cells]
        for (node, row), place in self.schedule.places.items():
            if node in self.idle:
                self.masks |= {(row + y - r, place.newest, x - c) for r, c in read[node] for y, x in masks}

    def vector_of(self, source: str, node, row: int, vector: int) -> str:
        """The address of a vector of a field ("load") or of a node's ring."""
        if source == "load":
            return f"{self.pointer('f', 'field', self.names.fields.index(node.value), row)} + i + {vector} * N"
        depth = self.schedule.rings[node][1]
        group, nodes = list(self.rings).index(depth), self.rings[depth]
        pointer = self.pointer("r", "ring", group, row % depth)
        return f"{pointer} + (i + {vector} * N) * {len(nodes)} + {nodes.index(node)} * N"

    def pointer(self, letter: str, kind: str, number: int, row: int) -> str:
        """The name of a pointer that is declared before the loop."""
        name = named(letter, number, row)
        self.pointers[name] = f"at.{kind}({number}, {row})"
        return name

    def kept_rows(self, idle) -> list[str]:
        """The stores into rings at the end of a turn, which does not compute `idle` nodes."""
        return [
            f"store({self.vector_of('ring', node, row, self.schedule.places[node, row].newest)}, "
            f"{self.numbers[node, row]});"
            for node, (row, _) in self.schedule.rings.items()
            if node not in idle
        ]

    def shifts(self, idle) -> list[str]:
        """The statements that shift values at the end of a turn, except for idle nodes."""
        moving = [self.values_of(at) for at in self.history if at[0] not in idle]
        return [f"{names[b]} = {names[b - 1]};" for names in moving for b in range(len(names) - 1, 0, -1)]

    def values_of(self, at) -> list[str]:
        """The variables of a place, the newest first."""
        return [self.numbers[at] + (f"_{back}" if back else "") for back in range(self.history[at] + 1)]

    def stores(self) -> tuple[list[str], list[str]]:
        """Flags of outputs that are written past the cache, and the stores of all; adds their pointers."""
        fields, read, passing, stores = self.names.fields, self.schedule.fields_read, [], []
        for slot, n in self.program.written.items():
            self.pointers[f"o{n}"] = f"at.target({fields.index(slot)})"
            passing.append(f"const bool beside{n} = at.passes({fields.index(slot)}, {str(slot in read).lower()});")
            stores.append(f"store(o{n} + i, out{n}, beside{n} && inner);")
        return passing, stores

    def fetches(self, statics: dict) -> list[str]:
        """Prefetches, except of outputs that are written past the cache; adds pointers of fields."""
        program, fields, read = self.program, self.names.fields, self.schedule.fields_read
        beside = {name: n for name, n in program.written.items() if name not in read}
        fetch = []
        for name in self.fields_used:
            row = self.schedule.ahead if name in program.reads else 0
            pointer = self.pointer("f", "field", fields.index(name), row)
            unless = f"if (!beside{beside[name]}) " if name in beside else ""
            fetch.append(f"{unless}fetch<{int(name in program.written)}>({pointer} + far);")
        fetch += [f"fetch<0>({named('s', number, max(rows))} + far);" for number, rows in statics.items()]
        far = "  const Index far = i + FAR < run->end ? i + FAR : i + FAR + run->jump;"
        return ["if (fetches) {", far, *indented(fetch), "}"]


def indented(lines, by=2) -> list[str]:
    return [" " * by + line for line in lines]
