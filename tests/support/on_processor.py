"""The executor `cuda` on a processor: the same text of kernels and foreign call, compiled by the C++ compiler.

A driver that runs kernels thread after thread takes the place of CUDA's (driver.cc).
"""

import ctypes
import hashlib
import subprocess
from functools import cache
from pathlib import Path

import jax
from conftest import ROOT

from swmodel.executors.cuda import kernels, library
from swmodel.executors.native.compile import cache_folder, compiler, locked, publish

CUDA = ROOT / "swmodel" / "executors" / "cuda"
HERE = Path(__file__).parent
FLAGS = [
    "-std=c++17",
    "-O1",
    "-march=native",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-strict-aliasing",
    "-shared",
    "-fPIC",
    "-w",
]


def build(sources: str, *options) -> Path:
    """The library of a text in C++, in the folder of compiled steps."""
    name = hashlib.sha256(repr((sources, options)).encode()).hexdigest()[:24]
    target = cache_folder() / f"{name}.so"
    with locked(target):
        if not target.exists():
            text, made = target.with_suffix(".cc"), target.with_suffix(".making")
            text.write_text(sources)
            subprocess.run([*compiler(), *FLAGS, *options, "-o", str(made), str(text)], check=True)
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


def load(request) -> library.Kernels:
    """As `library.load`, for the processor."""
    text, workspace = kernels.text_of(request.made, request.dtype)
    words = "".join((CUDA / name).read_text() for name in ("cell.h", "job.h"))
    loaded = ctypes.CDLL(str(build(f"// {hashlib.sha256(words.encode()).hexdigest()}\n{text}", f"-I{CUDA}")))
    LOADED.append(loaded)
    return library.Kernels(loaded._handle, kernels.ROWS, workspace)


#: References to the loaded libraries.
LOADED: list[ctypes.CDLL] = []
