"""The kernels of the executor `cuda` give the bits of the native step; a CPU runs them here.

The C++ compiler compiles the same source of kernels and foreign call, and a driver that runs the threads of a kernel
one after another replaces that of CUDA (fake_driver.cc).
"""

import ctypes
import hashlib
import re
import subprocess
from contextlib import contextmanager
from functools import cache, lru_cache, partial
from pathlib import Path
from unittest.mock import Mock, patch

import jax
import numpy as np
import pytest
from conftest import ROOT
from support import covering_array
from support.layouts import with_layout
from support.marks import night_and_release_params, night_params
from support.quick_compilation import compile_quickly
from support.stepping import run_chunks
from support.unchecked_config import resolve_without_checks

from swmodel import load
from swmodel.config import Config, ConfigError
from swmodel.errors import SetupError
from swmodel.executors import availability
from swmodel.executors.cuda import calls, executor, kernel_library, kernels
from swmodel.executors.native import request_of
from swmodel.executors.native.executor import make_loop
from swmodel.executors.native.generated_step import GeneratedStep
from swmodel.executors.native.step_library import cache_folder, compiler, lock_file, publish
from swmodel.gradients import Problem
from swmodel.gradients.check import Checks, controls_of, fingerprint
from swmodel.model.resolve import resolve
from swmodel.model.validate import check_config
from swmodel.ocean.state import Carry
from swmodel.parallel import environment
from swmodel.parallel.decomposition import block_of_rank
from swmodel.parallel.transport.serial import SerialTransport
from swmodel.setup.setup import setup_of

pytestmark = pytest.mark.slow

ROWS = covering_array.names_without_drying()
BASIN, CHANNEL = "ab3-enstrophy-basin-sphere", "leapfrog-energy-channel-f_plane"
CUDA_SOURCES = ROOT / "swmodel" / "executors" / "cuda"
COMPILER_FLAGS = "-std=c++17 -O0 -march=native -ffp-contract=off -fno-math-errno -fno-strict-aliasing -shared -fPIC -w"


def build_library(source: str, *options) -> Path:
    """The library compiled from C++ source, in the cache of compiled steps."""
    name = hashlib.sha256(repr((source, options)).encode()).hexdigest()[:24]
    target = cache_folder() / f"{name}.so"
    with lock_file(target):
        if not target.exists():
            text_file, new_file = target.with_suffix(".cc"), target.with_suffix(".making")
            text_file.write_text(source)
            subprocess.run([*compiler(), *COMPILER_FLAGS.split(), *options, "-o", new_file, text_file], check=True)
            publish(new_file, target)
            text_file.unlink()
    return target


@cache
def register_foreign_call() -> None:
    headers = f"-I{CUDA_SOURCES}", f"-I{jax.ffi.include_dir()}"
    driver = build_library((ROOT / "tests/executors/fake_driver.cc").read_text())
    source = f"// {(CUDA_SOURCES / 'kernel_arguments.h').read_text()!r}\n" + (CUDA_SOURCES / "launch.cc").read_text()
    path = build_library(source, *headers, "-DSWMODEL_CUDA_ON_CPU", '-DSWMODEL_JAXLIB=""')
    library = ctypes.CDLL(str(path))
    library.swmodel_use_driver(str(driver).encode())
    jax.ffi.register_ffi_target("swmodel_cuda_step", jax.ffi.pycapsule(library.swmodel_cuda_step), platform="cpu")


@lru_cache(maxsize=8)
def load_kernels(request, max_values=None) -> kernel_library.LoadedKernels:
    """As `kernel_library.load`, for the CPU; each kernel computes at most `max_values` values per cell."""
    cells_per_thread = 1 if max_values else kernels.CELLS_PER_THREAD
    cuda_kernels = kernels.write_kernels(request.step_code, request.dtype, cells_per_thread, max_values)
    headers = "".join((CUDA_SOURCES / name).read_text() for name in kernel_library.HEADERS)
    source = f"// {hashlib.sha256(headers.encode()).hexdigest()}\n{cuda_kernels.source}"
    library = ctypes.CDLL(str(build_library(source, f"-I{CUDA_SOURCES}")))
    return kernel_library.LoadedKernels(library._handle, cuda_kernels)


@contextmanager
def cuda_executor_on_cpu(max_values=None):
    """A context in which the executor `cuda` computes on this CPU; `max_values` is that of `load_kernels`."""
    register_foreign_call()
    load_on_cpu = partial(load_kernels, max_values=max_values)
    with patch.object(executor, "register", lambda: None), patch.object(kernel_library, "load", load_on_cpu):
        yield


@pytest.fixture(autouse=True)
def cuda_on_this_cpu():
    with cuda_executor_on_cpu():
        yield


@pytest.mark.promise("the executor does not change the answer")
@pytest.mark.parametrize("row", [*ROWS[::12], *night_and_release_params([*ROWS[1:12], *ROWS[13:]], every=3)])
def test_kernels_have_bits_of_native_step(row, monkeypatch):
    """First, kernels copy the halos; then halos are exchanged as between blocks, and each pass has several kernels."""
    config = covering_array.configuration_of(row)
    names = setup_of(config).scheme.state_type._fields
    expected = run_chunks("native", config, 5)
    for copies_halos in (True, False):
        monkeypatch.setattr(kernel_library, "load", partial(load_kernels, max_values=None if copies_halos else 150))
        monkeypatch.setattr(calls, "is_own_neighbour", lambda transport, copies_halos=copies_halos: copies_halos)
        monkeypatch.setattr(executor, "is_own_neighbour", lambda transport, copies_halos=copies_halos: copies_halos)
        fields = run_chunks("cuda", config, 1, 4)
        for name, a, b in zip(names, fields, expected, strict=False):
            np.testing.assert_array_equal(a, b, err_msg=f"{name}, copies_halos: {copies_halos}")


def digests_of_run(row, layout, sharded, executor_name):
    """The digests of the state after five steps and of a gradient, computed on the CPU."""
    compile_quickly(True)
    config = with_layout(covering_array.configuration_of(row), layout, sharded, executor=executor_name, steps=5)
    with cuda_executor_on_cpu(max_values=300):
        problem = Problem(resolve_without_checks(config), ("eta", "u", "v"), lambda view, k: view.state)
        checks = Checks(problem)
        series = problem.series(checks.x)
    state = dict(zip(problem.names, (field[-1] for field in series), strict=False))
    return fingerprint(problem, state), fingerprint(problem, checks.gradient)


@pytest.mark.mpi
@pytest.mark.night
@pytest.mark.promise("devices and hosts do not change the answer")
@pytest.mark.parametrize("row", [BASIN, CHANNEL])
@pytest.mark.parametrize(("layout", "sharded"), [((2, 2), True), ((2, 1), True), ((1, 2), False)])
def test_kernels_on_blocks_have_bits_of_native_step(ranks, layout, sharded, row):
    """State and gradient agree on devices of one process and on several processes; JAX or MPI exchanges halos."""
    processes = 1 if sharded else 2
    digests, expected = (ranks(processes, digests_of_run, row, layout, sharded, name) for name in ("cuda", "native"))
    assert digests == expected


PUBLISHED_JET_OPTIONS = {"time.stepper": "ab2"}, *night_params({"time.stepper": "gfb"})


@pytest.mark.parametrize("options", PUBLISHED_JET_OPTIONS)
def test_kernels_of_the_benchmark_fit_into_the_registers(options):
    """NVRTC compiles them for three generations of GPUs without register spills, also in the adjoint step."""
    request = request_of(setup_of(load("published_jet", options, environ={})))
    for derivative, cells in ((), kernels.CELLS_PER_THREAD), (("adjoint",), 1):
        text = kernels.write_kernels(request._replace(derivative=derivative).step_code, request.dtype, cells).source
        assert [kernel_library.compile_text(text, architecture)[1] for architecture in ARCHITECTURES] == [0, 0, 0]


#: The tests of the night compile one row for one architecture, and those of a release all rows for all.
ARCHITECTURES = "sm_70", "sm_80", "sm_90"
NIGHT_BUILDS = [(ROWS[0], "sm_80")]
OTHER_BUILDS = [(row, name) for row in ROWS for name in ARCHITECTURES if (row, name) not in NIGHT_BUILDS]
OTHER_BUILDS = night_params(*OTHER_BUILDS, mark=pytest.mark.release)


@pytest.mark.parametrize("derivative", [(), ("adjoint",)], ids=["forward", "adjoint"])
@pytest.mark.parametrize(("row", "architecture"), [*night_params(*NIGHT_BUILDS), *OTHER_BUILDS])
def test_kernels_of_all_options_fit_into_the_registers(row, architecture, derivative, monkeypatch):
    """A pass is split if a single kernel for it does not fit."""
    builds, compile_text = [], kernel_library.compile_text
    monkeypatch.setattr(kernel_library, "read_or_make", lambda name, make: make())
    monkeypatch.setattr(kernel_library, "compile_text", lambda *args: builds.append(compile_text(*args)) or builds[-1])
    request = request_of(setup_of(covering_array.configuration_of(row)))
    kernel_library.compile_kernels(request._replace(derivative=derivative), architecture)
    assert builds[-1][1] == 0  # bytes of register spills


def traced_loop(options):
    setup = setup_of(load("published_jet", options | {"grid.nx": 70, "grid.ny": 37, "time.dt": 10.0}, environ={}))
    transport = SerialTransport(block_of_rank(0, (1, 1), *setup.shape))
    generated_step = GeneratedStep(setup.scheme, setup.method, setup.scheme.static_halo, executor.STEPS_PER_CALL)
    static = generated_step.static_of(*setup.static(transport.block), setup.shape)
    state = setup.state(transport.block)
    carry = Carry(state, setup.method.initial_memory(state), np.int32(0))
    loop = jax.jit(make_loop(calls.CudaCalls, generated_step, transport))
    return loop.trace(carry, static, np.float32(10.0), np.int32(25))


@pytest.mark.parametrize("options", PUBLISHED_JET_OPTIONS)
def test_loop_for_gpus_copies_no_field(options):
    """An iteration has one foreign call and no operation on a whole field, also after XLA has compiled the loop."""
    traced = traced_loop(options)
    (body, _) = re.findall(r"do \{(.*?)stablehlo.return", traced.lower(lowering_platforms=("cuda",)).as_text(), re.S)
    assert body.count("@swmodel_cuda_step") == 1
    assert "37x70x" not in body
    computations = re.split(r"\n(?=%|ENTRY)", traced.lower().compile().as_text())
    bodies = [computation for computation in computations if "swmodel_cuda_step" in computation]
    assert len(bodies) == 2
    for body in bodies:
        assert "ENTRY" not in body
        operations_on_fields = re.findall(r"= f32\[\d{4,}\]\S* (\S+?)\(", body)
        assert set(operations_on_fields) <= {"get-tuple-element", "parameter"}, body


def programs_of_gradient(layout):
    """The text of the forward and the adjoint program of a gradient for GPUs, on a layout of devices."""
    config = with_layout(covering_array.configuration_of(BASIN), layout, True, executor="cuda", steps=5)
    with cuda_executor_on_cpu(max_values=300):
        problem = Problem(resolve_without_checks(config), ("eta", "u", "v"), lambda view, k: view.state)
        programs, fixed, step_0 = problem._sweeps.programs, problem._sweeps.fixed_inputs, np.int32(0)
        carry, active = programs.start(problem.first_guess(), fixed)
        programs.trajectory.agree_on_backend(active, fixed, with_adjoint=True)
        stack, series = programs.empty_stack(carry, active, fixed, 5), programs.empty_series(carry, active, fixed)
        forward = programs.record.trace(stack, carry, active, series, step_0, step_0, True, fixed)
        cotangents = programs.seed(carry, active, series, fixed)
        adjoint = programs.pull_back.trace(stack, active, cotangents, series, step_0, step_0, fixed)
        return [program.lower(lowering_platforms=("cuda",)).as_text() for program in (forward, adjoint)]


@pytest.mark.mpi
@pytest.mark.parametrize("layout", [(2, 1), *night_params(((1, 1),))])
def test_gradient_is_lowered_for_gpus(ranks, layout):
    """Two devices exchange halos, whereas one device copies its own."""
    ((forward, adjoint),) = ranks(1, programs_of_gradient, layout)
    for text in forward, adjoint:
        assert "@swmodel_cuda_step" in text
        assert ("collective_permute" in text) == (layout != (1, 1))


OTHER_ROWS = night_params(*((row, True) for row in ROWS if row != BASIN), mark=pytest.mark.release)


@pytest.mark.promise("derivatives are exact")
@pytest.mark.parametrize(("row", "with_hessian"), [(BASIN, False), *night_params((BASIN, True)), *OTHER_ROWS])
def test_derivatives_of_kernels_have_bits_of_native_step(row, with_hessian, monkeypatch):
    """Gradients, and Hessian products if `with_hessian`, agree, although passes are split; zeros may differ in sign."""
    monkeypatch.setattr(kernel_library, "load", partial(load_kernels, max_values=400))
    derivatives = []
    for executor_name in ("cuda", "native"):
        config = covering_array.configuration_of(row)
        run = config.run.model_copy(update={"executor": executor_name, "steps": 5, "dtype": "float64"})
        config = resolve_without_checks(config.model_copy(update={"run": run}))
        problem = Problem(config, controls_of(config), lambda view, k: view.state)
        x, rng = problem.first_guess(), np.random.default_rng(3)
        dx = {name: rng.standard_normal(np.shape(field)) for name, field in x.items()}

        def value(series):
            return sum((field**2).sum() for field in jax.tree.leaves(series))

        derivatives.append([*problem.value_and_gradient(x, value)])
        if with_hessian:
            derivatives[-1].append(problem.hessian_vector(x, dx, value))
    jax.tree.map(np.testing.assert_array_equal, *derivatives)


@pytest.mark.fault("no compiler, or one that fails, is killed or writes invalid output")
def test_auto_chooses_xla_where_kernels_cannot_be_compiled(monkeypatch):
    monkeypatch.setattr(environment, "has_gpu", lambda: True)
    monkeypatch.setattr(kernel_library, "load", Mock(side_effect=SetupError("no kernels")))
    gpu_without_kernels = availability.Availability(str, kernel_library.unsupported_reason)
    monkeypatch.setitem(availability.AVAILABILITY, "cuda", gpu_without_kernels)
    kernel_library.unsupported_reason.cache_clear()
    sections = {"grid": {"nx": 8, "ny": 6}, "time": {"dt": 1.0}}
    assert resolve(Config(**sections)).run.executor == "xla"
    with pytest.raises(ConfigError, match="no kernels"):
        check_config(Config(**sections, run={"executor": "cuda", "steps": 1}))
    kernel_library.unsupported_reason.cache_clear()
