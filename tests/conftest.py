"""What all tests share: strict JAX in double precision, quick compilation, and ranks that run functions."""

import fcntl
import gc
import logging
import os
import shutil
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("MPIEXEC_TIMEOUT", "400")  # seconds after which mpiexec ends its ranks, which may wait forever
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # because workers share the cores
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # so that the many programs that tests start compile the sources once

# The cache of XLA's programs, shared by workers, by the programs that tests start, and by later test runs:
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(Path(__file__).resolve().parents[1] / ".pytest_cache" / "xla"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.3")

import hypothesis
import jax
import pytest
from support import examine_in_process, quick_compilation

from swmodel.files.integrity import guard
from swmodel.parallel import environment

ROOT = Path(__file__).resolve().parents[1]

if "SWMODEL_KERNELS" in os.environ:  # a folder with another build of the native step (tools/test-sanitized)
    import swmodel.executors.native

    swmodel.executors.native.LIBRARY = Path(os.environ["SWMODEL_KERNELS"], "_step.so")

guard.run_examiner = examine_in_process.examine_here
environment.set_defaults(environment.OPEN_MPI_VARIABLES, os.environ)  # for the mpiexec that tests start themselves
if "SWMODEL_CXXFLAGS" not in os.environ:
    quick_compilation.set_cxxflags(ROOT / ".pytest_cache" / "headers")

jax.config.update("jax_cpu_enable_async_dispatch", False)  # no further thread, because workers share the cores
jax.config.update("jax_enable_x64", True)
jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")
hypothesis.settings.register_profile("reproducible", deadline=None, derandomize=True, database=None)
hypothesis.settings.load_profile("reproducible")
with pytest.MonkeyPatch.context() as environ:  # XLA reads the flags once; processes that tests start have other flags
    environ.setenv("XLA_FLAGS", quick_compilation.XLA_FLAGS)
    environ.setenv("NPROC", "1")
    jax.devices()


def pytest_addoption(parser):
    parser.addoption("--no-skips", action="store_true", help="skipped tests fail")


def fail_if_skipped(report, config):
    """Return the report; with --no-skips, as in continuous integration, a skipped test has failed in it."""
    if report.skipped and not hasattr(report, "wasxfail") and config.option.no_skips:
        report.outcome, report.longrepr = "failed", f"skipped: {report.longrepr[2]}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    return fail_if_skipped((yield), item.config)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    return fail_if_skipped((yield), collector.config)


def pytest_collection_finish():
    """Let the garbage collector ignore existing objects and run less often, because tracing makes many objects."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def pytest_sessionfinish():
    gc.freeze()  # so that the garbage collections with which pytest ends are short


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """Compile quickly, except in tests of xla not marked `compiled_quickly` and in tests marked `fully_optimised`."""
    is_optimised = is_xla_test(item) or item.get_closest_marker("fully_optimised")
    quick_compilation.compile_quickly(not is_optimised or bool(item.get_closest_marker("compiled_quickly")))


def is_xla_test(item) -> bool:
    """Whether one of the parameters of a test is the executor xla."""
    values = item.callspec.params.values() if hasattr(item, "callspec") else ()
    return any(isinstance(value, str) and value == "xla" for value in values)


@pytest.fixture(autouse=True)
def exclusive_lock(request, tmp_path_factory):
    """Let tests marked `alone` wait for one another, also on different workers."""
    if not request.node.get_closest_marker("alone"):
        yield
        return
    with (tmp_path_factory.getbasetemp().parent / "alone").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@pytest.fixture(scope="module")
def quick_compilation_in_subprocesses():
    """Let the processes that tests start compile XLA programs quickly too."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in quick_compilation.QUICK_ENVIRONMENT.items():
            patch.setenv(name, value)
        yield


@pytest.fixture(scope="module")
def optimised_steps():
    """Compile native steps with full optimisation, for tests that run longer than they compile."""
    with pytest.MonkeyPatch.context() as patch:
        if os.environ["SWMODEL_CXXFLAGS"].startswith(quick_compilation.QUICK_CXXFLAGS):
            patch.delenv("SWMODEL_CXXFLAGS")
        yield


@pytest.fixture
def caplog(caplog, monkeypatch):
    """The log without messages about compilation, because these depend on what was compiled before."""
    monkeypatch.setattr(logging.getLogger("swmodel.executors.native.step_library"), "disabled", True)
    return caplog


@pytest.fixture(scope="session")
def ranks(tmp_path_factory):
    """ranks((2, 2), function, *arguments): the results of a function on each rank of a layout (support/rank_client.py).

    All workers of pytest-xdist share the ranks, which end when the test run ends.
    """
    from support.rank_client import RankServerClient

    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        return RankServerClient(folder.parent, os.getppid())
    return RankServerClient(folder, os.getpid())


@pytest.fixture(scope="session")
def halfway_run(tmp_path_factory):
    """A run of 7 steps with restart files at steps 5 and 7."""
    from support.restarts import make_halfway_run

    return make_halfway_run(tmp_path_factory.mktemp("runs") / "halfway")


@pytest.fixture
def run_folder(halfway_run, tmp_path):
    return shutil.copytree(halfway_run, tmp_path / "run")
