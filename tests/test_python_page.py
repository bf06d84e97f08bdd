"""The programs of docs/python.md and docs/terms.md run as they stand there; the first is a case in thirty lines."""

import ast
import re
import subprocess
import sys

import numpy as np
import pytest
import xarray as xr
from click.testing import CliRunner
from conftest import ROOT

import swmodel
from swmodel.cli import main
from swmodel.config import Config
from swmodel.files import run_folder

PAGE, TERMS = ((ROOT / "docs" / f"{name}.md").read_text() for name in ("python", "terms"))
TUTORIAL, PURE, DEVICES = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
CASE, TYPED = re.findall(r"```python\n(.*?)```", TERMS, re.DOTALL)


def test_the_case_in_thirty_lines_runs_and_leaves_what_it_says(tmp_path, monkeypatch, capsys):
    """A tenth of a day of it."""
    assert len([line for line in TUTORIAL.splitlines() if line.strip()]) <= 30
    monkeypatch.chdir(tmp_path)
    program = TUTORIAL.replace('"run.days": 10', '"run.days": 0.1').replace('"2 days"', '"1 h"')
    assert program != TUTORIAL
    names = {}
    exec(compile(program, "mine.py", "exec"), names)
    model = names["model"]
    assert capsys.readouterr().out.count(" m/s\n") == 2
    with xr.open_dataset("outputs/mine/output.nc") as stored:
        np.testing.assert_allclose(stored.depth, 100 - names["ridge"])
        assert float(np.abs(stored.u[-1]).max()) > 0
    assert [text.split()[0] for text in model.config.python.fields] == ["depth", "wind_x", "roughness"]
    assert [term.name for term in model.scheme.own] == ["drag"]


def test_the_case_with_a_term_runs_from_the_command_line_and_is_resumed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "icy.py").write_text(CASE)
    small = ["-s", "grid.nx=12", "-s", "grid.ny=150", "--executor", "xla", "--quiet", "-s", "case.strength=2e-3"]
    for line in (["run", "icy.py", *small, "--steps", "2", "-o", "icy"], ["resume", "icy", "--steps", "3", "--quiet"]):
        done = CliRunner().invoke(main, line)
        assert done.exit_code == 0, done.output
    model = swmodel.Simulation.from_restart("icy")
    assert (model.step, model.config.case.strength) == (3, 2e-3)
    assert [term.name for term in model.scheme.own] == ["ice_drag"]


def test_the_annotated_term_is_one_of_a_model(monkeypatch):
    monkeypatch.setenv("SWMODEL_RUN_EXECUTOR", "xla")
    names = {}
    exec(compile(TYPED, "typed.py", "exec"), names)
    small = {"grid.nx": 8, "grid.ny": 6}
    model = swmodel.Simulation(swmodel.Case, small, fields={"roughness": 1.0, "u": 0.1}, terms=[names["drag"]])
    model.advance(2)
    assert [term.name for term in model.scheme.own] == ["drag"]


@pytest.mark.compiled
def test_the_pure_functions_are_differentiated():
    names = {}
    exec(PURE, names)
    assert np.abs(names["slope"]).max() > 0
    assert "shard_map(step, mesh=step.mesh, in_specs=specs" in DEVICES
    names["step"].specs(names["carry0"])


#: In a new process: each public name must be there after `import swmodel`; other modules may have to be imported.
LOOK = """
import functools, pkgutil, sys, swmodel
for name in sys.argv[1:]:
    first, *rest = name.split(".")
    if first in (*swmodel.__all__, *swmodel.MODULES):
        functools.reduce(getattr, [first, *rest], swmodel)
    else:
        pkgutil.resolve_name(f"swmodel.{name}")
"""


def test_every_name_of_the_package_that_the_pages_have_is_there():
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    names = {
        name for page in pages for name in re.findall(r"\bswmodel\.([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)", page.read_text())
    }
    assert {"Simulation", "gradients.Problem", "errors.Stopped"} <= names
    done = subprocess.run([sys.executable, "-c", LOOK, *sorted(names)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_the_reference_lists_every_public_name():
    program = (ROOT / "docs" / "site" / "reference.py").read_text()
    (listed,) = re.findall(r"^PUBLIC = (\{.*?^\})", program, re.DOTALL | re.MULTILINE)
    names = [name for part in ast.literal_eval(listed).values() for name in part]
    assert sorted(names) == sorted([*swmodel.__all__, *swmodel.MODULES])


def test_the_stable_names_are_those_of_the_package():
    public = {"gradients.Problem", "typing", "errors", *swmodel.__all__}
    assert sorted(re.findall(r"`swmodel\.([\w.]+)`", part("Python"))) == sorted(public)
    assert set(re.findall(r"`([a-z-]+)`", part("Command line").split("\n\n`-s")[0])) == {
        name for name, command in main.commands.items() if not command.hidden
    }
    sections = part("Configuration").split("Sections: ")[1].split(". ")[0]
    assert re.findall(r"`(\w+)`", sections) == list(Config.model_fields)
    files = set(re.findall(r"`([a-z]+\.(?:nc|toml|json))`", part("Files")))
    assert files == {*run_folder.FILES, run_folder.ENSEMBLE, run_folder.SENSITIVITY, run_folder.ANALYSIS}


def part(name):
    """A part of the page of what stays."""
    return (ROOT / "docs" / "stable.md").read_text().split(f"## {name}\n")[1].split("\n## ")[0]


@pytest.mark.parametrize("path", re.findall(r"\]\(((?!http)[^)#]+)(?:#[^)]*)?\)", PAGE + TERMS))
def test_links_lead_to_files(path):
    assert (ROOT / "docs" / path).is_file()
