"""The executor `cuda` on a processor: the same text of kernels and foreign call, compiled by the C++ compiler.

A driver that runs kernels thread after thread takes the place of CUDA's (driver.cc).
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
from swmodel.executors.native.compile import cache_folder, compiler, locked, publish

CUDA = ROOT / "swmodel" / "executors" / "cuda"
HERE = Path(__file__).parent
FLAGS = "-std=c++17 -O1 -march=native -ffp-contract=off -fno-math-errno "
FLAGS += "-fno-strict-aliasing -shared -fPIC -w"


def build(sources: str, *options) -> Path:
    """The library of a text in C++, in the folder of compiled steps."""
    name = hashlib.sha256(repr((sources, options)).encode()).hexdigest()[:24]
    target = cache_folder() / f"{name}.so"
    with locked(target):
        if not target.exists():
            text, made = target.with_suffix(".cc"), target.with_suffix(".making")
            text.write_text(sources)
            subprocess.run([*compiler(), *FLAGS.split(), *options, "-o", str(made), str(text)], check=True)
            publish(made, target)
            text.unlink()
    return target


@cache
def foreign_call() -> None:
    """Register the foreign call of the executor for processors."""
    headers = f"-I{CUDA}", f"-I{jax.ffi.include_dir()}"
    job = (CUDA / "job.h").read_text()
    driver = build((HERE / "driver.cc").read_text())
    call = build(
        f"// {job!r}\n" + (CUDA / "launch.cc").read_text(), *headers, "-DSWMODEL_ON_PROCESSOR", '-DSWMODEL_JAXLIB=""'
    )
    loaded = ctypes.CDLL(str(call))
    loaded.swmodel_use_driver(str(driver).encode())
    jax.ffi.register_ffi_target("swmodel_cuda_step", jax.ffi.pycapsule(loaded.swmodel_cuda_step), platform="cpu")


@lru_cache(maxsize=8)
def load(request, most=None) -> library.Loaded:
    """As `library.load`, for the processor; kernels compute at most so many values of a cell."""
    made = kernels.kernels_of(request.made, request.dtype, 1 if most else kernels.ROWS, most)
    words = "".join((CUDA / name).read_text() for name in ("cell.h", "job.h"))
    loaded = ctypes.CDLL(str(build(f"// {hashlib.sha256(words.encode()).hexdigest()}\n{made.text}", f"-I{CUDA}")))
    return library.Loaded(loaded._handle, made)


@contextmanager
def instead_of_gpus(most=None):
    """Let the executor `cuda` compute on this processor, with kernels of at most so many values of a cell."""
    foreign_call()
    with (
        patch.object(executor, "register", lambda: None),
        patch.object(library, "load", partial(load, most=most)),
    ):
        yield
