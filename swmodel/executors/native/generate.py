"""Generates the C++ of the step of a scheme: the step is traced, rewritten, scheduled and emitted."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .derive import leaf_offsets, step_programs
from .emit import Emitter, Numbering
from .expressions import CPP_TYPES
from .graph import Node, Program, Ref, nodes_of
from .rewrite import assign_columns, fuse_multiply_adds, hoist_static_parts, open_water_refs, programs_in_smooth_sea
from .schedule import LoopSchedule
from .trace import Tracing, scalar_names

if TYPE_CHECKING:
    from ...ocean.scheme import Scheme

FILE_TEMPLATE = """#include "sweep.h"

namespace swmodel {{
{passes}
extern "C" __attribute__((visibility("default")))
std::size_t swmodel_run_phase(const PassArguments* args, int pass, int phase, Index j0, Index j1, void* workspace) {{
{phases}
  return 0;
}}

{mark_row}
}}  // namespace swmodel
"""
#: The function that marks breaking and thin water before the passes of a step with drying.
MARK_ROW_TEMPLATE = """
extern "C" __attribute__((visibility("default")))
void swmodel_mark_row(const void* h, const void* eta, const void* depth, const std::uint8_t* mask_bits,
                      Index row_stride, Index groups, const void* limits, std::uint8_t* marks) {{
  mark_row(static_cast<const {type}*>(h), static_cast<const {type}* const*>(eta), static_cast<const {type}*>(depth),
           mask_bits, row_stride, groups, static_cast<const {type}*>(limits), marks);
}}
"""

PHASE_TEMPLATE = "  if (pass == {number}) return run_phase<{type}, Pass{number}>(*args, phase, j0, j1, workspace);"
#: The numbers of the passes into which `split_by_smoothness` splits a step.
BREAKING_PASS, SMOOTH_PASS, COPY_PASS = range(3)
#: Largest number of generated steps that a process caches; each run with user-defined terms has its own step.
MAX_CACHED_STEPS = 128


class StepCode(NamedTuple):
    """The step of a scheme, ready for compilation."""

    source: str  # C++ that includes sweep.h
    fields: tuple[str, ...]  # fields read or written, in the order of memory; those with halos in the first pass lead
    statics: tuple[str, ...]  # static fields that vary along rows, in the order of their array
    row_statics: tuple[str, ...]  # static fields that are uniform in each row, likewise
    static_refs: dict[str, Ref]  # the Refs of all static fields
    scalars: tuple[str, ...]  # numbers that are the same for all cells, in the order of their array
    programs: tuple[Program, ...]  # one for each pass
    schedules: tuple[LoopSchedule, ...]
    planes_by_step: np.ndarray  # [steps, fields]: see `plane_cycle`
    open_water_refs: dict[Node, Ref]  # the simplified form of each node where there is no land around
    halo: int  # largest distance at which fields are read
    static_halo: int  # largest distance at which static fields and masks are read
    is_split_by_smoothness: bool  # whether the passes are those of `split_by_smoothness`
    mask_offsets: frozenset[tuple[int, int, int]]  # (row, vector, column) of masks that an iteration depends on


@lru_cache(maxsize=MAX_CACHED_STEPS)
def generate(scheme: Scheme, method, kinds, dtype, derivative, controls, rotates_planes: bool) -> StepCode:
    """Generate the step of a scheme; the result is cached.

    Args:
        scheme, method: the terms of the tendency, and the time stepper.
        kinds: kinds of the fields of the Grid and of the Params, `trace.kinds_of`.
        dtype: float32 or float64.
        derivative: transformations of the step, "tangent" and "adjoint", in order; see `derive.step_programs`.
        controls: names of the fields of the Grid and of the Params to differentiate with respect to.
        rotates_planes: see `trace.Tracing.programs`.
    """
    names = [*scalar_names(kinds), *(f"weight{number}" for number in range(method.weight_and_state_counts[0]))]
    scalars = {name: np.ones((1, 1), np.uint32 if "turns" in name else dtype) for name in names}
    tracing = Tracing(scheme, kinds, scalars, np.dtype(dtype), controls)
    graph = tracing.graph
    programs = step_programs(tracing, method, np.zeros((), np.int32), derivative, controls, rotates_planes)
    halo, static_halo = max_reach(programs, ("field",)), max_reach(programs, ("static", "row_static", "mask"))
    programs, static_refs = hoist_static_parts(graph, programs)
    programs = fuse_multiply_adds(graph, programs)
    is_split_by_smoothness = scheme.drying and not derivative
    programs = split_by_smoothness(graph, *programs) if is_split_by_smoothness else programs
    programs = assign_columns(graph, programs)
    fields_read = [node.value for node in nodes_of(programs) if node.op == "field"]
    fields = dict.fromkeys([*programs[0].halo_fields, *(name for p in programs for name in p.outputs), *fields_read])
    numbering, water_refs = Numbering(list(fields)), open_water_refs(graph, programs)
    emitters = [
        Emitter(
            n, program, numbering, water_refs, is_split_by_smoothness, n == SMOOTH_PASS or not is_split_by_smoothness
        )
        for n, program in enumerate(programs)
    ]
    cpp_type = CPP_TYPES[str(np.dtype(dtype))]
    source = FILE_TEMPLATE.format(
        mark_row=MARK_ROW_TEMPLATE.format(type=cpp_type) if is_split_by_smoothness else "",
        passes="".join(emitter.text() for emitter in emitters),
        phases="\n".join(PHASE_TEMPLATE.format(number=n, type=cpp_type) for n in range(len(programs))),
    )
    return StepCode(
        source,
        tuple(numbering.fields),
        tuple(numbering.statics),
        tuple(numbering.row_statics),
        {name: static_refs[name] for name in (*numbering.statics, *numbering.row_statics)},
        tuple(numbering.scalars),
        tuple(programs),
        tuple(emitter.schedule for emitter in emitters),
        plane_cycle(programs, numbering.fields),
        water_refs,
        halo,
        static_halo,
        is_split_by_smoothness,
        frozenset().union(*(emitter.mask_offsets for emitter in emitters)),
    )


def split_by_smoothness(graph, program: Program) -> list[Program]:
    """Split a program into passes over breaking or thin water, over the smooth sea, and over breaking water again.

    The first pass writes into spare fields, because the second still reads the fields, which it overwrites; the third
    copies the spare fields into the fields.
    """
    spare_names = {name: f"spare.{name}" for name in program.outputs}
    # Neighbours use only the edges of the last pass, but a result needs at least one field.
    first = program._replace(sent_fields=program.sent_fields[:1])
    breaking = first._replace(
        outputs={spare_names[name]: ref for name, ref in program.outputs.items()}, planes_after={}
    )
    copies = {name: Ref(graph.leaf("field", spare)) for name, spare in spare_names.items()}
    return [breaking, *programs_in_smooth_sea(graph, [first]), program._replace(outputs=copies)]


def plane_cycle(programs: list[Program], fields: list[str]) -> np.ndarray:
    """The index of the plane of memory that holds each field after 0, 1, ... steps, [steps, fields].

    A step that writes a field into the plane of another one, which it no longer needs, saves a copy. The fields change
    places in a cycle: the result has a row for each step until all fields are back in their first planes.
    """
    first_planes = np.arange(len(fields))
    permutation = [fields.index(programs[-1].plane_after(name)) for name in fields]
    cycle = [first_planes]
    while (next_planes := cycle[-1][permutation]).tolist() != first_planes.tolist():
        cycle.append(next_planes)
    return np.array(cycle, np.int32)


def round_up(number: int, multiple: int) -> int:
    """The smallest multiple of `multiple` that is not below `number`."""
    return -(-number // multiple) * multiple


def max_reach(programs: Sequence[Program], ops) -> int:
    """The largest distance at which leaves of some kinds are read, in rows or columns."""
    offsets = [cells for p in programs for (op, _), cells in leaf_offsets(p.outputs).items() if op in ops]
    return max((abs(away) for cells in offsets for cell in cells for away in cell), default=0)
