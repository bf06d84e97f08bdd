"""A step is compiled once, into a complete and private library, and then reused; if that fails, a message says why."""

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

SMALL_OPTIONS = {"grid.nx": 8, "grid.ny": 6, "run.steps": 1, "time.dt": 1.0}


@pytest.fixture
def request_of_jet():
    return request_of(setup_of(load("jet", SMALL_OPTIONS, environ={})))


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
    for cached_function in (steps.function_address, steps.unsupported_reason, steps.instructions):
        cached_function.cache_clear()


@pytest.fixture
def counting_compiler(tmp_path, monkeypatch):
    """A function that sets CXX to a compiler that counts its calls and runs the given lines of shell first."""
    program, (compiler,) = tmp_path / "compiler", steps.compiler()

    def make(*lines):
        program.write_text("\n".join(["#!/bin/sh", f"echo x >> {tmp_path}/calls", *lines, f'exec {compiler} "$@"', ""]))
        program.chmod(0o755)
        monkeypatch.setenv("CXX", str(program))
        return program

    make.calls = lambda: len((tmp_path / "calls").read_text().split()) if (tmp_path / "calls").exists() else 0
    return make


def test_step_is_compiled_once_and_then_loaded(empty_cache, counting_compiler, monkeypatch, request_of_jet):
    """The folder is private to its user, even if the group can write new files by default, as on many clusters."""
    counting_compiler()
    monkeypatch.setenv("SWMODEL_CACHE", str(empty_cache / "in"))
    old_umask = os.umask(0o002)
    try:
        library = steps.library_of(request_of_jet)
    finally:
        os.umask(old_umask)
    assert steps.library_of(request_of_jet) == library
    assert steps.function_address(request_of_jet)
    assert counting_compiler.calls() == 1
    assert library.stat().st_mode & 0o777 == 0o500
    assert {path.stat().st_mode & 0o777 for path in (empty_cache, library.parent)} == {0o700}


@pytest.mark.fault("a step compiled for another processor, scheme, compiler, version or JAX")
def test_library_name_depends_on_source_options_and_instructions(empty_cache, monkeypatch, request_of_jet):
    """The name does not depend on the weights of the stepper, because they are not compiled in."""
    changes = {"run.dtype": "float64", "time.stepper": "rk3", "physics.manning": 0.02, "time.ab2_epsilon": 0.2}
    configs = (load("jet", SMALL_OPTIONS | {key: value}, environ={}) for key, value in changes.items())
    *other_requests, request_of_weights = (request_of(setup_of(config)) for config in configs)
    assert request_of_weights.library_name("") == request_of_jet.library_name("")
    names = {request.library_name("") for request in (request_of_jet, *other_requests)}
    names.add(request_of_jet.library_name("x86-64-v3"))
    monkeypatch.setenv("CXX", "another-compiler -O0")
    names.add(request_of_jet.library_name(""))
    monkeypatch.setattr(steps, "HERE", empty_cache)
    names.add(request_of_jet.library_name(""))
    assert len(names) == 7


@pytest.mark.fault("a step compiled for another processor, scheme, compiler, version or JAX")
@pytest.mark.night
def test_library_is_reused_with_another_compiler(empty_cache, counting_compiler, request_of_jet):
    """The source fixes all rounding, so every compiler gives the same bits."""
    library = steps.library_of(request_of_jet)
    counting_compiler("exit 1")
    assert steps.library_of(request_of_jet) == library
    assert counting_compiler.calls() == 0


@pytest.mark.fault("a step compiled for another processor, scheme, compiler, version or JAX")
def test_missing_instructions_are_reported(empty_cache, monkeypatch, request_of_jet):
    monkeypatch.setenv("SWMODEL_INSTRUCTIONS", "x86-64-v3")
    monkeypatch.setitem(steps.REQUIRED_CPU_FLAGS, "x86-64-v3", ("no-such-instruction",))
    assert "x86-64-v3" in steps.unsupported_reason(request_of_jet)


@pytest.mark.fault("compiler optimisation or the width of vectors changes bits")
@pytest.mark.night
@pytest.mark.parametrize(("flags", "march"), [("-O3", "native"), (quick_compilation.QUICK_CXXFLAGS, "x86-64-v3")])
def test_optimisation_and_vector_width_change_no_bit(empty_cache, monkeypatch, flags, march):
    """Therefore tests may compile steps without optimisation."""
    if march != "native" and not (platform.machine() == "x86_64" and steps.has_instructions(march)):
        pytest.skip(f"this processor lacks {march}")
    options = {"scheme__vorticity_flux": "arakawa_lamb", "time__stepper": "ab3", "physics__slip": "no"}
    config = configuration(9, 21, sphere=True, has_weather=True, run__dtype="float32", **options, **TIDE)
    states = []
    for cxxflags, instructions in ((quick_compilation.QUICK_CXXFLAGS, "native"), (flags, march)):
        monkeypatch.setenv("SWMODEL_CXXFLAGS", cxxflags)
        monkeypatch.setenv("SWMODEL_INSTRUCTIONS", instructions)
        clear_loaded_steps()
        with quick_compilation.cleared_program_cache():
            states.append(run_single_steps("native", config, 4))
    assert len(list(empty_cache.glob("*.so"))) == 2
    assert has_same_bits(*states)


@pytest.mark.release
@pytest.mark.fault("compiler optimisation or the width of vectors changes bits")
def test_hessian_is_symmetric_with_the_narrowest_vectors(empty_cache, monkeypatch):
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
    setup = setup_of(load("jet", SMALL_OPTIONS, environ={}))
    with caplog.at_level("INFO", "swmodel"):
        assert resolving.choose_executor(setup) == "xla"
    (message,) = [record.getMessage() for record in caplog.records]
    assert unsupported_reason("native", setup) in message
    resolving.log_slower_executor.cache_clear()


@pytest.mark.night
def test_without_compiler_the_prebuilt_portable_step_is_used(empty_cache, monkeypatch, tmp_path, request_of_jet):
    steps.PREBUILT_FOLDER.mkdir()
    prebuilt_library = steps.PREBUILT_FOLDER / request_of_jet.library_name("default")
    steps.compile_into(prebuilt_library, request_of_jet, "default")
    hide_compiler(monkeypatch, tmp_path)
    assert steps.library_of(request_of_jet) == prebuilt_library


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
@pytest.mark.parametrize("weakness", ["folder", "library", "parent folder", "owner"])
def test_cache_writable_by_others_is_refused(empty_cache, tmp_path, request_of_jet, weakness):
    library = steps.library_of(request_of_jet)
    path = {"folder": empty_cache, "library": library, "parent folder": tmp_path, "owner": empty_cache}[weakness]
    if weakness == "owner" and os.getuid():
        pytest.skip("only root can change the owner of a folder")
    os.chown(empty_cache, 12345, -1) if weakness == "owner" else path.chmod(0o777)
    with pytest.raises(SetupError, match=rf"{path} .*SWMODEL_CACHE" if path != tmp_path else f"{path}: "):
        steps.library_of(request_of_jet)


@pytest.mark.fault("compiled steps: a full disk, an unusable folder")
@pytest.mark.parametrize("folder", ["a/file", "/proc/no/folder"])
def test_unusable_cache_folder_is_reported(empty_cache, monkeypatch, tmp_path, request_of_jet, folder):
    (tmp_path / "a").write_text("")
    monkeypatch.setenv("SWMODEL_CACHE", str(tmp_path / folder))
    assert str((tmp_path / folder).parent) in steps.unsupported_reason(request_of_jet)


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
def test_many_processes_compile_a_step_once(empty_cache, counting_compiler):
    counting_compiler()
    words = run_python(CONCURRENT_PROGRAM)
    (library,) = empty_cache.glob("*.so")
    assert words == 64 * [str(library), "True"]
    assert counting_compiler.calls() == 1


@pytest.mark.fault("64 processes need a step at once, or the process that compiles it is killed")
@pytest.mark.night
def test_step_is_compiled_after_the_process_with_the_lock_is_killed(empty_cache, request_of_jet):
    lock = steps.cache_folder() / request_of_jet.library_name(steps.instructions()).replace(".so", ".lock")
    program = f"import fcntl, time; file = open({str(lock)!r}, 'a'); fcntl.flock(file, 2); print(flush=True)"
    program += "; time.sleep(600)"
    lock_holder = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    lock_holder.stdout.readline()
    threading.Timer(0.3, lock_holder.kill).start()
    assert steps.library_of(request_of_jet).exists()
    assert lock_holder.wait(0) == -signal.SIGKILL


@pytest.mark.night
def test_broken_library_is_compiled_again(empty_cache, request_of_jet):
    target = steps.cache_folder() / request_of_jet.library_name(steps.instructions())
    target.write_text("rubbish")
    target.chmod(0o500)
    assert steps.library_of(request_of_jet) == target
    assert target.stat().st_size > 1000
