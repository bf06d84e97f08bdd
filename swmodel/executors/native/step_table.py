"""A table of the generated step of a configuration: `swmodel info CONFIG --kernel`."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from . import request_of
from .generate import StepCode
from .graph import LEAVES, leaf_names, topological
from .operations import FUNCTIONS, OPERATIONS

if TYPE_CHECKING:
    from ...setup.setup import Setup


def describe_step(setup: Setup) -> str:
    """Scheme, halo and static fields; for each pass, fields read and written, rows kept, operations and bytes per cell.

    Operations are those on water, where a multiply-add counts as two. Bytes are those that a pass moves if nothing
    stays in the cache between passes: each field is read once and, if it changes, written once.
    """
    request = request_of(setup)
    code, scheme, time = request.step_code, request.scheme, setup.config.time
    terms = ", ".join(term.name for term in scheme.active_terms) or "no terms"
    leaves_by_static = {name: sorted(leaf_names(code.static_refs[name])) for name in code.statics}
    static_texts = [
        name if name in leaves else f"of {' and '.join(leaves)}" for name, leaves in leaves_by_static.items()
    ]
    lines = [
        f"scheme       {scheme.vorticity_flux}, {terms}; {time.stepper}, {request.dtype}",
        f"halo         {scheme.halo_width} rows and columns",
        f"static       {', '.join(static_texts) or 'no fields'}; along rows {', '.join(code.row_statics) or 'none'}; "
        f"{len(code.scalars)} numbers",
    ]
    for number, (program, schedule) in enumerate(zip(code.programs, code.schedules, strict=True)):
        operation_counts = Counter(node.op for node in water_nodes(code, program) if node.op not in LEAVES)
        slow_operations = ", ".join(
            f"{operation_counts[op]} {op}" for op in ("div", *FUNCTIONS, "power") if operation_counts[op]
        )
        lines += [
            f"pass {number + 1}",
            f"  reads      {', '.join(sorted(schedule.fields_read, key=code.fields.index))}",
            f"  writes     {', '.join(program.outputs)}",
            f"  rows kept  {sum(depth for _, depth in schedule.ring_buffers.values())}; reads {schedule.north_reach} "
            f"rows and {schedule.east_vectors} vectors ahead",
            f"  operations {sum(n * OPERATIONS[op].n_operations for op, n in operation_counts.items())} per cell"
            + (f" ({slow_operations})" if slow_operations else ""),
            f"  bytes      {pass_bytes_per_cell(request, number)} per cell",
        ]
    return "\n".join([*lines, f"step         {bytes_per_cell(setup)} bytes per cell"])


def bytes_per_cell(setup: Setup) -> int:
    """Bytes that a step moves for each cell if nothing stays in the cache between passes."""
    request = request_of(setup)
    return sum(pass_bytes_per_cell(request, number) for number in range(len(request.step_code.programs)))


def pass_bytes_per_cell(request, number: int) -> int:
    code, program = request.step_code, request.step_code.programs[number]
    statics = {node.value for node in water_nodes(code, program) if node.op == "static"}
    n_fields = len(code.schedules[number].fields_read) + len(program.outputs) + len(statics)
    return np.dtype(request.dtype).itemsize * n_fields


def water_nodes(code: StepCode, program):
    """The nodes that a program computes where there is no land around."""
    return topological([code.open_water_refs[ref.node] for ref in program.outputs.values()])
