"""What a type checker says of programs that use swmodel: nothing of right ones, and where the mistake is in others."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from conftest import ROOT

import swmodel

pytestmark = pytest.mark.night

TUTORIAL = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "python.md").read_text(), re.DOTALL)[0]

ANNOTATED = """
from typing import Any, assert_type

import numpy as np
import xarray as xr

import swmodel
from swmodel import gradients, operators as op
from swmodel.typing import Flow, Grid, Patch, Points, State


def bump(at: Points) -> np.ndarray:
    return np.exp(-(at.x**2 + at.y**2) / 50e3**2)


def drag(state: Flow, grid: Grid, t: Any, roughness: Patch) -> dict[str, Patch]:
    return {"u": op.where(state.h_u > 1.0, -op.mx_f(roughness) * state.u / state.h_u, 0.0)}


class Icy(swmodel.Case):
    strength: float = swmodel.option(1e-3, "1", "of the drag")


model = swmodel.Simulation(Icy, {"grid.nx": 8}, fields={"eta": bump, "roughness": 1e-3}, terms=[drag])
model.every("6 h", lambda model: print(model.time))
model.advance(days=1.5)
model.set(eta=bump, u=0.0)
assert_type(model.state, State)
assert_type(model.time, float)
assert_type(model.dataset(["eta"]), xr.Dataset)
assert_type(model.diagnostics(), dict[str, float])
assert_type(model.config, swmodel.Config)
assert_type(model.config.grid.nx, int)
assert_type(model.config.physics.viscosity, float)
assert_type(swmodel.Simulation.resume("outputs/mine"), swmodel.Simulation)
carry0, static, step = swmodel.functional("jet", {"grid.nx": 8})
carry0 = step(carry0, static, 0)
problem = gradients.Problem(swmodel.load("jet"), ["eta"], lambda view, k: view.state.h)
assert_type(problem.first_guess(), dict[str, Any])
"""

MISTAKES = {
    'swmodel.Simulaton("jet")': 'Module has no attribute "Simulaton"',
    'swmodel.Simulation("jet", nx=8).advance(dys=3)': 'Unexpected keyword argument "dys" for "advance"',
    'swmodel.Simulation("jet").advance("3")': 'Argument 1 to "advance" of "Simulation" has incompatible type "str"',
    'swmodel.Simulation("jet", terms=[3])': 'List item 0 has incompatible type "int"',
    'swmodel.load("jet").grid.nxx': '"Grid" has no attribute "nxx"',
    "swmodel.operators.mxf": 'Module has no attribute "mxf"',
}


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """What mypy says of each program, by the name of its file."""
    folder = tmp_path_factory.mktemp("typed")
    mistakes = "\n".join(["import swmodel", *MISTAKES])
    public = "\n".join(["import swmodel", *(f"swmodel.{name}" for name in swmodel.__all__)])
    programs = {"tutorial.py": TUTORIAL, "annotated.py": ANNOTATED, "mistakes.py": mistakes, "public.py": public}
    for name, text in programs.items():
        (folder / name).write_text(text)
    command = [sys.executable, "-m", "mypy", "--config-file=", "--check-untyped-defs", "--follow-imports=silent"]
    command += ["--cache-dir", str(ROOT / ".mypy_cache" / "programs"), "--no-error-summary", *programs]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    assert not done.stderr, done.stderr
    assert done.returncode in (0, 1)
    return {name: [line for line in done.stdout.splitlines() if line.startswith(name)] for name in programs}


@pytest.mark.promise("stable names exist")
@pytest.mark.parametrize("name", ["tutorial.py", "annotated.py", "public.py"])
def test_a_right_program_has_the_types_that_it_says(said, name):
    assert said[name] == []


@pytest.mark.fault("a type error in a user's program")
@pytest.mark.parametrize(("line", "words"), list(enumerate(MISTAKES.values(), start=2)), ids=list(MISTAKES))
def test_a_mistake_is_found_where_it_is(said, line, words):
    assert any(found.startswith(f"mistakes.py:{line}: error: {words}") for found in said["mistakes.py"])
