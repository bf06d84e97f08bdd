"""The wheel in an otherwise empty Python, as users install it, and `make setup` without a requirement."""

import os
import subprocess
import sys
import tarfile
import tomllib
import zipfile

import pytest
from conftest import ROOT


@pytest.mark.parametrize(("option", "words"), [("CC=no-such-compiler", "compiler"), ("PYTHON=", "Python 3.11")])
def test_setup_without_compiler_or_python_installs_nothing(option, words, tmp_path):
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    command = ["make", "setup", f"VENV={tmp_path}/venv", option]
    process = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=60)
    assert process.returncode != 0
    assert words in process.stderr.splitlines()[0]
    assert list(tmp_path.iterdir()) == []


RUN_COMMAND = ["run", "jet", "-s", "grid.nx=24", "-s", "grid.ny=12", "--steps", "5", "--force"]
FALLBACK_MESSAGE = "uses xla"


def run_isolated(*command, cwd, **variables):
    """Run a command in a folder, isolated from this checkout and this environment; it must succeed."""
    removed_prefixes = ("PYTHON", "SWMODEL", "VIRTUAL_ENV", "XLA_", "JAX_")
    environ = {name: value for name, value in os.environ.items() if not name.startswith(removed_prefixes)}
    environ |= {"SWMODEL_CXXFLAGS": os.environ["SWMODEL_CXXFLAGS"], "SWMODEL_CACHE": str(cwd / "cache")} | variables
    process = subprocess.run([*map(str, command)], cwd=cwd, env=environ, capture_output=True, text=True, timeout=1200)
    assert process.returncode == 0, f"{command}\n{process.stdout[-2000:]}\n{process.stderr[-3000:]}"
    return process


def executor_of_run(folder) -> str:
    return tomllib.loads((folder / "outputs/jet/config.toml").read_text())["run"]["executor"]


@pytest.fixture(scope="module")
def wheel_folder(tmp_path_factory):
    """A folder with the source distribution and its wheel in `dist`, and in `bare` a Python with only the wheel."""
    folder = tmp_path_factory.mktemp("packages")
    run_isolated(sys.executable, "-m", "venv", "bare", cwd=folder)
    run_isolated(sys.executable, "-m", "build", "--outdir", folder / "dist", ROOT, cwd=folder)
    run_isolated(folder / "bare/bin/pip", "install", *(folder / "dist").glob("*.whl"), cwd=folder)
    return folder


@pytest.mark.release
def test_wheel_in_bare_python_runs_native_steps(wheel_folder):
    (sdist,), (wheel,) = (wheel_folder / "dist").glob("*.tar.gz"), (wheel_folder / "dist").glob("*.whl")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {str(each.relative_to(ROOT)) for each in (ROOT / "swmodel").rglob("*.py")} <= names
    assert not [name for name in names if name.startswith(("outputs", ".venv", "build")) or name.endswith(".so")]
    assert "-py3-none-" in wheel.name
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert {"swmodel/executors/native/_step.so", "swmodel/parallel/transport/_exchange.so"} <= names
    assert {"swmodel/executors/cuda/_launch.so", "swmodel/executors/cuda/device_functions.h"} <= names
    assert len([name for name in names if name.startswith("swmodel/executors/native/built/")]) > 10
    assert not [name for name in names if name.endswith(".cc") or name.startswith(("tests", "docs"))]
    process = run_isolated(wheel_folder / "bare/bin/swmodel", *RUN_COMMAND, cwd=wheel_folder)
    assert executor_of_run(wheel_folder) == "native"
    assert not (wheel_folder / "cache").exists()
    assert FALLBACK_MESSAGE not in process.stderr


@pytest.mark.release
def test_steps_outside_the_wheel_use_xla_without_compiler(wheel_folder):
    def run_jet(*options):
        command = wheel_folder / "bare/bin/swmodel", *RUN_COMMAND, *options
        process = run_isolated(*command, cwd=wheel_folder, **no_compiler)
        return executor_of_run(wheel_folder), process.stderr.count(FALLBACK_MESSAGE)

    no_compiler = {"PATH": str(wheel_folder / "bare/bin"), "CC": "no-such-compiler", "CXX": "no-such-compiler"}
    assert run_jet("-s", "physics.manning=0.02") == ("xla", 1)
    assert run_jet() == ("native", 0)
    (sdist,) = (wheel_folder / "dist").glob("*.tar.gz")
    command = wheel_folder / "bare/bin/pip", "install", "--no-deps", "--force-reinstall", sdist
    run_isolated(*command, cwd=wheel_folder, **no_compiler)
    assert run_jet() == ("xla", 1)
