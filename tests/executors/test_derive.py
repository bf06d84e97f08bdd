"""The tangent of the graph of a step is the derivative of the step, and the transpose is that of the tangent."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support.numpy_dynamics import FLUXES

from swmodel.executors.native.derive import leaf_offsets, tangent, transpose
from swmodel.executors.native.graph import Coefficient, Graph, Ref, evaluate, nodes_of
from swmodel.executors.native.operations import OPERATIONS
from swmodel.executors.native.rewrite import fold_constants
from swmodel.executors.native.trace import Tracing
from swmodel.ocean import terms
from swmodel.ocean.scheme import Scheme
from swmodel.ocean.terms.term import Term
from swmodel.ocean.timestep import STEPPERS, method_of

NY, NX = 9, 11
#: All terms but the one that needs drying, whose derivatives are tested in tests/executors/test_covering.py.
ALL_TERMS = tuple(name for name in terms.TERMS if name != "green_ampt")
#: The fraction of the cells in which each mask is 1.
MASKS = dict.fromkeys(("wet", "open_u", "open_v", "slip", "corner_weight"), 1.0)
MASKS |= {"open_boundary_u": 0.2, "open_boundary_v": 0.2, "dry_corner": 0.0}
SCHEMES = [
    *((flux, stepper, ()) for flux, stepper in itertools.product(FLUXES, STEPPERS)),
    *(("enstrophy", "ab2", (name,)) for name in ALL_TERMS),
    *(("energy", "gfb", (name,)) for name in ALL_TERMS),
    pytest.param("arakawa_lamb", "rk4", ALL_TERMS, marks=pytest.mark.slow, id="every term"),
]


class TorusStep:
    """The step of a scheme on a doubly periodic sea, to differentiate with respect to the state and the `controls`."""

    def __init__(self, scheme, method):
        active_terms = [terms.TERMS[name] for name in scheme.term_names]
        coefficients = [row.name for term in active_terms for row in term.coefficients]
        fields = [row.name for term in active_terms for row in term.fields]
        self.controls = ["gravity", "depth", *coefficients]
        names = ["gravity", "density", "f", "depth", *coefficients, *fields]
        kinds = {name: "static" if name in self.controls else "number" for name in names}
        kinds |= {"f": "row_static", "gravity": "row_static"}
        scalar_names = [name for name, kind in kinds.items() if kind == "number"]
        scalars = {name: np.ones((1, 1), np.uint32 if "turns" in name else float) for name in scalar_names}
        scalars |= {f"weight{k}": np.full((1, 1), 0.01 * (k + 1)) for k in range(method.weight_and_state_counts[0])}
        scalars |= {"dx": np.full((1, 1), 1.3), "dy": np.full((1, 1), 0.8)}
        self.tracing = Tracing(scheme, tuple(sorted(kinds.items())), scalars, np.dtype(float), self.controls)
        self.graph = self.tracing.graph
        self.programs = self.tracing.programs(method, np.zeros((), np.int32), separate_stages=True)
        self.outputs = list(self.programs[-1].outputs)

    def random_inputs(self, programs, seed=0):
        """Random values of all fields and masks that the programs read."""
        rng, values = np.random.default_rng(seed), {}
        for node in nodes_of(programs):
            if node.op in ("field", "static", "row_static"):
                values[node.value] = 1 + 0.3 * rng.random((NY, 1) if node.op == "row_static" else (NY, NX))
            elif node.op == "mask":
                values[node.value] = (rng.random((NY, NX)) < MASKS[node.value]).astype(float)
        return values

    def run(self, programs, fields) -> list[dict]:
        """The fields before each of the programs, and after the last."""
        states = [fields]
        for program in programs:
            states.append(states[-1] | evaluate(program.outputs, states[-1], self.graph.values, np))
        return states


def check_tangent_and_transpose(step: TorusStep):
    """Check that <y, M d> is <Mᵀ y, d> and a difference quotient for the tangent M; returns the adjoint programs."""
    forward = tangent(step.graph, step.programs, step.controls)
    fields = step.random_inputs(forward)
    states = step.run(forward, fields)
    rng = np.random.default_rng(1)
    y = {name: rng.standard_normal((NY, NX)) for name in step.outputs}
    slope = sum(np.vdot(y[name], states[-1][f"d.{name}"]) for name in step.outputs)

    adjoint_programs = transpose(step.graph, step.programs, step.outputs, step.controls)
    bars = {f"bar.{name}": field for name, field in y.items()}
    bars |= {f"grad.{name}": np.zeros((NY, NX)) for name in step.controls}
    for program, before in zip(adjoint_programs, reversed(states[:-1]), strict=True):
        bars |= evaluate(program.outputs, before | bars, step.graph.values, np)
    directions = {name: fields[f"d.{name}"] for name in (*step.outputs, *step.controls) if f"d.{name}" in fields}
    gradients = {name: bars.get(f"bar.{name}", bars.get(f"grad.{name}", np.zeros((NY, NX)))) for name in directions}
    adjoint_slope = sum(np.vdot(np.broadcast_to(d, (NY, NX)), gradients[name]) for name, d in directions.items())
    assert adjoint_slope == pytest.approx(slope, rel=1e-12)

    epsilon, values = 1e-7, []
    for sign in (1, -1):
        perturbed = fields | {name: fields[name] + sign * epsilon * d for name, d in directions.items()}
        result = step.run(step.programs, perturbed)[-1]
        values.append(sum(np.vdot(y[name], result[name]) for name in step.outputs))
    assert (values[0] - values[1]) / (2 * epsilon) == pytest.approx(slope, rel=1e-6)
    return adjoint_programs


@pytest.mark.promise(
    "the native adjoint step is the transpose of the step, for every term, stepper and function that a term may use"
)
@pytest.mark.parametrize(("flux", "stepper", "names"), SCHEMES, ids=lambda choice: "".join(choice) or "plain")
@pytest.mark.slow
def test_tangent_and_transpose_are_the_derivative(flux, stepper, names):
    scheme = Scheme(flux, names, is_forward_backward=stepper == "gfb")
    programs = check_tangent_and_transpose(TorusStep(scheme, method_of(stepper)))
    offsets = [offset for program in programs for leaf in leaf_offsets(program.outputs).values() for offset in leaf]
    assert 0 < np.abs(offsets).max() <= scheme.adjoint_static_halo


@pytest.mark.parametrize("op", ["add", "sub", "mul", "fma", "fms", "fnma", "axpy"])
def test_folding_of_zeros_and_ones_keeps_values(op):
    """This holds whether an operand is a field or, as a mask on water, the number 0 or 1."""
    count, x = OPERATIONS[op].value.__code__.co_argcount - 2, np.array([[0.7, -1.3]])
    for operands in itertools.product((0.0, 1.0, "x"), repeat=count):
        graph = Graph(np.dtype(float))
        args = [Ref(graph.leaf("field" if operand == "x" else "number", operand)) for operand in operands]
        node = graph.node(op, tuple(args), Coefficient(3.0) if op == "axpy" else None, False, False)
        refs = fold_constants(graph, node, args), Ref(node)
        folded, expected = (np.broadcast_to(evaluate({"y": ref}, {"x": x}, {}, np)["y"], x.shape) for ref in refs)
        np.testing.assert_array_equal(folded, expected, str(operands))


def tendency_of_all_functions(flow, params, now):
    """Every function that a term may use, where it is smooth and where it is not."""
    x, y = flow.h, flow.u
    xp = x.values.__array_namespace__()
    smooth = x.map(lambda a: xp.exp(-a) + xp.sin(a) * xp.cos(a) + xp.log(a) + xp.cbrt(a) + xp.sqrt(a) + a**0.4 + a**3)
    kinked = y.map(lambda a: xp.maximum(a - 1.1, 0.3 * a) * xp.minimum(a, 1.2) + abs(a - 1.15))
    conditional = x.map(lambda a: xp.where(a > 1.1, xp.exp(a), -a))
    return {"h": smooth / x, "u": kinked * y, "v": conditional * flow.v}


@pytest.mark.promise(
    "the native adjoint step is the transpose of the step, for every term, stepper and function that a term may use"
)
def test_every_function_of_a_term_is_differentiated(monkeypatch):
    monkeypatch.setitem(terms.TERMS, "all_functions", Term("all_functions", tendency_of_all_functions))
    check_tangent_and_transpose(TorusStep(Scheme("energy", ("all_functions",)), method_of("ab2")))


@pytest.mark.parametrize(
    ("op", "function", "at"),
    [("abs", jnp.abs, [0.0]), ("maximum", jnp.maximum, [2.0, 2.0]), ("minimum", jnp.minimum, [2.0, 2.0])],
)
def test_derivative_at_a_kink_is_that_of_jax(op, function, at):
    """The derivative of abs at 0 is that from above; equal operands of a maximum or minimum have 1/2 each."""
    value = OPERATIONS[op].value(np, None, *at)
    derivatives = [multiply(1.0) for multiply in OPERATIONS[op].derivatives(np, None, value, *at)]
    np.testing.assert_array_equal(derivatives, jax.grad(function, argnums=range(len(at)))(*at))
