"""The package as users get it: a wheel of a source distribution, in a bare Python with nothing but that."""

import os
import subprocess
import sys
import tarfile
import tomllib
import zipfile

import pytest
from conftest import ROOT

RUN = ["run", "jet", "-s", "grid.nx=24", "-s", "grid.ny=12", "--steps", "5", "--force"]
FALLBACK = "uses xla"


def call(*line, where, **variables):
    """Run a program in a folder, with nothing of this checkout or this environment on its paths; it must end well."""
    left_out = ("PYTHON", "SWMODEL", "VIRTUAL_ENV", "XLA_", "JAX_")
    environ = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
    environ |= {"SWMODEL_CXXFLAGS": os.environ["SWMODEL_CXXFLAGS"], "SWMODEL_CACHE": str(where / "cache")} | variables
    done = subprocess.run([*map(str, line)], cwd=where, env=environ, capture_output=True, text=True, timeout=1200)
    assert done.returncode == 0, f"{line}\n{done.stdout[-2000:]}\n{done.stderr[-3000:]}"
    return done


def executor(folder) -> str:
    """The executor of the run in the folder."""
    return tomllib.loads((folder / "outputs/jet/config.toml").read_text())["run"]["executor"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the source distribution and its wheel in `dist`, and a Python in `bare` that has nothing else."""
    folder = tmp_path_factory.mktemp("packages")
    call(sys.executable, "-m", "venv", "bare", where=folder)
    call(sys.executable, "-m", "build", "--outdir", folder / "dist", ROOT, where=folder)
    call(folder / "bare/bin/pip", "install", *(folder / "dist").glob("*.whl"), where=folder)
    return folder


@pytest.mark.night
def test_wheel_in_bare_python_runs_native_steps(folder):
    (sdist,), (wheel,) = (folder / "dist").glob("*.tar.gz"), (folder / "dist").glob("*.whl")
    with tarfile.open(sdist) as found:
        names = {name.partition("/")[2] for name in found.getnames()}
    assert {str(each.relative_to(ROOT)) for each in (ROOT / "swmodel").rglob("*.py")} <= names
    assert not [name for name in names if name.startswith(("outputs", ".venv", "build")) or name.endswith(".so")]
    assert "-py3-none-" in wheel.name
    with zipfile.ZipFile(wheel) as found:
        names = set(found.namelist())
    assert {"swmodel/executors/native/_step.so", "swmodel/parallel/transport/_exchange.so"} <= names
    assert {"swmodel/executors/cuda/_launch.so", "swmodel/executors/cuda/cell.h"} <= names
    assert len([name for name in names if name.startswith("swmodel/executors/native/built/")]) > 10
    assert not [name for name in names if name.endswith(".cc") or name.startswith(("tests", "docs"))]
    done = call(folder / "bare/bin/swmodel", *RUN, where=folder)
    assert executor(folder) == "native"
    assert not (folder / "cache").exists()
    assert FALLBACK not in done.stderr


@pytest.mark.release
def test_steps_outside_the_wheel_use_xla_without_compiler(folder):
    def swmodel(*words):
        done = call(folder / "bare/bin/swmodel", *RUN, *words, where=folder, **without)
        return executor(folder), done.stderr.count(FALLBACK)

    without = {"PATH": str(folder / "bare/bin"), "CC": "no-such-compiler", "CXX": "no-such-compiler"}
    assert swmodel("-s", "physics.manning=0.02") == ("xla", 1)
    assert swmodel() == ("native", 0)
    (sdist,) = (folder / "dist").glob("*.tar.gz")
    call(folder / "bare/bin/pip", "install", "--no-deps", "--force-reinstall", sdist, where=folder, **without)
    assert swmodel() == ("xla", 1)
