"""A compiled step is found or made, once, whole, and by nobody else; where that is impossible there is one line."""

import contextlib
import os
import platform
import signal
import subprocess
import sys
import threading

import pytest
from support import compiling
from support.faults import small_disk
from support.random_case import TIDE, configuration
from support.stepping import same_bits, step_by_step

from swmodel.config import load
from swmodel.errors import SetupError
from swmodel.executors.availability import unsupported_reason
from swmodel.executors.native import compile as steps
from swmodel.executors.native import request_of
from swmodel.model import resolve as resolving
from swmodel.parallel import environment
from swmodel.setup.setup import setup_of

pytestmark = pytest.mark.slow

SMALL = {"grid.nx": 8, "grid.ny": 6, "run.steps": 1, "time.dt": 1.0}


@pytest.fixture
def request_of_jet():
    return request_of(setup_of(load("jet", SMALL, environ={})))


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache and nothing that came with the package; what this process has loaded is forgotten."""
    monkeypatch.setattr(steps, "BUILT", tmp_path / "built")
    folder = tmp_path / "steps"
    monkeypatch.setenv("SWMODEL_CACHE", str(folder))
    forget()
    yield folder
    forget()


def forget():
    for kept in (steps.function, steps.unsupported_reason, steps.instructions):
        kept.cache_clear()


@pytest.fixture
def compiler(tmp_path, monkeypatch):
    """A compiler that counts its calls, and what it does besides, as lines of a shell script."""
    program, (real,) = tmp_path / "compiler", steps.compiler()

    def make(*lines):
        program.write_text("\n".join(["#!/bin/sh", f"echo x >> {tmp_path}/calls", *lines, f'exec {real} "$@"', ""]))
        program.chmod(0o755)
        monkeypatch.setenv("CXX", str(program))
        return program

    make.calls = lambda: len((tmp_path / "calls").read_text().split()) if (tmp_path / "calls").exists() else 0
    return make


def test_step_is_compiled_once_and_then_loaded(cache, compiler, monkeypatch, request_of_jet):
    """Into a folder for its user alone, also where files are for the group by default, as on many clusters."""
    compiler()
    monkeypatch.setenv("SWMODEL_CACHE", str(cache / "in"))
    before = os.umask(0o002)
    try:
        first = steps.library_of(request_of_jet)
    finally:
        os.umask(before)
    assert steps.library_of(request_of_jet) == first
    assert steps.function(request_of_jet)
    assert compiler.calls() == 1
    assert first.stat().st_mode & 0o777 == 0o500
    assert {place.stat().st_mode & 0o777 for place in (cache, first.parent)} == {0o700}


@pytest.mark.fault("a step compiled for another processor, scheme, compiler, version or JAX")
def test_library_depends_on_processor_scheme_and_source(cache, monkeypatch, request_of_jet):
    """But not other weights of the stepper: they are no part of what is compiled."""
    changes = {"run.dtype": "float64", "time.stepper": "rk3", "physics.manning": 0.02, "time.ab2_epsilon": 0.2}
    *others, weights = (request_of(setup_of(load("jet", SMALL | {k: v}, environ={}))) for k, v in changes.items())
    assert weights.name("") == request_of_jet.name("")
    names = {request.name("") for request in (request_of_jet, *others)} | {request_of_jet.name("x86-64-v3")}
    monkeypatch.setenv("CXX", "another-compiler -O0")
    names.add(request_of_jet.name(""))
    monkeypatch.setattr(steps, "HERE", cache)
    names.add(request_of_jet.name(""))
    assert len(names) == 7


@pytest.mark.fault("a step compiled for another processor, scheme, compiler, version or JAX")
@pytest.mark.night
def test_library_is_kept_for_another_compiler(cache, compiler, request_of_jet):
    """Rounding is written out, so that the bits are those of any compiler."""
    made = steps.library_of(request_of_jet)
    compiler("exit 1")
    assert steps.library_of(request_of_jet) == made
    assert compiler.calls() == 0


@pytest.mark.fault("a step compiled for another processor, scheme, compiler, version or JAX")
def test_missing_instructions_are_reported(cache, monkeypatch, request_of_jet):
    monkeypatch.setenv("SWMODEL_INSTRUCTIONS", "x86-64-v3")
    monkeypatch.setitem(steps.NEEDS, "x86-64-v3", ("no-such-instruction",))
    assert "x86-64-v3" in steps.unsupported_reason(request_of_jet)


@pytest.mark.fault("compiler optimisation or the width of vectors changes bits")
@pytest.mark.night
@pytest.mark.parametrize(("level", "march"), [("-O3", "native"), (compiling.CXXFLAGS, "x86-64-v3")])
def test_optimisation_and_vector_width_change_no_bit(cache, monkeypatch, level, march):
    """So tests may compile steps quickly."""
    if march != "native" and not (platform.machine() == "x86_64" and steps.runs(march)):
        pytest.skip(f"this processor lacks {march}")
    weights = {"scheme__vorticity_flux": "arakawa_lamb", "time__stepper": "ab3", "physics__slip": "no"}
    config = configuration(9, 21, sphere=True, in_time=True, run__dtype="float32", **weights, **TIDE)
    states = []
    for flags, instructions in ((compiling.CXXFLAGS, "native"), (level, march)):
        monkeypatch.setenv("SWMODEL_CXXFLAGS", flags)
        monkeypatch.setenv("SWMODEL_INSTRUCTIONS", instructions)
        forget()
        with compiling.compiled_anew():
            states.append(step_by_step("native", config, 4))
    assert len(list(cache.glob("*.so"))) == 2
    assert same_bits(*states)


def without_compiler(monkeypatch, tmp_path):
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))


@pytest.mark.fault("no compiler, or one that fails, is killed or writes invalid output")
def test_without_compiler_xla_is_chosen(cache, monkeypatch, tmp_path, caplog):
    without_compiler(monkeypatch, tmp_path)
    monkeypatch.setattr(environment, "has_gpu", lambda: False)
    resolving.say_slower.cache_clear()
    setup = setup_of(load("jet", SMALL, environ={}))
    with caplog.at_level("INFO", "swmodel"):
        assert resolving.fastest_executor(setup) == "xla"
    (line,) = [record.getMessage() for record in caplog.records]
    assert unsupported_reason("native", setup) in line
    resolving.say_slower.cache_clear()


@pytest.mark.night
def test_without_compiler_the_portable_step_is_used(cache, monkeypatch, tmp_path, request_of_jet):
    steps.BUILT.mkdir()
    made = steps.BUILT / request_of_jet.name("default")
    steps.compile_into(made, request_of_jet, "default")
    without_compiler(monkeypatch, tmp_path)
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
def test_failing_compiler_leaves_no_library(cache, compiler, request_of_jet, lines, reason):
    compiler(*lines)
    assert reason in steps.unsupported_reason(request_of_jet)
    assert [path.suffix for path in cache.iterdir()] == [".lock"]


@pytest.mark.fault("compiled steps in a folder where others can write")
@pytest.mark.night
@pytest.mark.parametrize("whose", ["folder", "library", "folder around", "owner"])
def test_cache_writable_by_others_is_refused(cache, tmp_path, request_of_jet, whose):
    library = steps.library_of(request_of_jet)
    spoiled = {"folder": cache, "library": library, "folder around": tmp_path, "owner": cache}[whose]
    if whose == "owner" and os.getuid():
        pytest.skip("only root gives folders away")
    os.chown(cache, 12345, -1) if whose == "owner" else spoiled.chmod(0o777)
    with pytest.raises(SetupError, match=rf"{spoiled} .*SWMODEL_CACHE" if spoiled != tmp_path else f"{spoiled}: "):
        steps.library_of(request_of_jet)


@pytest.mark.fault("compiled steps: a full disk, an unusable folder")
@pytest.mark.parametrize("place", ["a/file", "/proc/no/folder"])
def test_impossible_cache_folder_is_reported(cache, monkeypatch, tmp_path, request_of_jet, place):
    (tmp_path / "a").write_text("")
    monkeypatch.setenv("SWMODEL_CACHE", str(tmp_path / place))
    assert str((tmp_path / place).parent) in steps.unsupported_reason(request_of_jet)


@pytest.mark.fault("compiled steps: a full disk, an unusable folder")
@pytest.mark.night
def test_full_disk_is_reported(cache, monkeypatch, tmp_path, request_of_jet):
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


CROWD = """
import os
from pathlib import Path
from swmodel.config import load
from swmodel.executors.availability import unsupported_reason
from swmodel.executors.native import compile as steps, request_of
from swmodel.setup.setup import setup_of
steps.BUILT = Path("none")
request = request_of(setup_of(load("jet", {}, environ={})))
for _ in range(64):
    if not os.fork():
        os.write(1, f"{steps.library_of(request)} {steps.function(request) > 0}\\n".encode())
        os._exit(0)
assert not any(os.wait()[1] for _ in range(64))
"""


@pytest.mark.fault("64 processes need a step at once, or the process that compiles it is killed")
@pytest.mark.night
def test_many_processes_compile_once(cache, compiler):
    compiler()
    done = subprocess.run([sys.executable, "-c", CROWD], capture_output=True, text=True, timeout=120)
    (library,) = cache.glob("*.so")
    assert done.stdout.splitlines() == 64 * [f"{library} True"], done.stderr
    assert compiler.calls() == 1


@pytest.mark.fault("64 processes need a step at once, or the process that compiles it is killed")
@pytest.mark.night
def test_compilation_continues_after_a_killed_process(cache, request_of_jet):
    lock = steps.cache_folder() / request_of_jet.name(steps.instructions()).replace(".so", ".lock")
    program = (
        f"import fcntl, time; file = open({str(lock)!r}, 'a'); fcntl.flock(file, 2); print(flush=True); time.sleep(600)"
    )
    first = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    first.stdout.readline()
    threading.Timer(0.3, first.kill).start()
    assert steps.library_of(request_of_jet).exists()
    assert first.wait(0) == -signal.SIGKILL


@pytest.mark.night
def test_broken_library_is_compiled_again(cache, request_of_jet):
    target = steps.cache_folder() / request_of_jet.name(steps.instructions())
    target.write_text("rubbish")
    target.chmod(0o500)
    assert steps.library_of(request_of_jet) == target
    assert target.stat().st_size > 1000
