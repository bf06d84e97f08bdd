"""The metadata of the package, and its wheel, installed in an otherwise empty Python, as users get it."""

import ast
import importlib.metadata
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile

import pytest
from conftest import ROOT

from swmodel.extras import EXTRAS

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
DEPENDENCIES, OPTIONAL_DEPENDENCIES = PROJECT["dependencies"], PROJECT["optional-dependencies"]


def package_names(requirements) -> set[str]:
    """The package names, in lower case, of requirements such as "jax>=0.10"."""
    return {re.match(r"[\w.-]+", each)[0].lower().replace("_", "-") for each in requirements}


def imported_packages(folder: str) -> set[str]:
    paths = [*(ROOT / folder).rglob("*.py")]
    nodes = [node for path in paths for node in ast.walk(ast.parse(path.read_text()))]
    found = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    found |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) and not node.level}
    own = {"swmodel", "tools"} | {part for path in paths for part in path.relative_to(ROOT).with_suffix("").parts}
    names = {name.split(".")[0] for name in found} - set(sys.stdlib_module_names) - own
    of = importlib.metadata.packages_distributions()
    return package_names(package for name in names for package in of.get(name, [name]))


@pytest.mark.slow
def test_imported_packages_are_the_declared_ones():
    extras = "mpi", "animate", "bmi", "gis", "tides", "zarr"
    declared = sum((OPTIONAL_DEPENDENCIES[name] for name in extras), DEPENDENCIES)
    assert imported_packages("swmodel") == package_names(declared)
    assert imported_packages("tests") <= package_names(sum(OPTIONAL_DEPENDENCIES.values(), DEPENDENCIES))
    assert all(package.lower() in package_names(OPTIONAL_DEPENDENCIES[extra]) for package, extra in EXTRAS.items())


def run_command(*line, **variables):
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    return subprocess.run(line, cwd=ROOT, env=environ | variables, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize(("lacking", "named"), [("CC=no-such-compiler", "compiler"), ("PYTHON=", "Python 3.11")])
def test_set_up_without_compiler_or_python_installs_nothing(lacking, named, tmp_path):
    done = run_command("make", "setup", f"VENV={tmp_path}/venv", lacking)
    assert done.returncode != 0
    assert named in done.stderr.splitlines()[0]
    assert list(tmp_path.iterdir()) == []


RUN_COMMAND = ["run", "jet", "-s", "grid.nx=24", "-s", "grid.ny=12", "--steps", "5", "--force"]
FALLBACK_MESSAGE = "uses xla"


def run_isolated(*line, where, **variables):
    """Run a program in a folder, isolated from this checkout and this environment; it must succeed."""
    left_out = ("PYTHON", "SWMODEL", "VIRTUAL_ENV", "XLA_", "JAX_")
    environ = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
    environ |= {"SWMODEL_CXXFLAGS": os.environ["SWMODEL_CXXFLAGS"], "SWMODEL_CACHE": str(where / "cache")} | variables
    done = subprocess.run([*map(str, line)], cwd=where, env=environ, capture_output=True, text=True, timeout=1200)
    assert done.returncode == 0, f"{line}\n{done.stdout[-2000:]}\n{done.stderr[-3000:]}"
    return done


def executor(folder) -> str:
    return tomllib.loads((folder / "outputs/jet/config.toml").read_text())["run"]["executor"]


@pytest.fixture(scope="module")
def wheel_folder(tmp_path_factory):
    """A folder with the source distribution and its wheel in `dist`, and in `bare` a Python with only the wheel."""
    folder = tmp_path_factory.mktemp("packages")
    run_isolated(sys.executable, "-m", "venv", "bare", where=folder)
    run_isolated(sys.executable, "-m", "build", "--outdir", folder / "dist", ROOT, where=folder)
    run_isolated(folder / "bare/bin/pip", "install", *(folder / "dist").glob("*.whl"), where=folder)
    return folder


@pytest.mark.night
def test_wheel_in_bare_python_runs_native_steps(wheel_folder):
    (sdist,), (wheel,) = (wheel_folder / "dist").glob("*.tar.gz"), (wheel_folder / "dist").glob("*.whl")
    with tarfile.open(sdist) as found:
        names = {name.partition("/")[2] for name in found.getnames()}
    assert {str(each.relative_to(ROOT)) for each in (ROOT / "swmodel").rglob("*.py")} <= names
    assert not [name for name in names if name.startswith(("outputs", ".venv", "build")) or name.endswith(".so")]
    assert "-py3-none-" in wheel.name
    with zipfile.ZipFile(wheel) as found:
        names = set(found.namelist())
    assert {"swmodel/executors/native/_step.so", "swmodel/parallel/transport/_exchange.so"} <= names
    assert {"swmodel/executors/cuda/_launch.so", "swmodel/executors/cuda/device_functions.h"} <= names
    assert len([name for name in names if name.startswith("swmodel/executors/native/built/")]) > 10
    assert not [name for name in names if name.endswith(".cc") or name.startswith(("tests", "docs"))]
    done = run_isolated(wheel_folder / "bare/bin/swmodel", *RUN_COMMAND, where=wheel_folder)
    assert executor(wheel_folder) == "native"
    assert not (wheel_folder / "cache").exists()
    assert FALLBACK_MESSAGE not in done.stderr


@pytest.mark.release
def test_steps_outside_the_wheel_use_xla_without_compiler(wheel_folder):
    def swmodel(*words):
        done = run_isolated(wheel_folder / "bare/bin/swmodel", *RUN_COMMAND, *words, where=wheel_folder, **without)
        return executor(wheel_folder), done.stderr.count(FALLBACK_MESSAGE)

    without = {"PATH": str(wheel_folder / "bare/bin"), "CC": "no-such-compiler", "CXX": "no-such-compiler"}
    assert swmodel("-s", "physics.manning=0.02") == ("xla", 1)
    assert swmodel() == ("native", 0)
    (sdist,) = (wheel_folder / "dist").glob("*.tar.gz")
    options = "--no-deps", "--force-reinstall"
    run_isolated(wheel_folder / "bare/bin/pip", "install", *options, sdist, where=wheel_folder, **without)
    assert swmodel() == ("xla", 1)
