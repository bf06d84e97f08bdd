"""The dynamics and the time steppers, run on Symbols: one step of a scheme as Programs."""

from __future__ import annotations

import traceback
from dataclasses import replace
from pathlib import Path

from ...errors import UsageError
from ...ocean import operators
from ...ocean.dynamics import tendency
from ...ocean.grid import Grid, as_patches, metrics
from ...ocean.instant import Instant
from ...ocean.patch import Patch
from ...ocean.state import Carry
from ...ocean.timestep import Forward, RungeKutta, weigh
from .graph import Graph, Program, Ref
from .symbol import POSSIBLE, NotTraceable, Symbol, to_ref, uniform

#: The values of masks, and of fields in their form, on water.
MASKS = {"wet": 1.0, "open_u": 1.0, "open_v": 1.0, "side_u": 0.0, "side_v": 0.0, "slip": 1.0, "share": 1.0, "dry": 0.0}
#: Rows and columns of the block for the recording: more than a field loses by differences.
CELLS = 8
#: Files that are not named as the place of an error in a term.
MACHINERY = (
    str(Path(__file__).parent),
    *(str(Path(operators.__file__).with_name(f"{name}.py")) for name in ("operators", "patch", "neighbours")),
)


def kind_of(field) -> str:
    """The axes with which an array [y, x] varies: none, its row, or both; an axis of length one is constant."""
    rows, columns = field.shape
    return "static" if columns > 1 else "line" if rows > 1 else "number"


def lengths_of(grid: Grid) -> dict:
    """The arguments of `ocean.grid.metrics`, which determine all lengths and areas of a Grid, by name."""
    dx, area = grid.dx, grid.area
    return {"dx": dx.centre, "dx_edge": dx.v, "dy": grid.dy.centre, "area": area.centre, "area_edge": area.corner}


def kinds_of(grid: Grid, params: dict) -> tuple[tuple[str, str], ...]:
    """Pairs of name and kind for each field of a block, which are compiled in; on a sphere also for lengths."""
    fields = {"f": grid.f, "depth": grid.depth, **params}
    fields |= {name: length for name, length in lengths_of(grid).items() if kind_of(length) != "number"}
    return tuple(sorted((name, kind_of(field)) for name, field in fields.items()))


class Tracing:
    """One scheme on one kind of grid, recorded.

    Args:
        kinds: the `kinds_of` its fields.
        numbers: {name: array [1, 1]} of `numbers_of` these, and `weights_of` a stepper.
        controls: names of the static fields and lines to differentiate with respect to.
    """

    def __init__(self, scheme, kinds, numbers: dict, dtype, controls=()):
        self.scheme, self.graph, self.numbers = scheme, Graph(dtype), numbers
        margin, graph = scheme.margin, self.graph
        rows = CELLS + 2 * margin

        def field(name, kind):
            if kind == "number":
                return uniform(graph, numbers[name], name)
            leaf = graph.leaf(kind, name, located=name in controls)
            return Symbol(graph, (rows, 1 if leaf.line else rows), ref=Ref(leaf).moved(-margin, -margin))

        fields = {name: field(name, kind) for name, kind in kinds}
        lengths = {name: uniform(graph, numbers[name], name) for name in ("dx", "dy") if name in numbers}
        lengths |= {name: fields.pop(name) for name in ("dx", "dx_edge", "area", "area_edge") if name in fields}
        dx, dy = lengths["dx"], lengths["dy"]
        grid = Grid(
            **metrics(**{"dx_edge": dx, "area": dx * dy, "area_edge": dx * dy} | lengths),
            **{name: field(name, "mask") for name in MASKS},
            **{name: fields.pop(name) for name in ("f", "depth")},
        )
        self.grid, self.params = as_patches(grid, margin), as_patches(fields, margin)

    def state(self, prefix=""):
        """A State of fields with the names prefix + name."""
        names = self.scheme.state._fields
        leaves = [self.graph.leaf("field", prefix + name) for name in names]
        return self.scheme.state(*(Symbol(self.graph, (CELLS, CELLS), ref=Ref(leaf)) for leaf in leaves))

    def tendency(self, state, now: Instant, forward: Forward | None = None):
        """The tendency of a block, as in `xla.make_step`."""
        width = self.scheme.width

        def padded(x):
            around = replace(x.moved(-width, -width), shape=tuple(n + 2 * width for n in x.shape))
            return Patch(around, (-width, -width))

        patches = state._make(padded(x) for x in state)
        if forward:
            begin = {name: padded(getattr(forward.begin, name)) for name in self.scheme.at_begin}
            forward = forward._replace(h=padded(forward.h), begin=begin)
        try:
            found = tendency(patches, now, self.grid, self.params, self.scheme, forward)
        except (NotTraceable, AttributeError, TypeError, IndexError) as error:
            raise UsageError(f"{place_of(error)}: {error}; a term may use {POSSIBLE}") from error
        return state._make(field.on((CELLS, CELLS)) for field in found)

    def weights(self, method) -> list[Symbol]:
        """The weights of a time stepper: the numbers weight0 and so on."""
        return [uniform(self.graph, self.numbers[f"weight{n}"], ("weight", n)) for n in range(method.counts[0])]

    def programs(self, method, step, apart=False, moving=False) -> list[Program]:
        """The passes of a step of a time stepper: one, or one for each stage of a Runge-Kutta method.

        If `apart`, each stage has its own fields, instead of overwriting those of the stage before. With `moving`,
        fields that only become older are not copied: see `Program.moves`. `step` is its number, an array without axes.
        """
        names = self.scheme.state._fields
        if isinstance(method, RungeKutta):
            return self.stages(method, step, apart)
        memory = tuple(self.state(f"memory{number}.") for number in range(method.counts[1]))
        carry = method.combine(self.tendency, Carry(self.state(), memory, step), self.weights(method))
        outputs = prefixed("", carry.state)
        for number, group in enumerate(carry.memory):
            outputs |= prefixed(f"memory{number}.", group)
        reads = (*outputs,) if self.scheme.forward else names
        program = Program(reads, reads, outputs)
        return [program.without_copies() if moving else program]

    def stages(self, method: RungeKutta, step, apart: bool) -> list[Program]:
        """As RungeKutta.combine, but inputs of later stages are written, and read again."""
        start, programs = self.state(), []
        table = method.table
        used = [any(row[k] for row in table[k + 1 :]) for k in range(len(table))]
        for number, row in enumerate(method.rows(self.weights(method))):
            prefix, to = (f"stage{n if apart else ''}." if 0 < n < len(table) else "" for n in (number, number + 1))
            F = self.tendency(self.state(prefix), method.now(step, number))
            past = [self.state(f"tendency{k}.") for k in range(number)]
            after = start._make(x + weigh(row, terms) for x, *terms in zip(start, *past, F, strict=True))
            outputs = prefixed(to, after) | (prefixed(f"tendency{number}.", F) if used[number] else {})
            reads, gives = (tuple(where + name for name in start._fields) for where in (prefix, to))
            programs.append(Program(reads, gives, outputs))
        return programs


def place_of(error: Exception) -> str:
    """The line of a term, or of a function that it called, that raised an error."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if not frame.filename.startswith(MACHINERY)]
    frame = (own or frames)[-1]
    return f"{frame.filename}:{frame.lineno}: {frame.line}"


def numbers_of(kinds) -> tuple[str, ...]:
    """The names of numbers that are the same for all cells: of fields, and of lengths that are no fields."""
    fields = dict(kinds)
    return tuple(name for name in ("dx", "dy", *fields) if fields.get(name, "number") == "number")


def carried(scheme, method, derivative=()) -> tuple[str, ...]:
    """The names of the fields of a carry: of the state, of the stepper's memory, and of their tangents."""
    prefixes = "", *(f"memory{number}." for number in range(method.counts[1]))
    names = [prefix + name for prefix in prefixes for name in scheme.state._fields]
    return (*names, *(f"d.{name}" for name in names if "tangent" in derivative))


def weights_of(method, step, dt) -> dict:
    """The values of `Tracing.weights`, by name."""
    return {f"weight{number}": weight.reshape(1, 1) for number, weight in enumerate(method.weights(step, dt))}


def prefixed(prefix: str, state) -> dict[str, Ref]:
    """The Refs that compute the fields of a State, by prefix and name."""
    return {prefix + name: to_ref(x) for name, x in zip(state._fields, state, strict=True)}
