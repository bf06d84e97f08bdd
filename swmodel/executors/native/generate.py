"""From a scheme to the C++ of its step: traced, fused, scheduled, written."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from .derive import derived, footprint
from .emit import Emitter, Names
from .expressions import TYPES
from .fuse import fused, hoisted, in_gentle_sea, on_water, placed, thin_nodes
from .graph import Node, Program, Ref, nodes_of
from .schedule import Schedule
from .trace import Tracing, numbers_of

FILE = """#include "sweep.h"

namespace swmodel {{
{passes}
extern "C" __attribute__((visibility("default")))
std::size_t swmodel_call(const Job* job, int pass, int phase, Index j0, Index j1, void* space) {{
{calls}
  return 0;
}}

{rough}
}}  // namespace swmodel
"""
#: What a step with drying asks before its passes, in the instructions of the processor.
ROUGH = """
extern "C" __attribute__((visibility("default")))
void swmodel_mark_row(const void* h, const void* level, const void* depth, const std::uint8_t* cells, Index up,
                      Index groups, const void* limits, std::uint8_t* marks) {{
  mark_row(static_cast<const {type}*>(h), static_cast<const {type}* const*>(level), static_cast<const {type}*>(depth),
           cells, up, groups, static_cast<const {type}*>(limits), marks);
}}
"""

CALL = "  if (pass == {number}) return call<{type}, Pass{number}>(*job, phase, j0, j1, space);"
#: Most steps that a process keeps; each run with user-defined terms has its own.
KEPT = 128


class Generated(NamedTuple):
    """The step of a scheme, ready for compilation."""

    source: str  # C++, for sweep.h
    fields: tuple[str, ...]  # fields that it reads and writes, in the order of memory; those of the State first
    statics: tuple[str, ...]  # static fields, in their order
    lines: tuple[str, ...]
    parts: dict[str, Ref]  # the Refs of static fields and lines
    values: tuple[str, ...]  # numbers that are the same for all cells, in the order of reading
    programs: tuple[Program, ...]  # one for each pass
    schedules: tuple[Schedule, ...]
    places: np.ndarray  # [steps, fields]: the plane of each field after so many steps; then the planes repeat
    water: dict[Node, Ref]  # the form of each node on water
    width: int  # largest distance at which fields are read
    margin: int  # largest distance at which static fields and masks are read
    parted: bool  # whether the passes are those of `parts_of`
    masks: frozenset[tuple[int, int, int]]  # (row, vector, column) of the masks that a turn of the loop depends on


@lru_cache(maxsize=KEPT)
def generate(scheme, method, kinds, dtype, derivative=(), controls=(), moving=True) -> Generated:
    """The step of a scheme, made once.

    Args:
        scheme, method: terms of the tendency, time stepper.
        kinds: kinds of the fields of the Grid and of the Params, `trace.kinds_of`.
        dtype: float32 or float64.
        derivative: transformations of the step, "tangent" and "adjoint", in order; see `derive.derived`.
        controls: names of the fields of the Grid and of the Params to differentiate with respect to.
        moving: see `trace.Tracing.programs`.
    """
    names = [*numbers_of(kinds), *(f"weight{number}" for number in range(method.counts[0]))]
    numbers = {name: np.ones((1, 1), np.uint32 if "turns" in name else dtype) for name in names}
    tracing = Tracing(scheme, kinds, numbers, np.dtype(dtype), controls)
    graph = tracing.graph
    programs = derived(tracing, method, np.zeros((), np.int32), derivative, controls, moving)
    width, margin = reach(programs, ("field",)), reach(programs, ("static", "line", "mask"))
    programs, parts = hoisted(graph, programs)
    programs = fused(graph, programs)
    parted = scheme.drying and not derivative
    programs = placed(graph, parts_of(graph, *programs) if parted else programs)
    read = [node.value for node in nodes_of(programs) if node.op == "field"]
    names = Names(list(dict.fromkeys([*programs[0].reads, *(n for p in programs for n in p.outputs), *read])))
    water = on_water(graph, programs)
    emitters = []
    for number, program in enumerate(programs):
        thin, *on_water_only = thin_nodes([program], water)
        plan = Schedule(program, thin)
        ways = parted, not parted or number == 1  # the rest is computed as near land
        emitters.append(Emitter(f"Pass{number}", program, plan, names, water, *on_water_only, ways))
    name = TYPES[str(np.dtype(dtype))]
    source = FILE.format(
        rough=ROUGH.format(type=name) if parted else "",
        passes="".join(emitter.text() for emitter in emitters),
        calls="\n".join(CALL.format(number=n, type=name) for n in range(len(programs))),
    )
    return Generated(
        source,
        tuple(names.fields),
        tuple(names.static),
        tuple(names.lines),
        {name: parts[name] for name in (*names.static, *names.lines)},
        tuple(names.values),
        tuple(programs),
        tuple(emitter.schedule for emitter in emitters),
        cycle(programs, names.fields),
        water,
        width,
        margin,
        parted,
        frozenset().union(*(emitter.masks for emitter in emitters)),
    )


def parts_of(graph, whole: Program) -> list[Program]:
    """The passes over the rest, over a gentle sea, and again over the rest, which together are the program.

    The first one writes beside the fields, which the second reads and overwrites; the third puts it in its place.
    """
    beside = {name: f"spare.{name}" for name in whole.outputs}
    first = whole._replace(gives=whole.gives[:1])  # neighbours get what the last pass gives
    rest = first._replace(outputs={beside[name]: ref for name, ref in whole.outputs.items()}, moves={})
    back = {name: Ref(graph.leaf("field", spare)) for name, spare in beside.items()}
    return [rest, *in_gentle_sea(graph, [first]), whole._replace(outputs=back)]


def cycle(programs: list[Program], fields: list[str]) -> np.ndarray:
    """`Generated.places`."""
    first = np.arange(len(fields))
    moved = first[[fields.index(p.slot(name)) for p in programs[-1:] for name in fields]]
    found = [first]
    while (after := found[-1][moved]).tolist() != first.tolist():
        found.append(after)
    return np.array(found, np.int32)


def reach(programs: list[Program], ops) -> int:
    """The largest distance at which leaves of some kinds are read, in rows or columns."""
    read = [cells for p in programs for (op, _), cells in footprint(p.outputs).items() if op in ops]
    return max((abs(away) for cells in read for cell in cells for away in cell), default=0)
