"""The task `check-gradient`: exactness and cost of the derivatives of a configuration.

It differentiates J = sum over cells of (a h² + b u² + c v² + ...), over all fields of the state at the end of the run,
with independent random numbers a, b, c, ... The derivatives are with respect to the inputs x that `controls_of` lists,
along random directions d, e:

    taylor_slope         slope of log |J(x + s d) - J(x) - s <J', d>| over log s
    dot_product_error    |<M d, y> - <d, Mᵀ y>| / |<M d, y>|, M: derivative of the last state, y: random
    hessian_symmetry     |<e, J'' d> - <d, J'' e>| / |<e, J'' d>|
    quotient_error       |(J(x + s d) - J(x - s d)) / (2 s) - <J', d>| / |<J', d>| for a short step s

If the derivatives are exact, the first number is 2, the second and third are round-off, and the last is small.

Upwinding and limiters have kinks: J is continuous, but its derivative jumps where the flow reverses. Each jump within a
step s adds to the Taylor remainder, so that the slope of the remainder is irregular. For such schemes the last check
replaces the first.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import time
from pathlib import Path
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np

from ..errors import NumericalError, Stopped
from ..files.draft import write_text
from ..files.status import dumps
from ..ocean.noise import normal_numbers, white_noise
from ..ocean.state import State
from ..ocean.table import CONTROLS, INPUT_FIELDS, variable_of
from ..ocean.terms import TERM_OF_COEFFICIENT
from ..parallel.environment import peak_memory
from ..parallel.stop import StopRequests
from ..setup.fields import has_field_source
from ..setup.setup import setup_of
from .problem import Problem

if TYPE_CHECKING:
    from ..config.options.model import Config

RESULTS_FILE = "check.json"
#: For each check by name: label, exact result, format.
CHECKS = {
    "taylor_slope": ("Taylor slope", 2, ".4f"),
    "dot_product_error": ("<M d, y> = <d, Mᵀ y>, relative error", 0, ".1e"),
    "hessian_symmetry": ("Hessian's symmetry, relative error", 0, ".1e"),
    "quotient_error": ("difference quotient, relative error", 0, ".1e"),
}
#: The largest errors that are allowed in each precision, in the order of CHECKS.
ERROR_BOUNDS = {"float64": (0.02, 1e-12, 1e-10, 1e-4), "float32": (0.2, 1e-4, 1e-3, 0.1)}
#: The results in the file of the option `json`.
JSON_KEYS = (*CHECKS, "smooth", "nproc", "adjoint_over_forward", "gradient_over_run", "gradient_sha256")
JSON_KEYS += ("peak_bytes_per_rank",)
#: Step lengths s along the direction: 1, 1/4, ...
STEP_LENGTHS = tuple(0.25**k for k in range(9))
#: Remainders, in units in the last place of J, that are well above round-off (for the slope) or above it (quotient).
SLOPE_MIN_ULPS, QUOTIENT_MIN_ULPS = 1e4, 1e2
#: Size of the direction relative to the control, or to `Variable.small_change` for a control that is zero.
RELATIVE_DIRECTION_SIZE = 1e-3


def compute(config: Config, directory, options, report, command_line, watch):
    """Check the derivatives of `config`; see `cli.tasks.TASK_MODULES`.

    Options:
        memory: largest memory of a process, bytes.
        json: path of a file for the results JSON_KEYS.
    """
    finished_checks: list[str] = []
    watch(lambda: len(finished_checks))
    with StopRequests(config.run.walltime) as stop:
        problem = Problem(config, controls_of(config), lambda view, k: view.state, memory=options.get("memory"))
        problem.prepare(problem.first_guess(), curvature=True)
        checks = Checks(problem)
        if not math.isfinite(checks.value) or not math.isfinite(checks.slope):
            raise NumericalError("the run blew up; `swmodel run` shows where and why")

        def run_check(label, function):
            if reason := stop.reason(problem.transport):
                raise Stopped(f"stopped by {reason}; a check cannot be resumed")
            value = function()
            finished_checks.append(label)
            if problem.transport.rank == 0:
                report({"step": len(finished_checks), "steps": 4, "words": label})
            return value

        labels = {"taylor": "Taylor remainders", "dot_product_error": "tangent and adjoint"}
        labels |= {"hessian_symmetry": "Hessian-vector products"}
        results = {name: run_check(label, getattr(checks, name)) for name, label in labels.items()}
        results |= results.pop("taylor")
        results |= {"nproc": problem.transport.size, "gradient_sha256": fingerprint(problem, checks.gradient)}
        results |= run_check("times", checks.time_ratios)
        peak = problem.transport.reduce(np.asarray(peak_memory(), np.int64), "max")
        results |= {"peak_bytes_per_rank": int(peak), "value": checks.value, "dtype": config.run.dtype}
        results |= {"controls": list(problem.names), "steps": problem.steps, "slope_along_direction": checks.slope}
        if problem.transport.rank == 0:
            write_text(Path(directory) / RESULTS_FILE, dumps(results))
            if options.get("json"):
                write_text(options["json"], dumps({key: results[key] for key in JSON_KEYS}))
    if messages := failures(results):
        raise NumericalError(f"the derivatives are not exact: {'; '.join(messages)}")


def controls_of(config: Config) -> list[str]:
    """The names of the controls on which the run depends.

    Records in time, parameters of user-defined terms, and numbers that are fields in this run are left out.
    """
    scheme = setup_of(config).scheme
    coefficient_names = {row.name for term in scheme.active_terms for row in term.coefficients}
    coefficient_names -= {
        name for term in scheme.active_terms if term.unused_coefficients for name in term.unused_coefficients(config)
    }

    def is_active(name: str) -> bool:
        if CONTROLS[name].control in ("records", "fields"):
            return False  # these replace other fields or add to them
        must_be_number = name in INPUT_FIELDS and not CONTROLS[name].control_location
        return (name in coefficient_names or name not in TERM_OF_COEFFICIENT) and not (
            must_be_number and has_field_source(config, name)
        )

    return [*filter(is_active, CONTROLS), *(term.name for term in scheme.tracers)]


def error_bounds(results) -> dict[str, float]:
    """{check: its largest allowed error}; unless `smooth`, the difference quotient replaces the Taylor slope."""
    bounds = dict(zip(CHECKS, ERROR_BOUNDS[results["dtype"]], strict=True))
    bounds.pop("quotient_error" if results["smooth"] else "taylor_slope")
    return {name: bound for name, bound in bounds.items() if name in results}


def failures(results) -> list[str]:
    """A message for each result whose error is larger than allowed."""
    return [
        f"{name} is {results[name]:{CHECKS[name][2]}}, not {CHECKS[name][1]}"
        for name, bound in error_bounds(results).items()
        if not abs(results[name] - CHECKS[name][1]) <= bound
    ]


class Checks:
    """The checks of a Problem whose observer returns the state. The random numbers are the same on every layout.

    Attributes:
        x: the controls at which derivatives are computed.
        loss: the value function of J and its arguments.
        value, gradient: J and dJ/dx at x.
        d, e: the two random directions.
        slope: <J', d>.
    """

    def __init__(self, problem: Problem):
        self.problem, self.x = problem, problem.first_guess()
        if problem.domain.scheme.drying:  # because water at rest and dry ground are at kinks
            self.x = jax.tree.map(jnp.add, self.x, self.direction("first guess"))
        self.loss = self.weighted_squares, self.random_state("weights")
        value, self.gradient = problem.value_and_gradient(self.x, *self.loss)
        self.value, self.d, self.e = float(value), self.direction("d"), self.direction("e")
        self.slope = problem.dot(self.gradient, self.d)

    def weighted_squares(self, series, weights: State):
        return self.problem.transport.sum(sum(jnp.sum(w * x[-1] ** 2) for w, x in zip(weights, series, strict=True)))

    def noise(self, name):
        """Standard normal numbers on this process's cells."""
        dtype = self.problem.config.run.dtype
        return self.problem.transport.make_arrays(lambda block: white_noise(0, name, 0, block).astype(dtype))

    def random_state(self, name) -> State:
        state = self.problem.domain.scheme.state_type
        return state(*(self.noise(f"{name} {field}") for field in state._fields))

    def direction(self, name) -> dict:
        """A random direction in the space of the controls, small relative to each control."""

        def scaled_noise(control, value):
            count = self.problem.config.grid.nx * self.problem.config.grid.ny if value.ndim else 1
            size = math.sqrt(self.problem.dot({control: value}, {control: value}) / count)
            size = RELATIVE_DIRECTION_SIZE * size or RELATIVE_DIRECTION_SIZE * variable_of(control).small_change
            noise = self.noise(f"{name} {control}") if value.ndim else normal_numbers(0, f"{name} {control}", 0)
            return jnp.asarray(size, value.dtype) * jnp.asarray(noise, value.dtype)

        return {control: scaled_noise(control, value) for control, value in self.x.items()}

    def taylor(self) -> dict:
        """`taylor_slope`, `quotient_error` and `smooth`, which says whether the Taylor slope can be checked.

        It can if the scheme has no kinks, and the Taylor remainders of at least two steps are well above round-off. It
        is computed between the two shortest steps with such remainders, the difference quotient at the shortest step at
        which its error is above round-off.
        """

        def value_at(s: float) -> float:
            perturbed = jax.tree.map(lambda x, d: x + jnp.asarray(s, x.dtype) * d, self.x, self.d)
            return float(self.problem.value(perturbed, *self.loss))

        values_forward, values_backward = ([value_at(sign * s) for s in STEP_LENGTHS] for sign in (1, -1))
        remainders = [
            abs(value - self.value - s * self.slope) for s, value in zip(STEP_LENGTHS, values_forward, strict=True)
        ]
        centred_remainders = [
            abs(0.5 * (a - b) - s * self.slope)
            for s, a, b in zip(STEP_LENGTHS, values_forward, values_backward, strict=True)
        ]

        def n_usable(remainders: list[float], ulps: float) -> int:
            floor = ulps * np.finfo(self.problem.config.run.dtype).eps * abs(self.value)
            return len([*itertools.takewhile(lambda remainder: remainder > floor, remainders)])

        last = max(2, n_usable(remainders, SLOPE_MIN_ULPS)) - 1
        shortest = max(2, n_usable(centred_remainders, QUOTIENT_MIN_ULPS)) - 1
        difference = centred_remainders[shortest] / STEP_LENGTHS[shortest]
        return {
            "taylor_slope": log_slope(
                remainders[last - 1], remainders[last], STEP_LENGTHS[last - 1] / STEP_LENGTHS[last]
            ),
            "smooth": self.problem.domain.scheme.is_smooth and n_usable(remainders, SLOPE_MIN_ULPS) >= 2,
            "quotient_error": difference / abs(self.slope) if self.slope else math.inf,
        }

    def dot_product_error(self) -> float:
        """The relative difference of <M d, y> and <d, Mᵀ y>, for a random y at the last state."""
        y = self.random_state("y")
        series, tangent = self.problem.tangent(self.x, self.d)
        series_bar = series._make(jnp.zeros_like(s).at[-1].set(w) for s, w in zip(series, y, strict=True))
        adjoint = self.problem.adjoint(self.x, series_bar)
        tangent_product = self.problem.dot(tangent._asdict(), series_bar._asdict())
        return abs(tangent_product - self.problem.dot(self.d, adjoint)) / abs(tangent_product)

    def hessian_symmetry(self) -> float:
        """The relative difference of <e, J'' d> and <d, J'' e>."""
        e_hessian_d = self.problem.dot(self.e, self.problem.hessian_vector(self.x, self.d, *self.loss))
        d_hessian_e = self.problem.dot(self.d, self.problem.hessian_vector(self.x, self.e, *self.loss))
        return abs(e_hessian_d - d_hessian_e) / abs(e_hessian_d)

    def time_ratios(self) -> dict:
        """The time of value and gradient relative to a forward run; medians of three, measured alternately.

        For adjoint_over_forward, the executor xla computes the forward run; for gradient_over_run the executor of the
        run does, with one step per sweep.
        """
        problem = self.problem
        run = problem.config.run.model_copy(update={"executor": "xla"})
        xla_problem = Problem(problem.config.model_copy(update={"run": run}), problem.names, lambda view, k: view.state)
        functions = (
            lambda: problem.value_and_gradient(self.x, *self.loss),
            lambda: xla_problem.series(self.x),
            lambda: problem.series(self.x),
        )
        for function in functions[1:]:
            jax.block_until_ready(function())
        times = np.median([[measure_seconds(function) for function in functions] for _ in range(3)], axis=0)
        gradient_seconds, xla_seconds, executor_seconds = map(float, problem.transport.reduce(times, "max"))
        return {
            "adjoint_over_forward": gradient_seconds / xla_seconds,
            "gradient_over_run": gradient_seconds / executor_seconds,
        }


def log_slope(previous: float, last: float, ratio: float) -> float:
    """log(previous / last) / log(ratio); inf if either is zero, because J has no curvature or steps are too short."""
    return math.log(previous / last) / math.log(ratio) if previous and last else math.inf


def fingerprint(problem: Problem, gradient: dict) -> str:
    """SHA-256 of a gradient's bytes on the whole grid, control by control, rows from the south; -0 counts as +0."""
    digest, transport, rows = hashlib.sha256(), problem.transport, problem.config.grid.ny
    for name in problem.names:
        local = transport.get(gradient[name]) + np.zeros((), problem.config.run.dtype)
        full_field = transport.gather_rows(local, 0, rows) if local.ndim else local
        if transport.rank == 0:
            digest.update(np.ascontiguousarray(full_field).tobytes())
    return transport.broadcast(digest.hexdigest())


def measure_seconds(function) -> float:
    """Wall-clock time of a call until its result is ready, s."""
    start = time.perf_counter()
    jax.block_until_ready(function())
    return time.perf_counter() - start


def summary(directory) -> str:
    from rich.console import Console
    from rich.table import Table

    results = json.loads((Path(directory) / RESULTS_FILE).read_text())
    table = Table("check", "result", "exact", title=f"{results['steps']} steps in {results['dtype']}")
    for name, bound in error_bounds(results).items():
        label, exact, number_format = CHECKS[name]
        table.add_row(label, f"{results[name]:{number_format}}", f"{exact} ± {bound}" if exact else f"≤ {bound}")
    table.add_row("time of gradient over forward run", f"{results['gradient_over_run']:.2f}", "")
    table.add_row("time of gradient over forward run with xla", f"{results['adjoint_over_forward']:.2f}", "")
    table.add_row("largest memory of a process", f"{results['peak_bytes_per_rank'] / 1e6:.0f} MB", "")
    table.add_row("processes", str(results["nproc"]), "")
    console = Console(width=100)
    with console.capture() as text:
        console.print(table)
        console.print(f"with respect to {', '.join(results['controls'])}", highlight=False)
    return text.get().rstrip()
