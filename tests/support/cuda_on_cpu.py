"""The executor `cuda` on a CPU: the same source of kernels and foreign call, compiled by the C++ compiler.

A driver that runs the threads of a kernel one after another replaces that of CUDA (driver.cc).
"""

import ctypes
import hashlib
import subprocess
from contextlib import contextmanager
from functools import cache, lru_cache, partial
from pathlib import Path
from unittest.mock import patch

import jax
from conftest import ROOT

from swmodel.executors.cuda import executor, kernels, library
from swmodel.executors.native.step_library import cache_folder, compiler, lock_file, publish

CUDA_SOURCES = ROOT / "swmodel" / "executors" / "cuda"
SUPPORT_FOLDER = Path(__file__).parent
COMPILER_FLAGS = "-std=c++17 -O0 -march=native -ffp-contract=off -fno-math-errno "
COMPILER_FLAGS += "-fno-strict-aliasing -shared -fPIC -w"


def build_library(sources: str, *options) -> Path:
    """The library compiled from C++ source, in the cache of compiled steps."""
    name = hashlib.sha256(repr((sources, options)).encode()).hexdigest()[:24]
    target = cache_folder() / f"{name}.so"
    with lock_file(target):
        if not target.exists():
            text, made = target.with_suffix(".cc"), target.with_suffix(".making")
            text.write_text(sources)
            subprocess.run([*compiler(), *COMPILER_FLAGS.split(), *options, "-o", str(made), str(text)], check=True)
            publish(made, target)
            text.unlink()
    return target


@cache
def register_foreign_call() -> None:
    headers = f"-I{CUDA_SOURCES}", f"-I{jax.ffi.include_dir()}"
    job = (CUDA_SOURCES / "job.h").read_text()
    driver = build_library((SUPPORT_FOLDER / "driver.cc").read_text())
    launch = f"// {job!r}\n" + (CUDA_SOURCES / "launch.cc").read_text()
    call = build_library(launch, *headers, "-DSWMODEL_ON_PROCESSOR", '-DSWMODEL_JAXLIB=""')
    loaded = ctypes.CDLL(str(call))
    loaded.swmodel_use_driver(str(driver).encode())
    jax.ffi.register_ffi_target("swmodel_cuda_step", jax.ffi.pycapsule(loaded.swmodel_cuda_step), platform="cpu")


@lru_cache(maxsize=8)
def load_kernels(request, max_values=None) -> library.LoadedKernels:
    """As `library.load`, for the CPU; kernels compute at most `max_values` values per cell."""
    rows = 1 if max_values else kernels.CELLS_PER_THREAD
    made = kernels.write_kernels(request.step_code, request.dtype, rows, max_values)
    words = "".join((CUDA_SOURCES / name).read_text() for name in ("device_functions.h", "job.h"))
    source = f"// {hashlib.sha256(words.encode()).hexdigest()}\n{made.source}"
    loaded = ctypes.CDLL(str(build_library(source, f"-I{CUDA_SOURCES}")))
    return library.LoadedKernels(loaded._handle, made)


@contextmanager
def cuda_executor_on_cpu(max_values=None):
    """A context in which the executor `cuda` computes on this CPU; kernels compute at most `max_values` per cell."""
    register_foreign_call()
    with (
        patch.object(executor, "register", lambda: None),
        patch.object(library, "load", partial(load_kernels, max_values=max_values)),
    ):
        yield
