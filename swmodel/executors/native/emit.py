"""A Program and its Schedule as C++: one loop along a row, in vectors, that sweep.h calls row by row."""

from __future__ import annotations

from .body import Body
from .graph import Coefficient, Node, Program, Ref, cells_read
from .schedule import Schedule


class Names:
    """The numbers of what all programs of a step share: fields, static fields, lines, constants."""

    def __init__(self, fields: list[str]):
        self.fields = fields
        self.static: list[str] = []
        self.lines: list[str] = []
        self.values: list[str] = []

    @staticmethod
    def number(names: list, name) -> int:
        """The position of a name in a list; a new name is put at its end."""
        if name not in names:
            names.append(name)
        return names.index(name)


def static_row(number: int, row: int) -> str:
    """The pointer to a row of a static field."""
    return f"s{number}_{row}".replace("-", "s")


class Emitter:
    """Writes one Program as a struct of C++ that Sweep takes.

    Args:
        water, carried, idle: from `fuse`: what each node is on water, what carries it, and what is not needed there.
    """

    def __init__(self, name: str, program: Program, schedule: Schedule, names: Names, water, carried, idle):
        self.title, self.program, self.schedule, self.names = name, program, schedule, names
        self.water, self.carried, self.idle = water, carried, idle
        self.numbers = {at: f"x{n}" for n, at in enumerate(schedule.places)}
        self.history = dict.fromkeys(schedule.places, 0)
        self.used: dict[str, str] = {}
        self.statics: dict[int, set[int]] = {}  # rows in which static fields are read
        self.fetched: dict[int, set[int]] = {}  # rows that are read on water
        self.constants: list[Coefficient] = []
        self.mask_rows: dict[str, str] = {}
        self.masks: set[tuple[int, int, int]] = set()  # (row, vector, column) of those that a turn depends on

    def has(self, ref: Ref, row: int, vector: int) -> bool:
        """Whether variables hold what a ref reads at (row, vector)."""
        place = self.schedule.places.get((ref.node, row + ref.row))
        if place is None:
            return False
        first, last = vector - (ref.column < 0), vector + (ref.column > 0)
        return place.oldest <= first and last <= place.newest

    def name(self, node: Node, row: int, vector: int) -> str:
        """The variable that holds a value."""
        place = self.schedule.places[node, row]
        back = place.newest - vector
        assert 0 <= back <= place.newest - place.oldest, (node, row, vector, place)
        self.history[node, row] = max(self.history[node, row], back)
        return self.numbers[node, row] + (f"_{back}" if back else "")

    def constant(self, k: Coefficient) -> str:
        """A Coefficient, spread over a vector."""
        if not k.powers:
            return f"all<V>(T({k.number!r}))"
        number = Names.number(self.constants, k)
        self.used[f"k{number}"] = f"all<V>(k[{number}])"
        return f"k{number}"

    def product(self, k: Coefficient) -> str:
        """A Coefficient, computed from the values of its names."""
        text = f"T({k.number!r})"
        for name, power in k.powers:
            text += f" {'*' if power > 0 else '/'} values[{Names.number(self.names.values, name)}]" * abs(power)
        return text

    def leaf(self, node: Node, row: int, vector: int, column: int) -> str:
        """A value that is read from memory and never written."""
        place = f"i + {vector} * N + {column}"
        if node.op == "line":
            name = f"l{Names.number(self.names.lines, node.value)}_{row}".replace("-", "s")
            self.used[name] = f"all<V>(at.line({Names.number(self.names.lines, node.value)}, {row}))"
            return name
        number = Names.number(self.names.static, node.value)
        self.statics.setdefault(number, set()).add(row)
        return f"load<V>({static_row(number, row)} + {place})"

    def notice(self, ref: Ref, row: int, vector: int):
        """Remember the masks that a carried value depends on: it stands for another node only far from land."""
        for arg in ref.node.args:
            read = arg.moved(ref.row, ref.column)
            if arg.node.op == "mask":
                self.masks.add((row + read.row, vector, read.column))
            elif arg.node in self.schedule.thin:
                self.notice(read, row, vector)

    def notice_idle(self):
        """Remember the masks of the outputs as seen from idle values: where one of them is land, these count."""
        read = cells_read(self.program.outputs.values())
        masks = [cell for node, cells in read.items() if node.op == "mask" for cell in cells]
        for (node, row), place in self.schedule.places.items():
            if node in self.idle:
                self.masks |= {(row + y - r, place.newest, x - c) for r, c in read[node] for y, x in masks}

    def cells(self, row: int) -> str:
        """The pointer to the masks of a row."""
        name = f"cells_{row}".replace("-", "s")
        self.mask_rows[name] = f"at.cells({row})"
        return name

    def text(self) -> str:
        """The C++ of the struct."""
        bodies = [self.body(None)]
        self.notice_idle()
        near_land, self.statics = self.statics, {}
        bodies.append(self.body(self.water))
        self.fetched = dict(self.statics)
        rows = {number: near_land.get(number, set()) | self.statics.get(number, set())
                for number in (*near_land, *self.statics)}  # fmt: skip
        self.statics = rows
        program, fields, pointers = self.program, self.names.fields, {}
        outputs = [f"V {', '.join(f'out{n}' for n in range(len(program.outputs)))};"]
        passing, stores = self.stores(pointers)
        fetch = self.fetches(pointers)
        steady = [(static_row(number, row), f"at.static_field({number}, {row})")
                  for number, rows in self.statics.items() for row in sorted(rows)]  # fmt: skip
        numbers = [fields.index(name) for name in program.reads], [fields.index(name) for name in program.gives]
        depths = [depth for _, depth in self.schedule.rings.values()]
        s = self.schedule
        constants = [f"k[{n}] = {self.product(k)};" for n, k in enumerate(self.constants)]

        turns = []
        for body, idle in zip(bodies, (set(), self.idle), strict=True):
            first, last = self.kept_rows(pointers, idle)
            turns.append(self.turn(body, fetch, [*first, *outputs], stores, [*last, *self.shifts(idle)]))
        near, away = turns

        def indented(lines, by):
            return "\n".join(" " * by + line for line in lines)

        return f"""
template <class T>
struct {self.title} {{
  static constexpr int FIELDS = {len(fields)};
  static constexpr int AHEAD = {s.ahead}, WARM = {s.warm}, EAST = {s.east}, LATE = {s.late};
  static constexpr int RINGS[] = {{{", ".join(map(str, [*depths, 0]))}}}, RING_ROWS = {sum(depths)};
  static constexpr int READS[] = {{{", ".join(map(str, numbers[0]))}}}, GIVES[] = {{{", ".join(map(str, numbers[1]))}}};
  static constexpr int USED[] = {{{", ".join(str(fields.index(name)) for name in self.fields_used())}}};
  static constexpr int CONSTANTS = {len(self.constants) + 1};
  static void constants(const T* values, T* k) {{
{indented(constants, 4)}
  }}
  template <class V, bool LAND>
  static void row(const At<T, {self.title}>& at, const T* k, const Run* run, const Run* end, bool fetches) {{
    constexpr Index N = sizeof(V) / sizeof(T);
{indented([f"T* const {name} = {source};" for name, source in pointers.items()], 4)}
{indented([f"const T* const {name} = {source};" for name, source in steady], 4)}
{indented([f"const std::uint8_t* const {name} = {source};" for name, source in self.mask_rows.items()], 4)}
    const T* const slip = at.slip;
{indented([f"const V {name} = {source};" for name, source in self.used.items()], 4)}
{indented(passing, 4)}
{indented(self.variables(), 4)}
    for (; run < end; ++run) {{
      const Index last = run->last, from = run->from;
      Index i = run->first;
      if (LAND && run->near_land) {{
        for (; i < last; i += N) {{
{indented(near, 10)}
        }}
      }} else {{
        for (; i < last; i += N) {{
{indented(away, 10)}
        }}
      }}
    }}
  }}
}};
"""

    @staticmethod
    def turn(body, fetch, first, stores, last) -> list[str]:
        """The statements of a turn of the loop around those of a body."""
        return [
            "if (fetches) {",
            "  const Index far = i + FAR < run->end ? i + FAR : i + FAR + run->jump;",
            *("  " + line for line in fetch),
            "}",
            *first,
            *body,
            "if (i >= from) {",
            "  const bool inner = at.inner(i, i + N);",
            *("  " + line for line in stores),
            "}",
            *last,
        ]

    def kept_rows(self, pointers: dict, idle) -> tuple[list[str], list[str]]:
        """Loads of fields and rings at the beginning of a turn, stores into rings at its end; adds their pointers.

        Args:
            idle: nodes that the turn does not compute.
        """
        rings, fields = {node: n for n, node in enumerate(self.schedule.rings)}, self.names.fields
        first, last = [], []
        for (node, row), place in self.schedule.places.items():
            if place.source == "compute" or node in idle:
                continue
            if place.source == "load":
                pointer, source = f"f{fields.index(node.value)}_{row}", f"at.field({fields.index(node.value)}, {row})"
            else:
                pointer, source = f"r{rings[node]}_{row}".replace("-", "s"), f"at.ring({rings[node]}, {row})"
            pointers[pointer] = source
            first.append(f"{self.numbers[node, row]} = load<V>({pointer} + i + {place.newest} * N);")
        for node, (row, _) in self.schedule.rings.items():
            if node in idle:
                continue
            pointer, newest = f"r{rings[node]}_{row}".replace("-", "s"), self.schedule.places[node, row].newest
            pointers[pointer] = f"at.ring({rings[node]}, {row})"
            last.append(f"store({pointer} + i + {newest} * N, {self.numbers[node, row]});")
        return first, last

    def variables(self) -> list[str]:
        """The declarations of the variables of all places, with their earlier values."""
        return [f"V {', '.join(f'{name}{{}}' for name in self.values_of(at))};" for at in self.history]

    def shifts(self, idle) -> list[str]:
        """The statements that move values on at the end of a turn, except for idle nodes."""
        moving = [self.values_of(at) for at in self.history if at[0] not in idle]
        return [f"{names[b]} = {names[b - 1]};" for names in moving for b in range(len(names) - 1, 0, -1)]

    def values_of(self, at) -> list[str]:
        """The variables of a place, the newest first."""
        return [self.numbers[at] + (f"_{back}" if back else "") for back in range(self.history[at] + 1)]

    def stores(self, pointers: dict) -> tuple[list[str], list[str]]:
        """Whether each output is written past the cache, and the stores of all; adds their pointers."""
        fields, read, passing, stores = self.names.fields, self.fields_read(), [], []
        for n, name in enumerate(self.program.outputs):
            pointers[f"o{n}"] = f"at.target({fields.index(name)})"
            passing.append(f"const bool beside{n} = at.passes({fields.index(name)}, {str(name in read).lower()});")
            stores.append(f"store(o{n} + i, out{n}, beside{n} && inner);")
        return passing, stores

    def fetches(self, pointers: dict) -> list[str]:
        """Fetches from memory ahead of need, except for what is written past the cache; adds pointers of fields."""
        program, fields, read = self.program, self.names.fields, self.fields_read()
        fetched = {name: self.schedule.ahead if name in program.reads else 0 for name in self.fields_used()}
        for name, row in fetched.items():
            pointers[f"f{fields.index(name)}_{row}"] = f"at.field({fields.index(name)}, {row})"
        beside = {name: n for n, name in enumerate(program.outputs) if name not in read}
        fetch = [(f"if (!beside{beside[name]}) " if name in beside else "")
                 + f"fetch<{int(name in program.outputs)}>(f{fields.index(name)}_{row} + far);"
                 for name, row in fetched.items()]  # fmt: skip
        fetch += [f"fetch<0>({static_row(number, max(rows))} + far);" for number, rows in self.fetched.items()]
        return fetch

    def fields_read(self) -> set[str]:
        """The fields that are read."""
        return {node.value for node, _ in self.schedule.places if node.op == "field"}

    def fields_used(self) -> list[str]:
        """The fields that are read or written, those whose neighbours are read first."""
        used = self.fields_read() | set(self.program.outputs)
        return list(dict.fromkeys([*self.program.reads, *(name for name in self.names.fields if name in used)]))

    def body(self, water) -> list[str]:
        """The statements of what one turn of the loop computes."""
        body, idle = Body(self, water), self.idle if water else ()
        for (node, row), place in self.schedule.places.items():
            if place.source == "compute" and node not in idle:
                body.compute(node, row)
        for number, ref in enumerate(self.program.outputs.values()):
            body.lines.append(f"out{number} = {body.read(ref, 0, 0)};")
        return body.lines
