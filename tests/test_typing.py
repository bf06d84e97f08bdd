"""mypy accepts correct programs that use swmodel, and finds mistakes in others."""

import re
import subprocess
import sys

import pytest
from conftest import ROOT

import swmodel

pytestmark = pytest.mark.night

EXAMPLE_CODE = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "python.md").read_text(), re.DOTALL)[0]

ANNOTATED_CODE = """
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
model.advance(days=1.5)
model.set(eta=bump, u=0.0)
assert_type(model.state, State)
assert_type(model.dataset(["eta"]), xr.Dataset)
assert_type(model.diagnostics(), dict[str, float])
assert_type(model.config.physics.viscosity, float)
carry0, static, step = swmodel.functional("jet", {"grid.nx": 8})
carry0 = step(carry0, static, 0)
problem = gradients.Problem(swmodel.load("jet"), ["eta"], lambda view, k: view.state.h)
assert_type(problem.first_guess(), dict[str, Any])
"""
#: {mistake: words that the error of mypy must contain}.
MISTAKES = {
    'swmodel.Simulaton("jet")': "Simulaton",
    'swmodel.Simulation("jet", nx=8).advance(dys=3)': "dys",
    'swmodel.Simulation("jet").advance("3")': "Argument 1",
    'swmodel.Simulation("jet", terms=[3])': "List item 0",
    'swmodel.load("jet").grid.nxx': "nxx",
    "swmodel.operators.mxf": "mxf",
}


@pytest.mark.promise("stable names exist")
@pytest.mark.fault("a type error in a user's program")
def test_mypy_accepts_correct_programs_and_finds_mistakes(tmp_path):
    public_names = "\n".join(["import swmodel", *(f"swmodel.{name}" for name in swmodel.__all__)])
    programs = {"example.py": EXAMPLE_CODE, "annotated.py": ANNOTATED_CODE, "public_names.py": public_names}
    programs["mistakes.py"] = "\n".join(["import swmodel", *MISTAKES])
    for name, text in programs.items():
        (tmp_path / name).write_text(text)
    command = [sys.executable, "-m", "mypy", "--config-file=", "--check-untyped-defs", "--follow-imports=silent"]
    command += ["--cache-dir", str(ROOT / ".mypy_cache" / "programs"), "--no-error-summary", *programs]
    process = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert not process.stderr, process.stderr
    errors = process.stdout.splitlines()
    for line, words in enumerate(MISTAKES.values(), start=2):
        assert any(each.startswith(f"mistakes.py:{line}: error: ") and words in each for each in errors), words
    assert [each for each in errors if not each.startswith("mistakes.py:")] == []
