"""A step is compiled once, completely and privately, and then reused; if that is impossible, one message says so."""

import contextlib
import os
import platform
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
from support import covering_array, quick_compilation
from support.faults import small_disk
from support.processes import run_python
from support.random_case import TIDE, configuration
from support.stepping import has_same_bits, run_single_steps
from support.unchecked_config import resolve_without_checks

from swmodel.config import load
from swmodel.errors import SetupError
from swmodel.executors.availability import unsupported_reason
from swmodel.executors.native import request_of
from swmodel.executors.native import step_library as steps
from swmodel.gradients import Problem
from swmodel.gradients.check import Checks
from swmodel.model import resolve as resolving
from swmodel.parallel import environment
from swmodel.setup.setup import setup_of

pytestmark = pytest.mark.slow

SMALL = {"grid.nx": 8, "grid.ny": 6, "run.steps": 1, "time.dt": 1.0}


@pytest.fixture
def request_of_jet():
    return request_of(setup_of(load("jet", SMALL, environ={})))


@pytest.fixture
def empty_cache(tmp_path, monkeypatch):
    """An empty cache, no library from the package, and no record of what this process has loaded."""
    monkeypatch.setattr(steps, "PREBUILT_FOLDER", tmp_path / "built")
    folder = tmp_path / "steps"
    monkeypatch.setenv("SWMODEL_CACHE", str(folder))
    clear_loaded_steps()
    yield folder
    clear_loaded_steps()


def clear_loaded_steps():
    for kept in (steps.function_address, steps.unsupported_reason, steps.instructions):
        kept.cache_clear()


@pytest.fixture
def counting_compiler(tmp_path, monkeypatch):
    """A function that makes a compiler which counts its calls and runs further lines of a shell script."""
    program, (real,) = tmp_path / "compiler", steps.compiler()

    def make(*lines):
        program.write_text("\n".join(["#!/bin/sh", f"echo x >> {tmp_path}/calls", *lines, f'exec {real} "$@"', ""]))
        program.chmod(0o755)
        monkeypatch.setenv("CXX", str(program))
        return program

    make.calls = lambda: len((tmp_path / "calls").read_text().split()) if (tmp_path / "calls").exists() else 0
    return make


def test_step_is_compiled_once_and_then_loaded(empty_cache, counting_compiler, monkeypatch, request_of_jet):
    """The folder is private to its user, even if new files belong to the group by default, as on many clusters."""
    counting_compiler()
    monkeypatch.setenv("SWMODEL_CACHE", str(empty_cache / "in"))
    before = os.umask(0o002)
    try:
        first = steps.library_of(request_of_jet)
    finally:
        os.umask(before)
    assert steps.library_of(request_of_jet) == first
    assert steps.function_address(request_of_jet)
    assert counting_compiler.calls() == 1
    assert first.stat().st_mode & 0o777 == 0o500
    assert {place.stat().st_mode & 0o777 for place in (empty_cache, first.parent)} == {0o700}


@pytest.mark.fault("a step compiled for another processor, scheme, compiler, version or JAX")
def test_library_depends_on_processor_scheme_and_source(empty_cache, monkeypatch, request_of_jet):
    """It does not depend on the weights of the stepper, because these are not compiled in."""
    changes = {"run.dtype": "float64", "time.stepper": "rk3", "physics.manning": 0.02, "time.ab2_epsilon": 0.2}
    *others, weights = (request_of(setup_of(load("jet", SMALL | {k: v}, environ={}))) for k, v in changes.items())
    assert weights.library_name("") == request_of_jet.library_name("")
    names = {request.library_name("") for request in (request_of_jet, *others)}
    names.add(request_of_jet.library_name("x86-64-v3"))
    monkeypatch.setenv("CXX", "another-compiler -O0")
    names.add(request_of_jet.library_name(""))
    monkeypatch.setattr(steps, "HERE", empty_cache)
    names.add(request_of_jet.library_name(""))
    assert len(names) == 7


@pytest.mark.fault("a step compiled for another processor, scheme, compiler, version or JAX")
@pytest.mark.night
def test_library_is_reused_with_another_compiler(empty_cache, counting_compiler, request_of_jet):
    """The text fixes all rounding, so every compiler gives the same bits."""
    made = steps.library_of(request_of_jet)
    counting_compiler("exit 1")
    assert steps.library_of(request_of_jet) == made
    assert counting_compiler.calls() == 0


@pytest.mark.fault("a step compiled for another processor, scheme, compiler, version or JAX")
def test_missing_instructions_are_reported(empty_cache, monkeypatch, request_of_jet):
    monkeypatch.setenv("SWMODEL_INSTRUCTIONS", "x86-64-v3")
    monkeypatch.setitem(steps.REQUIRED_CPU_FLAGS, "x86-64-v3", ("no-such-instruction",))
    assert "x86-64-v3" in steps.unsupported_reason(request_of_jet)


@pytest.mark.fault("compiler optimisation or the width of vectors changes bits")
@pytest.mark.night
@pytest.mark.parametrize(("level", "march"), [("-O3", "native"), (quick_compilation.QUICK_CXXFLAGS, "x86-64-v3")])
def test_optimisation_and_vector_width_change_no_bit(empty_cache, monkeypatch, level, march):
    """Therefore tests may compile steps without optimisation."""
    if march != "native" and not (platform.machine() == "x86_64" and steps.has_instructions(march)):
        pytest.skip(f"this processor lacks {march}")
    weights = {"scheme__vorticity_flux": "arakawa_lamb", "time__stepper": "ab3", "physics__slip": "no"}
    config = configuration(9, 21, sphere=True, in_time=True, run__dtype="float32", **weights, **TIDE)
    states = []
    for flags, instructions in ((quick_compilation.QUICK_CXXFLAGS, "native"), (level, march)):
        monkeypatch.setenv("SWMODEL_CXXFLAGS", flags)
        monkeypatch.setenv("SWMODEL_INSTRUCTIONS", instructions)
        clear_loaded_steps()
        with quick_compilation.cleared_program_cache():
            states.append(run_single_steps("native", config, 4))
    assert len(list(empty_cache.glob("*.so"))) == 2
    assert has_same_bits(*states)


@pytest.mark.release
@pytest.mark.fault("compiler optimisation or the width of vectors changes bits")
def test_hessian_of_the_narrowest_vectors_is_symmetric(empty_cache, monkeypatch):
    """The Hessian products of this row read values farther away than a vector is long."""
    monkeypatch.setenv("SWMODEL_INSTRUCTIONS", "x86-64" if platform.machine() == "x86_64" else "native")
    config = covering_array.configuration_of("leapfrog-weno-periodic-f_plane")
    run = config.run.model_copy(update={"executor": "native", "steps": 5})
    config = resolve_without_checks(config.model_copy(update={"run": run}))
    checks = Checks(Problem(config, ("eta", "u", "v"), lambda view, k: view.state))
    assert checks.hessian_symmetry() < 1e-10
    request = request_of(setup_of(config))._replace(derivative=("tangent", "adjoint"), dtype=np.dtype("float64"))
    assert steps.unsupported_reason(request) == ""


def hide_compiler(monkeypatch, tmp_path):
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))


@pytest.mark.fault("no compiler, or one that fails, is killed or writes invalid output")
def test_without_compiler_xla_is_chosen(empty_cache, monkeypatch, tmp_path, caplog):
    hide_compiler(monkeypatch, tmp_path)
    monkeypatch.setattr(environment, "has_gpu", lambda: False)
    resolving.log_slower_executor.cache_clear()
    setup = setup_of(load("jet", SMALL, environ={}))
    with caplog.at_level("INFO", "swmodel"):
        assert resolving.choose_executor(setup) == "xla"
    (line,) = [record.getMessage() for record in caplog.records]
    assert unsupported_reason("native", setup) in line
    resolving.log_slower_executor.cache_clear()


@pytest.mark.night
def test_without_compiler_the_portable_step_is_used(empty_cache, monkeypatch, tmp_path, request_of_jet):
    steps.PREBUILT_FOLDER.mkdir()
    made = steps.PREBUILT_FOLDER / request_of_jet.library_name("default")
    steps.compile_into(made, request_of_jet, "default")
    hide_compiler(monkeypatch, tmp_path)
    assert steps.library_of(request_of_jet) == made


@pytest.mark.fault("no compiler, or one that fails, is killed or writes invalid output")
@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (["echo 'step.cc:1: error: no such thing' >&2; exit 1"], "step.cc:1: error: no such thing"),
        (["kill -9 $$"], "-9"),
        (['while [ "$1" != -o ]; do shift; done; echo rubbish > "$2"; exit 0'], ".so"),
    ],
    ids=["error", "killed", "rubbish"],
)
def test_failing_compiler_leaves_no_library(empty_cache, counting_compiler, request_of_jet, lines, reason):
    counting_compiler(*lines)
    assert reason in steps.unsupported_reason(request_of_jet)
    assert [path.suffix for path in empty_cache.iterdir()] == [".lock"]


@pytest.mark.fault("compiled steps in a folder where others can write")
@pytest.mark.night
@pytest.mark.parametrize("whose", ["folder", "library", "folder around", "owner"])
def test_cache_writable_by_others_is_refused(empty_cache, tmp_path, request_of_jet, whose):
    library = steps.library_of(request_of_jet)
    spoiled = {"folder": empty_cache, "library": library, "folder around": tmp_path, "owner": empty_cache}[whose]
    if whose == "owner" and os.getuid():
        pytest.skip("only root can change the owner of a folder")
    os.chown(empty_cache, 12345, -1) if whose == "owner" else spoiled.chmod(0o777)
    with pytest.raises(SetupError, match=rf"{spoiled} .*SWMODEL_CACHE" if spoiled != tmp_path else f"{spoiled}: "):
        steps.library_of(request_of_jet)


@pytest.mark.fault("compiled steps: a full disk, an unusable folder")
@pytest.mark.parametrize("place", ["a/file", "/proc/no/folder"])
def test_impossible_cache_folder_is_reported(empty_cache, monkeypatch, tmp_path, request_of_jet, place):
    (tmp_path / "a").write_text("")
    monkeypatch.setenv("SWMODEL_CACHE", str(tmp_path / place))
    assert str((tmp_path / place).parent) in steps.unsupported_reason(request_of_jet)


@pytest.mark.fault("compiled steps: a full disk, an unusable folder")
@pytest.mark.night
def test_full_disk_is_reported(empty_cache, monkeypatch, tmp_path, request_of_jet):
    with small_disk(tmp_path / "disk", "256k") as disk:
        if not os.path.ismount(disk):
            pytest.skip("mounting is not allowed here")
        monkeypatch.setenv("SWMODEL_CACHE", str(disk / "steps"))
        with contextlib.suppress(OSError), (disk / "filler").open("wb") as file:
            while True:
                file.write(bytes(2**16))
                file.flush()
        reason = steps.unsupported_reason(request_of_jet)
    assert "space" in reason or "compile" in reason
    assert len(reason.splitlines()) == 1


CONCURRENT_PROGRAM = """
import os
from pathlib import Path
from swmodel.config import load
from swmodel.executors.availability import unsupported_reason
from swmodel.executors.native import request_of, step_library as steps
from swmodel.setup.setup import setup_of
steps.PREBUILT_FOLDER = Path("none")
request = request_of(setup_of(load("jet", {}, environ={})))
for _ in range(64):
    if not os.fork():
        os.write(1, f"{steps.library_of(request)} {steps.function_address(request) > 0}\\n".encode())
        os._exit(0)
assert not any(os.wait()[1] for _ in range(64))
"""


@pytest.mark.fault("64 processes need a step at once, or the process that compiles it is killed")
@pytest.mark.night
def test_many_processes_compile_once(empty_cache, counting_compiler):
    counting_compiler()
    answers = run_python(CONCURRENT_PROGRAM)
    (library,) = empty_cache.glob("*.so")
    assert answers == 64 * [str(library), "True"]
    assert counting_compiler.calls() == 1


@pytest.mark.fault("64 processes need a step at once, or the process that compiles it is killed")
@pytest.mark.night
def test_compilation_continues_after_a_killed_process(empty_cache, request_of_jet):
    lock = steps.cache_folder() / request_of_jet.library_name(steps.instructions()).replace(".so", ".lock")
    program = f"import fcntl, time; file = open({str(lock)!r}, 'a'); fcntl.flock(file, 2); print(flush=True)"
    program += "; time.sleep(600)"
    first = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    first.stdout.readline()
    threading.Timer(0.3, first.kill).start()
    assert steps.library_of(request_of_jet).exists()
    assert first.wait(0) == -signal.SIGKILL


@pytest.mark.night
def test_broken_library_is_compiled_again(empty_cache, request_of_jet):
    target = steps.cache_folder() / request_of_jet.library_name(steps.instructions())
    target.write_text("rubbish")
    target.chmod(0o500)
    assert steps.library_of(request_of_jet) == target
    assert target.stat().st_size > 1000
