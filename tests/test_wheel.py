"""The package as users get it: a source distribution, a wheel of it, and a bare Python with nothing but that."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from conftest import ROOT

pytestmark = pytest.mark.night

#: Longest time for an environment, and for building a wheel in an isolated one, s.
LONGEST = 1200
#: What a run of the jet on a small grid is asked for.
RUN = ["run", "jet", "-s", "grid.nx=24", "-s", "grid.ny=12", "--steps", "5", "--force"]
FALLBACK = "uses xla, several times slower than the native step: "


def call(*line, where: Path, **variables) -> subprocess.CompletedProcess:
    """Run a program in a folder, with nothing of this checkout or this environment on its paths."""
    left_out = ("PYTHON", "SWMODEL", "VIRTUAL_ENV", "XLA_", "JAX_")
    environ = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
    environ |= {"SWMODEL_CXXFLAGS": os.environ["SWMODEL_CXXFLAGS"], "SWMODEL_CACHE": str(where / "cache")} | variables
    line = [str(word) for word in line]
    return subprocess.run(line, cwd=where, env=environ, capture_output=True, text=True, timeout=LONGEST, check=False)


def must(*line, **how) -> None:
    """Run a program that must end well."""
    done = call(*line, **how)
    assert done.returncode == 0, f"{line}\n{done.stdout[-2000:]}\n{done.stderr[-3000:]}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a bare Python in `bare`, and the source distribution in `dist`."""
    pytest.importorskip("build", reason="needs build: pip install build")
    folder = tmp_path_factory.mktemp("packages")
    must(sys.executable, "-m", "venv", "bare", where=folder)
    must(sys.executable, "-m", "build", "--sdist", "--outdir", folder / "dist", ROOT, where=folder)
    return folder


def wheel(folder: Path, name: str, **variables) -> Path:
    """The wheel that pip makes of the source distribution in an isolated environment."""
    (sdist,) = (folder / "dist").glob("*.tar.gz")
    must(folder / "bare/bin/pip", "wheel", "--no-deps", "-w", folder / name, sdist, where=folder, **variables)
    (made,) = (folder / name).glob("*.whl")
    return made


@pytest.fixture(scope="module")
def installed(folder):
    """The folder, with the wheel in `wheels` and in the bare Python."""
    must(folder / "bare/bin/pip", "install", wheel(folder, "wheels"), where=folder)
    return folder


def executor(folder: Path) -> str:
    """The executor of the run in the folder."""
    return tomllib.loads((folder / "outputs/jet/config.toml").read_text())["run"]["executor"]


def test_the_source_distribution_has_what_is_built_and_tested(folder):
    (path,) = (folder / "dist").glob("*.tar.gz")
    with tarfile.open(path) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    assert {"pyproject.toml", "CMakeLists.txt", "LICENSE", "tests/conftest.py", "Makefile"} <= names
    assert {str(each.relative_to(ROOT)) for each in (ROOT / "swmodel").rglob("*.py")} <= names
    assert not [name for name in names if name.startswith(("outputs", ".venv", "build")) or name.endswith(".so")]


def test_the_wheel_is_for_any_python_and_has_the_compiled_steps(installed):
    (path,) = (installed / "wheels").glob("*.whl")
    assert "-py3-none-" in path.name
    with zipfile.ZipFile(path) as found:
        names = found.namelist()
    native = [name for name in names if name.startswith("swmodel/executors/native/")]
    assert {"swmodel/executors/native/_step.so", "swmodel/parallel/transport/_exchange.so"} <= {*names}
    assert len([name for name in native if "/built/" in name]) > 10
    assert not [name for name in names if name.endswith(".cc") or name.startswith(("tests", "docs"))]


def test_a_bare_python_runs_at_native_speed_and_compiles_nothing(installed):
    done = call(installed / "bare/bin/swmodel", *RUN, where=installed)
    assert done.returncode == 0, done.stderr
    assert executor(installed) == "native"
    assert not (installed / "cache").exists()
    assert FALLBACK not in done.stderr


def test_without_a_compiler_another_step_is_computed_by_jax_after_one_line(installed):
    without = {"PATH": str(installed / "bare/bin"), "CXX": "no-such-compiler"}
    done = call(installed / "bare/bin/swmodel", *RUN, "-s", "physics.manning=0.02", where=installed, **without)
    assert done.returncode == 0, done.stderr
    assert executor(installed) == "xla"
    assert done.stderr.count(FALLBACK) == 1
    done = call(installed / "bare/bin/swmodel", *RUN, where=installed, **without)
    assert (done.returncode, executor(installed)) == (0, "native")  # the step of the case came with the wheel


def test_a_wheel_built_without_a_compiler_runs_after_one_line(installed):
    """It takes the place of the other one, for which reason this test is the last."""
    without = {"PATH": str(installed / "bare/bin"), "CC": "no-such-compiler", "CXX": "no-such-compiler"}
    made = wheel(installed, "plain", **without)
    must(installed / "bare/bin/pip", "install", "--no-deps", "--force-reinstall", made, where=installed)
    done = call(installed / "bare/bin/swmodel", *RUN, where=installed, **without)
    assert done.returncode == 0, done.stderr
    assert executor(installed) == "xla"
    assert done.stderr.count(FALLBACK) == 1
