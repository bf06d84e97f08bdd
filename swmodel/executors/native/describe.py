"""A table of the generated step of a configuration: `swmodel info CONFIG --kernel`."""

from __future__ import annotations

from collections import Counter

import numpy as np

from . import request_of
from .generate import Generated
from .graph import LEAVES, leaves_of, topological
from .operations import FUNCTIONS, OPERATIONS


def describe(setup) -> str:
    """For each pass of a step: fields read and written, rows kept, operations and bytes a cell.

    Operations are those on water, where a multiply-add counts as two. Bytes are those without a cache between steps:
    each field moves in once and, if it is written, out once.
    """
    request = request_of(setup)
    made, scheme, time = request.made, request.scheme, setup.config.time
    terms = ", ".join(term.name for term in scheme.acting) or "no terms"
    made_of = {name: sorted(leaves_of(made.parts[name])) for name in made.statics}
    static = [name if name in of else f"of {' and '.join(of)}" for name, of in made_of.items()]
    lines = [
        f"scheme       {scheme.vorticity_flux}, {terms}; {time.stepper}, {request.dtype}",
        f"halo         {scheme.width} rows and columns",
        f"static       {', '.join(static) or 'no fields'}; along rows {', '.join(made.lines) or 'none'}; "
        f"{len(made.values)} numbers",
    ]
    for number, (program, plan) in enumerate(zip(made.programs, made.schedules, strict=True)):
        counted = Counter(node.op for node in on_water(made, program) if node.op not in LEAVES)
        divisions = ", ".join(f"{counted[op]} {op}" for op in ("div", *FUNCTIONS, "power") if counted[op])
        lines += [
            f"pass {number + 1}",
            f"  reads      {', '.join(sorted(plan.fields_read, key=made.fields.index))}",
            f"  writes     {', '.join(program.outputs)}",
            f"  rows kept  {sum(depth for _, depth in plan.rings.values())}; {plan.ahead} ahead, "
            f"{plan.east} vectors ahead",
            f"  operations {sum(n * OPERATIONS[op].weight for op, n in counted.items())} a cell"
            + (f" ({divisions})" if divisions else ""),
            f"  bytes      {bytes_of(request, number)} a cell",
        ]
    return "\n".join([*lines, f"step         {bytes_per_cell(setup)} bytes a cell"])


def bytes_per_cell(setup) -> int:
    """Bytes that a step must move for each cell."""
    request = request_of(setup)
    return sum(bytes_of(request, number) for number in range(len(request.made.programs)))


def bytes_of(request, number: int) -> int:
    """Bytes that a pass reads or writes for each cell."""
    made, program = request.made, request.made.programs[number]
    statics = {node.value for node in on_water(made, program) if node.op == "static"}
    moved = len(made.schedules[number].fields_read) + len(program.outputs) + len(statics)
    return np.dtype(request.dtype).itemsize * moved


def on_water(made: Generated, program):
    """The nodes that a program computes where there is no land around."""
    return topological([made.water[ref.node] for ref in program.outputs.values()])
