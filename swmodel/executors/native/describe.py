"""What the generated step of a configuration does, in a table: `swmodel info CONFIG --kernel`."""

from __future__ import annotations

from collections import Counter

import numpy as np

from . import request_of
from .generate import Generated
from .graph import leaves_of, topological
from .operations import FUNCTIONS, OPERATIONS
from .schedule import LEAVES


def describe(setup) -> str:
    """Of each pass of a step: fields read and written, rows kept, operations and bytes a cell.

    Operations are those on water, a multiply-add counted as two; bytes are those of a step whose fields do not stay in
    the cache: each field that is read or written moves once in and, where it is written, once out.
    """
    request = request_of(setup)
    made, item = request.made, np.dtype(request.dtype).itemsize
    terms, time = ", ".join(term.name for term in request.scheme.acting), setup.config.time
    lines = [
        f"scheme       {request.scheme.vorticity_flux}, {terms or 'no terms'}; {time.stepper}, {request.dtype}",
        f"halo         {request.scheme.width} rows and columns",
        f"static       {', '.join(static(made)) or 'no fields'}; along rows {', '.join(made.lines) or 'none'}; "
        f"{len(made.values)} numbers",
    ]
    total = 0
    for number, program in enumerate(made.programs):
        plan = made.schedules[number]
        read = fields_read(made, number)
        moved = item * values_moved(made, number)
        total += moved
        counted = operations(made, program)
        divisions = ", ".join(f"{counted[op]} {op}" for op in ("div", *FUNCTIONS, "power") if counted[op])
        lines += [
            f"pass {number + 1}",
            f"  reads      {', '.join(read)}",
            f"  writes     {', '.join(program.outputs)}",
            f"  rows kept  {sum(depth for _, depth in plan.rings.values())}; {plan.ahead} ahead, "
            f"{plan.east} vectors ahead",
            f"  operations {sum(n * OPERATIONS[op].weight for op, n in counted.items())} a cell"
            + (f" ({divisions})" if divisions else ""),
            f"  bytes      {moved} a cell",
        ]
    return "\n".join([*lines, f"step         {total} bytes a cell"])


def bytes_per_cell(setup) -> int:
    """Bytes that a step must move for each cell."""
    request = request_of(setup)
    numbers = sum(values_moved(request.made, number) for number in range(len(request.made.programs)))
    return np.dtype(request.dtype).itemsize * numbers


def fields_read(made: Generated, number: int) -> list[str]:
    """Fields that a pass reads."""
    return sorted(
        {node.value for node, _ in made.schedules[number].places if node.op == "field"}, key=made.fields.index
    )


def values_moved(made: Generated, number: int) -> int:
    """Numbers that a pass reads or writes for each cell."""
    return len(fields_read(made, number)) + len(made.programs[number].outputs) + len(statics_of(made, number))


def static(made: Generated) -> list[str]:
    """The static fields: names, or what they are made of."""
    made_of = {name: sorted(leaves_of(made.parts[name])) for name in made.statics}
    return [name if name in made_of[name] else f"of {' and '.join(made_of[name])}" for name in made.statics]


def statics_of(made: Generated, number: int) -> set[str]:
    """Static fields that a pass reads where there is no land around."""
    nodes = topological(made.water[ref.node] for ref in made.programs[number].outputs.values())
    return {node.value for node in nodes if node.op == "static"}


def operations(made: Generated, program) -> Counter:
    """Of a cell with water around, each counted once."""
    water = made.water
    nodes = topological([water[ref.node] for ref in program.outputs.values()])
    return Counter(node.op for node in nodes if node.op not in LEAVES)
