"""What all tests share: strict JAX in double precision, and a way to run programs under mpiexec with a time limit."""

import gc
import json
import logging
import os
import shutil
import subprocess
import sys
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("MPIEXEC_TIMEOUT", "400")  # seconds after which ranks that wait for one another are ended
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # many tests start programs: they compile the sources once

import jax
import pytest
from support import compiling, tiers

from swmodel.files.integrity import guard
from swmodel.files.integrity.examine import facts
from swmodel.parallel import environment

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = Path(__file__).parent / "mpi" / "programs"

if "SWMODEL_TEST_KERNELS" in os.environ:  # a folder with another build of the native step (tools/test-sanitized)
    import swmodel.executors.native

    swmodel.executors.native.LIBRARY = Path(os.environ["SWMODEL_TEST_KERNELS"], "_step.so")

environment.add(environment.OPEN_MPI, os.environ)  # for the mpiexec that tests start themselves
os.environ.setdefault("SWMODEL_CXXFLAGS", compiling.CXXFLAGS)

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")
with pytest.MonkeyPatch.context() as environ:  # XLA reads the flags once; processes that tests start have others
    environ.setenv("XLA_FLAGS", compiling.XLA_FLAGS)
    jax.devices()


def pytest_ignore_collect(collection_path, config):
    """Folders of which nothing is selected are not looked into."""
    folder = collection_path.is_dir() and ROOT in collection_path.parents and collection_path.relative_to(ROOT)
    return (folder and tiers.passed_over(f"{folder}/".removeprefix("tests/"), config.option.markexpr)) or None


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Workers take whole files, as their tests share fixtures; tests of some files one by one."""
    from xdist.scheduler import LoadFileScheduling

    scheduler = LoadFileScheduling(config, log)
    scheduler._split_scope = tiers.group
    return scheduler


def pytest_collection_modifyitems(items):
    """Mark each test with its tier; the longest files come first."""
    for item in items:
        tiers.mark(item)
    items.sort(key=tiers.begins_first, reverse=True)


def pytest_collection_finish():
    """Python's collector passes over all that is imported by now, and comes less often: tracing makes many objects."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """Programs of this process are compiled quickly, those of fixtures too; optimised in tests of xla and in those
    marked so."""
    compiling.compile_quickly(not (tiers.of_xla(item) or item.get_closest_marker("fully_optimised")))


@pytest.fixture(autouse=True, scope="session")
def files_examined_here():
    """Files are examined in this process, as to start one takes half a second.

    Tests that replace its program, and commands that tests start, have a process for it as users do.
    """
    program, in_a_process = guard.PROGRAM, guard.examined

    def examined(jobs):
        if program != guard.PROGRAM:
            return in_a_process(jobs)
        return json.loads(json.dumps([facts(str(job.path), job.kind) for job in jobs]))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(guard, "examined", examined)
        yield


@pytest.fixture(scope="module")
def quickly_compiled():
    """The processes that tests start compile quickly too: for derivatives, which are exact either way."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in compiling.QUICK.items():
            patch.setenv(name, value)
        yield


@pytest.fixture(scope="module")
def optimised():
    """Native steps are compiled as users have them: for tests that run longer than they compile."""
    with pytest.MonkeyPatch.context() as patch:
        if os.environ["SWMODEL_CXXFLAGS"] == compiling.CXXFLAGS:
            patch.delenv("SWMODEL_CXXFLAGS")
        yield


@pytest.fixture
def caplog(caplog, monkeypatch):
    """What is logged, but not that a step is compiled: that depends on which were compiled before."""
    monkeypatch.setattr(logging.getLogger("swmodel.executors.native.compile"), "disabled", True)
    return caplog


@pytest.fixture(scope="session")
def mpiexec():
    """run(program, n, *arguments, timeout=120): a file of tests/mpi/programs on n ranks.

    Returns the completed process; fails the test with the program's output if it does not end with exit code 0, except
    where that is asked for by must_end_well=False.
    """
    from swmodel.model.launch import find_mpiexec

    def run(program, n, *arguments, timeout=120, must_end_well=True):
        environ = os.environ | {
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")]),
            "MPIEXEC_TIMEOUT": str(timeout),
            **environment.OVERSUBSCRIBED,
            "JAX_CPU_ENABLE_ASYNC_DISPATCH": "false",
            "NPROC": "1",
        }
        line = [find_mpiexec(), "-n", str(n), sys.executable, str(PROGRAMS / program), *map(str, arguments)]
        done = subprocess.run(line, env=environ, capture_output=True, text=True, timeout=timeout + 30)
        if done.returncode and must_end_well:
            pytest.fail(f"{' '.join(line)}\nexit code {done.returncode}\n{done.stdout}\n{done.stderr}")
        return done

    return run


@pytest.fixture(scope="session")
def halfway(tmp_path_factory):
    """A run of 7 steps with restart files at 5 and 7."""
    from support.restarts import make_halfway

    return make_halfway(tmp_path_factory.mktemp("runs") / "halfway")


@pytest.fixture
def run_folder(halfway, tmp_path):
    """A copy of it."""
    return shutil.copytree(halfway, tmp_path / "run")
