"""The memory that a derivative may hold is a number that is kept: measured peaks of processes."""

import subprocess
import sys

import pytest
from conftest import ROOT

pytestmark = pytest.mark.slow

CELLS, STEPS = 400, 64
#: h, u, v before each step, float64: 245 MB.
TRAJECTORY = STEPS * 3 * 8 * CELLS**2

PROGRAM = """
import sys
from swmodel.parallel import environment
environment.prepare()
import jax, jax.numpy as jnp, swmodel
from swmodel.gradients import Problem
cells, steps, bound, piece, fields = map(int, sys.argv[1:])
settings = {"grid.nx": cells, "grid.ny": cells, "run.steps": steps, "run.dtype": "float64", "time.stepper": "ab2"}
config = swmodel.load("jet", settings, environ={})
def observe(view, k):
    squares = (view.state.h - view.depth) ** 2
    return squares if fields else jnp.sum(squares)
problem = Problem(config, ["eta"], observe, every=steps // 16, memory=bound)
if piece:
    problem.in_pieces(piece, lambda *of: None)
value, gradient = problem.value_and_gradient(problem.first_guess(), lambda series: jnp.sum(series[-1]))
print(float(value), problem.dot(gradient, gradient), environment.peak_memory())
"""


def measured(bound, piece=0, fields=0):
    """What a gradient of the sum of eta², in pieces, has for a result; the most memory that its process held, bytes."""
    line = [sys.executable, "-c", PROGRAM, str(CELLS), str(STEPS), str(bound), str(piece), str(fields)]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    *result, peak = done.stdout.split()
    return result, int(peak)


@pytest.fixture(scope="module")
def unbounded():
    return measured(10**12)


@pytest.mark.promise("the memory of a derivative is bounded")
@pytest.mark.parametrize(("part", "piece"), [(0.7, 0), (0.4, 5)])
def test_a_process_holds_no_more_than_the_bound(unbounded, part, piece):
    """A bound that this part of the trajectory fits below, beside all that is not of it; in one piece or in several."""
    result, most = unbounded
    bound = int(most - (1 - part) * TRAJECTORY)
    same, peak = measured(bound, piece)
    assert peak <= bound < most
    assert same == result


@pytest.mark.night
def test_what_is_observed_counts():
    """Fields of 17 samples, 22 MB, and their cotangents."""
    bound = 700 * 10**6
    _, peak = measured(bound, fields=1)
    assert peak <= bound
