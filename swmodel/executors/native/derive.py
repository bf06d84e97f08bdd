"""Tangent and transpose of Programs, as Programs, for derivatives of a step.

Every operation is pointwise or a shift, and the transpose of a shift is the opposite shift. So the adjoint of a step
also gathers values from neighbouring cells, adds nothing to theirs, and has the same bits on every layout.

The tangent of x has the name "d.x", the adjoint of x "bar.x". Adjoints of static fields are summed over the steps, cell
by cell, in "grad.x".

Reference: Hückelheim, J., and others (2019), Automatic differentiation for adjoint stencil loops, ICPP.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from .graph import CONDITIONS, Coefficient, Graph, Node, Program, Ref, nodes_of, read_offsets, topological
from .operations import OPERATIONS
from .symbol import SYMBOL_NAMESPACE, Symbol, to_ref
from .trace import Tracing


def step_programs(tracing: Tracing, method, step, derivative, controls, rotates_planes: bool) -> list[Program]:
    """The passes of a step, or of its derivatives.

    `derivative` lists transformations: "tangent" adds the tangents of all values; "adjoint" computes the inner stages,
    and then the adjoints of the start from those of the results. `controls` are the static fields to differentiate with
    respect to; their tangents have no adjoints. `rotates_planes` is that of `Tracing.programs`.
    """
    programs = tracing.programs(
        method, step, separate_stages="adjoint" in derivative, rotates_planes=rotates_planes and not derivative
    )
    live = list(programs[-1].outputs)
    for transformation in derivative:
        if transformation == "tangent":
            programs = tangent(tracing.graph, programs, controls)
            live += [f"d.{name}" for name in live]
        else:
            programs = [*programs[:-1], *transpose(tracing.graph, programs, live, controls)]
    if "adjoint" in derivative:
        following = [*programs[1:], programs[0]]
        programs = [p._replace(sent_fields=after.halo_fields) for p, after in zip(programs, following, strict=True)]
    return programs


def tangent(graph: Graph, programs: list[Program], controls) -> list[Program]:
    """The programs, which also compute the tangents of their outputs; `controls` are those of `step_programs`."""
    active, tangents = active_nodes(programs, controls), {}
    for node in nodes_of(programs):
        if node in active and not node.args:
            tangents[node] = symbol(
                graph, Ref(graph.leaf(node.op, f"d.{node.value}", keeps_column=not node.is_uniform_in_row))
            )
        elif node in active:
            for arg, partial in partials(graph, node):
                if arg.node in active:
                    contribution = partial(tangents[arg.node].moved(arg.row, arg.column))
                    tangents[node] = tangents[node] + contribution if node in tangents else contribution

    def with_tangent(program):
        zero = symbol(graph, graph.number(0.0))
        outputs = dict(program.outputs)
        for name, ref in program.outputs.items():
            outputs[f"d.{name}"] = to_ref(tangents.get(ref.node, zero).moved(ref.row, ref.column))
        halo_fields, sent_fields = (
            (*names, *(f"d.{name}" for name in names)) for names in (program.halo_fields, program.sent_fields)
        )
        return Program(halo_fields, sent_fields, outputs)

    return [with_tangent(program) for program in programs]


def transpose(graph: Graph, programs: list[Program], live, controls) -> list[Program]:
    """The programs that compute the adjoints of the inputs of `programs` from those of their results.

    The new programs are in the order of execution, without `sent_fields`; `live` are the fields used after `programs`.
    """
    live, transposed = set(live), []
    for program in reversed(programs):
        bars, outputs = adjoints(graph, program, live, active_nodes([program], controls)), {}
        for node, bar in bars.items():
            name = f"bar.{node.value}" if node.op == "field" else f"grad.{node.value}"
            if node.op != "field" or node.value in live - set(program.outputs):
                bar = field(graph, name) + bar
            outputs[name] = to_ref(bar)
        live = (live - set(program.outputs)) | {node.value for node in bars if node.op == "field"}
        offsets_of_leaves = leaf_offsets(outputs).items()
        halo_fields = [name for (op, name), offsets in offsets_of_leaves if op == "field" and offsets - {(0, 0)}]
        transposed.append(Program(tuple(halo_fields), (), outputs))
    return transposed


def adjoints(graph: Graph, program: Program, live, active) -> dict[Node, Symbol]:
    """{leaf of a program: the contribution of the program to its adjoint}."""
    bars: dict[Node, Symbol] = {}

    def add_contribution(ref: Ref, contribution: Symbol):
        contribution = contribution.moved(-ref.row, -ref.column)
        bars[ref.node] = bars[ref.node] + contribution if ref.node in bars else contribution

    for name, ref in program.outputs.items():
        if ref.node in active and name in live:
            add_contribution(ref, field(graph, f"bar.{name}"))
    for node in reversed(topological(program.outputs.values())):
        if node in bars and node.args:
            for arg, partial in partials(graph, node):
                if arg.node in active:
                    add_contribution(arg, partial(bars[node]))
            del bars[node]
    return bars


def active_nodes(programs: list[Program], controls) -> set[Node]:
    """The nodes that depend, other than through conditions, on fields or on static fields in `controls`."""
    active = set()
    for node in nodes_of(programs):
        is_input = node.op == "field" or (node.op in ("static", "row_static") and node.value in controls)
        if is_input or (node.op not in CONDITIONS and any(ref.node in active for ref in node.args)):
            active.add(node)
    return active


def partials(graph: Graph, node: Node) -> Iterator[tuple[Ref, Callable[[Symbol], Symbol]]]:
    """The operands of a node, each with a function that multiplies a Symbol by the derivative with respect to it."""
    value, *operands = (symbol(graph, ref) for ref in (Ref(node), *node.args))
    derivatives = OPERATIONS[node.op].derivatives
    assert derivatives is not None  # as in all nodes before differentiation, except conditions, which are not active
    yield from zip(node.args, derivatives(SYMBOL_NAMESPACE, node.value, value, *operands), strict=True)


def symbol(graph: Graph, ref: Ref) -> Symbol:
    if ref.node.op == "number":
        return Symbol(graph, (1, 1), Coefficient(ref.node.value))
    return Symbol(graph, (1, 1), ref=ref)


def field(graph: Graph, name: str) -> Symbol:
    return symbol(graph, Ref(graph.leaf("field", name)))


def leaf_offsets(outputs: dict[str, Ref]) -> dict[tuple[str, str], set[tuple[int, int]]]:
    """{(operation, name) of a leaf: {offsets (rows, columns) at which outputs read it}}."""
    return {(node.op, node.value): cells for node, cells in read_offsets(outputs.values()).items() if not node.args}
