"""The dynamics and the time steppers, run on Symbols: one step of a scheme as Programs."""

from __future__ import annotations

import traceback
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import UsageError
from ...ocean import operators
from ...ocean.dynamics import tendency
from ...ocean.grid import Grid, as_patches, make_metrics
from ...ocean.instant import Instant
from ...ocean.patch import Patch
from ...ocean.state import Carry
from ...ocean.timestep import ForwardBackwardInputs, RungeKutta, weighted_sum
from .graph import Graph, Program, Ref
from .symbol import SUPPORTED_OPERATIONS, NotTraceable, Symbol, to_ref, uniform

if TYPE_CHECKING:
    from ...ocean.scheme import Scheme

#: The values, on water far from land, of the masks and of the fields that are packed with them.
MASKS_ON_WATER = {
    "wet": 1.0,
    "open_u": 1.0,
    "open_v": 1.0,
    "open_boundary_u": 0.0,
    "open_boundary_v": 0.0,
    "slip": 1.0,
    "corner_weight": 1.0,
    "dry_corner": 0.0,
}
#: Rows and columns of the traced block: more than a field loses by the differences in the dynamics.
TRACED_CELLS = 8
#: Files that are not reported as the source of an error in a term.
INTERNAL_FILES = (
    str(Path(__file__).parent),
    *(str(Path(operators.__file__).with_name(f"{name}.py")) for name in ("operators", "patch")),
)


def kind_of(field) -> str:
    """The kind of an array [y, x]: constant ("number"), varying by row ("row_static"), or with both axes ("static")."""
    rows, columns = field.shape
    return "static" if columns > 1 else "row_static" if rows > 1 else "number"


def lengths_of(grid: Grid) -> dict:
    """The arguments of `ocean.grid.make_metrics` by name; they determine all lengths and areas of a Grid."""
    dx, area = grid.dx, grid.area
    return {"dx": dx.centre, "dx_edge": dx.v, "dy": grid.dy.centre, "area": area.centre, "area_edge": area.corner}


def kinds_of(grid: Grid, params: dict) -> tuple[tuple[str, str], ...]:
    """Pairs (name, kind) for each field of a block, and for lengths that are not uniform; a step depends on them."""
    fields = {"f": grid.f, "depth": grid.depth, **params}
    fields |= {name: length for name, length in lengths_of(grid).items() if kind_of(length) != "number"}
    return tuple(sorted((name, kind_of(field)) for name, field in fields.items()))


class Tracing:
    """The dynamics of one scheme on one kind of grid, run on Symbols; `graph` records the operations.

    Args:
        kinds: `kinds_of` the Grid and the Params.
        scalars: {name: array [1, 1]} for the `scalar_names` of these kinds, and `stepper_weights`.
        controls: names of the static fields to differentiate with respect to.
    """

    def __init__(self, scheme: Scheme, kinds, scalars: dict, dtype, controls=()):
        self.scheme, self.graph, self.scalars = scheme, Graph(dtype), scalars
        halo, graph = scheme.static_halo, self.graph
        rows = TRACED_CELLS + 2 * halo

        def field(name, kind):
            if kind == "number":
                return uniform(graph, scalars[name], name)
            leaf = graph.leaf(kind, name, keeps_column=name in controls)
            return Symbol(graph, (rows, 1 if leaf.is_uniform_in_row else rows), ref=Ref(leaf).moved(-halo, -halo))

        fields = {name: field(name, kind) for name, kind in kinds}
        lengths = {name: uniform(graph, scalars[name], name) for name in ("dx", "dy") if name in scalars}
        lengths |= {name: fields.pop(name) for name in ("dx", "dx_edge", "area", "area_edge") if name in fields}
        dx, dy = lengths["dx"], lengths["dy"]
        grid = Grid(
            **make_metrics(**{"dx_edge": dx, "area": dx * dy, "area_edge": dx * dy} | lengths),
            **{name: field(name, "mask") for name in MASKS_ON_WATER},
            **{name: fields.pop(name) for name in ("f", "depth")},
        )
        self.grid, self.params = as_patches(grid, halo), as_patches(fields, halo)

    def state(self, prefix=""):
        """A State of Symbols, for the fields whose names are `prefix` + a name of the State."""
        names = self.scheme.state_type._fields
        leaves = [self.graph.leaf("field", prefix + name) for name in names]
        return self.scheme.state_type(
            *(Symbol(self.graph, (TRACED_CELLS, TRACED_CELLS), ref=Ref(leaf)) for leaf in leaves)
        )

    def tendency(self, state, now: Instant, gfb_inputs: ForwardBackwardInputs | None = None):
        """The tendency of a block, as in `xla.make_step`. UsageError: a term cannot be traced."""
        halo_width = self.scheme.halo_width

        def padded(x):
            extended = replace(x.moved(-halo_width, -halo_width), shape=tuple(n + 2 * halo_width for n in x.shape))
            return Patch(extended, (-halo_width, -halo_width))

        patches = state._make(padded(x) for x in state)
        if gfb_inputs:
            step_start = {name: padded(getattr(gfb_inputs.step_start, name)) for name in self.scheme.step_start_fields}
            gfb_inputs = gfb_inputs._replace(pressure_h=padded(gfb_inputs.pressure_h), step_start=step_start)
        try:
            rates = tendency(patches, now, self.grid, self.params, self.scheme, gfb_inputs)
        except (NotTraceable, AttributeError, TypeError, IndexError) as error:
            raise UsageError(f"{failing_line(error)}: {error}; a term may use {SUPPORTED_OPERATIONS}") from error
        return state._make(field.block_values((TRACED_CELLS, TRACED_CELLS)) for field in rates)

    def weights(self, method) -> list[Symbol]:
        """The weights of a time stepper: Symbols of the numbers weight0, weight1, ..."""
        return [
            uniform(self.graph, self.scalars[f"weight{n}"], ("weight", n))
            for n in range(method.weight_and_state_counts[0])
        ]

    def programs(self, method, step, separate_stages=False, rotates_planes=False) -> list[Program]:
        """The passes of a step of a time stepper: one, or one for each stage of a Runge-Kutta method.

        With `separate_stages`, each stage has its own fields and does not overwrite those of the stage before. With
        `rotates_planes`, fields that only become older are not copied: see `Program.planes_after`. `step` is the number
        of the step, an array without axes.
        """
        names = self.scheme.state_type._fields
        if isinstance(method, RungeKutta):
            return self.stages(method, step, separate_stages)
        memory = tuple(self.state(f"memory{number}.") for number in range(method.weight_and_state_counts[1]))
        carry = method.combine(self.tendency, Carry(self.state(), memory, step), self.weights(method))
        outputs = prefixed_refs("", carry.state)
        for number, group in enumerate(carry.memory):
            outputs |= prefixed_refs(f"memory{number}.", group)
        halo_fields = (*outputs,) if self.scheme.is_forward_backward else names
        program = Program(halo_fields, halo_fields, outputs)
        return [program.without_copies() if rotates_planes else program]

    def stages(self, method: RungeKutta, step, separate_stages: bool) -> list[Program]:
        """As `RungeKutta.combine`, but each stage writes its results, which later stages read."""
        start, programs = self.state(), []
        table = method.table
        is_reused = [any(row[k] for row in table[k + 1 :]) for k in range(len(table))]
        for number, row in enumerate(method.stage_weights(self.weights(method))):
            prefix, next_prefix = (
                f"stage{n if separate_stages else ''}." if 0 < n < len(table) else "" for n in (number, number + 1)
            )
            F = self.tendency(self.state(prefix), method.stage_instant(step, number))
            past = [self.state(f"tendency{k}.") for k in range(number)]
            after = start._make(x + weighted_sum(row, terms) for x, *terms in zip(start, *past, F, strict=True))
            outputs = prefixed_refs(next_prefix, after) | (
                prefixed_refs(f"tendency{number}.", F) if is_reused[number] else {}
            )
            halo_fields, sent_fields = (tuple(each + name for name in start._fields) for each in (prefix, next_prefix))
            programs.append(Program(halo_fields, sent_fields, outputs))
        return programs


def failing_line(error: Exception) -> str:
    """The line that raised an error, in a term or in a function that the term called, with its file and number."""
    frames = traceback.extract_tb(error.__traceback__)
    outside_frames = [frame for frame in frames if not frame.filename.startswith(INTERNAL_FILES)]
    frame = (outside_frames or frames)[-1]
    return f"{frame.filename}:{frame.lineno}: {frame.line}"


def scalar_names(kinds) -> tuple[str, ...]:
    """The names of the fields and lengths that are numbers, the same for all cells."""
    fields = dict(kinds)
    return tuple(name for name in ("dx", "dy", *fields) if fields.get(name, "number") == "number")


def carry_field_names(scheme: Scheme, method, derivative=()) -> tuple[str, ...]:
    """The names of the fields of a carry: of the state, of the stepper's memory, and of their tangents."""
    prefixes = "", *(f"memory{number}." for number in range(method.weight_and_state_counts[1]))
    names = [prefix + name for prefix in prefixes for name in scheme.state_type._fields]
    return (*names, *(f"d.{name}" for name in names if "tangent" in derivative))


def stepper_weights(method, step, dt) -> dict:
    """The values of `Tracing.weights`, by name."""
    return {f"weight{number}": weight.reshape(1, 1) for number, weight in enumerate(method.weights(step, dt))}


def prefixed_refs(prefix: str, state) -> dict[str, Ref]:
    """{prefix + name: Ref that computes the field} for the fields of a State."""
    return {prefix + name: to_ref(x) for name, x in zip(state._fields, state, strict=True)}
