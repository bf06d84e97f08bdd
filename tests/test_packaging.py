"""What is declared about the package is true, and a machine that lacks something is told so in one line."""

from __future__ import annotations

import ast
import importlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from swmodel.extras import EXTRAS

pytestmark = pytest.mark.night

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

#: Packages whose import name is not that of the distribution.
IMPORT_NAMES = {
    "checkpoint-schedules": "checkpoint_schedules",
    "imageio-ffmpeg": "imageio_ffmpeg",
    "compliance-checker": "compliance_checker",
    "pillow": "PIL",
    "pytest-xdist": "xdist",
    "pyyaml": "yaml",
}
#: Used as programs or with JAX and NetCDF files rather than imported by name.
PROGRAMS = {"mypy", "ruff"}


def names(requirements) -> set[str]:
    """Import names of requirements such as "jax>=0.10"."""
    packages = {re.match(r"[\w.-]+", requirement)[0] for requirement in requirements}
    return {IMPORT_NAMES.get(package, package) for package in packages - PROGRAMS}


def imported(folder: str) -> set[str]:
    """Third-party packages that the Python files of a folder import."""
    found = set()
    for path in (ROOT / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                found.add(node.module.split(".")[0])
    own = {path.stem for path in (ROOT / folder).rglob("*") if path.is_dir() or path.suffix == ".py"}
    return found - set(sys.stdlib_module_names) - own - {"swmodel", "tools"}


def make(*arguments, **variables):
    """Run make in the project with variables of the environment added."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    return subprocess.run(
        ["make", *arguments],
        cwd=ROOT,
        env=environment | variables,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_what_the_model_imports_is_what_it_depends_on():
    extras = PROJECT["optional-dependencies"]
    used = names(PROJECT["dependencies"]).union(*(names(extras[extra]) for extra in ("mpi", "animate", "bmi", "zarr")))
    assert imported("swmodel") == used


def test_what_the_tests_import_is_declared():
    declared = names(PROJECT["dependencies"]).union(*map(names, PROJECT["optional-dependencies"].values()))
    assert imported("tests") <= declared


def test_a_missing_optional_package_is_named_with_the_extra_that_installs_it():
    for package, extra in EXTRAS.items():
        assert package in names(PROJECT["optional-dependencies"][extra])
    program = 'import sys; sys.modules["bmipy"] = None; import swmodel.bmi'
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT)
    assert done.stderr.splitlines()[-1].endswith('needs the package bmipy: pip install "swmodel[bmi]"')


def test_the_program_is_the_entry_point():
    module, function = PROJECT["scripts"]["swmodel"].split(":")
    assert callable(getattr(importlib.import_module(module), function))


def test_one_version_everywhere():
    version = PROJECT["version"]
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"version = {{{version}}}" in (ROOT / "README.md").read_text()
    assert re.search(r"^## (\d\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[1] == version


@pytest.mark.parametrize(
    "script",
    [
        ".ci/run",
        "tools/build-native",
        "tools/install-mpi",
        "examples/slurm.sh",
        "examples/slurm-resume.sh",
        "benchmarks/slurm.sh",
    ],
)
def test_scripts_are_executable_and_stop_at_errors(script):
    path = ROOT / script
    assert os.access(path, os.X_OK)
    assert "\nset -euo pipefail\n" in path.read_text()
    subprocess.run(["bash", "-n", path], check=True)


def test_ci_runs_the_test_command_of_the_readme_and_the_rest():
    assert (ROOT / ".ci" / "run").read_text().endswith("\nmake test\nmake test-all\n")
    assert re.search(r"^make test\b", (ROOT / "README.md").read_text(), re.MULTILINE)


def test_a_missing_compiler_is_one_line_before_anything_is_installed(tmp_path):
    done = make("setup", f"VENV={tmp_path}/venv", CC="no-such-compiler")
    assert done.returncode != 0
    assert done.stderr.splitlines()[0] == (
        "swmodel needs a C and C++ compiler, not found: install gcc and g++ or clang, or set CC"
    )
    assert list(tmp_path.iterdir()) == []


def test_a_missing_python_is_one_line(tmp_path):
    done = make("setup", f"VENV={tmp_path}/venv", "PYTHON=")
    assert done.returncode != 0
    assert done.stderr.splitlines()[0] == (
        "swmodel needs Python 3.11 or newer, not found: install it or say PYTHON=/path/to/python3"
    )
    assert list(tmp_path.iterdir()) == []


def test_a_second_set_up_installs_nothing(tmp_path):
    made = [".model-embedded", ".ready-embedded"]
    for name in made:
        (tmp_path / name).touch()
    done = make("setup", f"VENV={tmp_path}")
    assert done.stdout == f"Ready: . {tmp_path}/bin/activate\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == made


@pytest.fixture
def python_without_pip(tmp_path):
    """A Python that has what this one has but refuses to install or remove anything."""
    program = tmp_path / "python"
    program.write_text(f'#!/bin/sh\ncase "$*" in *"-m pip"*) exit 9;; esac\nexec "{sys.executable}" "$@"\n')
    program.chmod(0o755)
    return program


@pytest.mark.parametrize(
    ("mpi", "variables", "message"),
    [
        ("embedded", {"CC": "no-such-compiler"}, "mpi4jax needs a C and C++ compiler, not found"),
        (
            "system",
            {"CC": shutil.which(os.environ.get("CC", "cc")), "PATH": "/no-mpicc-here"},
            "MPI=system needs mpicc on PATH, not found",
        ),
        ("other", {}, "unknown MPI 'other': embedded or system"),
    ],
)
def test_mpi_that_cannot_be_installed_is_one_line(mpi, variables, message, python_without_pip):
    done = subprocess.run(
        ["/bin/bash", ROOT / "tools" / "install-mpi", python_without_pip, mpi],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.startswith(f"install-mpi: {message}")
    assert done.stderr.count("\n") == 1
