"""The wheel of the package, installed in an otherwise empty Python, as users get it; `make setup` without its needs."""

import os
import subprocess
import sys
import tarfile
import tomllib
import zipfile

import pytest
from conftest import ROOT


@pytest.mark.parametrize(("lacking", "named"), [("CC=no-such-compiler", "compiler"), ("PYTHON=", "Python 3.11")])
def test_set_up_without_compiler_or_python_installs_nothing(lacking, named, tmp_path):
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    line = ["make", "setup", f"VENV={tmp_path}/venv", lacking]
    done = subprocess.run(line, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=60)
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


@pytest.mark.release
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
