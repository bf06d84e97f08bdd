"""What is installed, what the machine has, and whether JAX computes here."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ...errors import SetupError
from ...executors import cuda, native
from ...executors.native.compile import BUILT, cache_folder, compiler
from ...parallel import environment
from ...parallel.environment import version_of
from ...parallel.foreign import REMEDY
from ..rank_checks import check_device

INSTALL = "make setup, or pip install . where the sources are"
REQUIRED = ("jax", "jaxlib", "numpy", "netCDF4", "pydantic", "click", "rich", "matplotlib", "cmocean")


class Finding(NamedTuple):
    """One line of the report."""

    what: str  # was examined
    found: str
    advice: str = ""  # what to do about it; empty if all is well
    broken: bool = False  # whether the model does not run properly until that is done


def numbers(text: str) -> tuple[int, ...]:
    """(0, 10, 2) for "0.10.2"."""
    return tuple(int(part) for part in text.split(".") if part.isdigit())


def packages() -> Iterator[Finding]:
    """Versions of Python and of what the model needs."""
    yield Finding("Python", f"{platform.python_version()}, {sys.executable}")
    yield Finding("swmodel", f"{version_of('swmodel') or 'not installed'}, {Path(__file__).parents[2]}")
    for name in REQUIRED:
        if found := version_of(name):
            yield jax_version(found) if name == "jax" else Finding(name, found)
        else:
            yield Finding(name, "missing", INSTALL, broken=True)
    if ffmpeg := shutil.which("ffmpeg") or version_of("imageio-ffmpeg"):
        yield Finding("ffmpeg", ffmpeg)
    else:
        yield Finding("ffmpeg", "missing: films are GIF files", "for MP4: pip install imageio-ffmpeg")


def tested_jax() -> tuple[str, str]:
    """The versions of JAX with which the model is tested: from the first to below the second (pyproject.toml)."""
    needed = next(each for each in importlib.metadata.requires("swmodel") or () if re.match("jax[<>=]", each))
    return re.search(r">=([\d.]+)", needed)[1], re.search(r"<([\d.]+)", needed)[1]


def jax_version(found: str) -> Finding:
    """Whether JAX is one of the versions that are tested."""
    if not version_of("swmodel"):
        return Finding("jax", found)
    first, below = tested_jax()
    if numbers(first) <= numbers(found) < numbers(below):
        return Finding("jax", found)
    return Finding(
        "jax",
        f"{found}, not tested: {first} to below {below} is",
        f'pip install "jax>={first},<{below}", then install mpi4jax anew, if it is installed',
    )


def machine() -> Iterator[Finding]:
    """Cores, memory, GPUs."""
    yield Finding("system", f"{platform.system()} {platform.machine()}")
    yield Finding("cores", f"{environment.cores()} of {os.cpu_count()} for this process")
    total, free = (size / 2**30 for size in (environment.total_memory(), environment.free_memory()))
    yield Finding("memory", f"{total:.1f} GiB, {free:.1f} GiB available")
    if Path("/dev/nvidiactl").exists() and not environment.gpu_is_usable():
        yield Finding("GPU", "an NVIDIA GPU, but JAX cannot use it", 'pip install "jax[cuda13]"')
    elif environment.has_gpu():
        reason = cuda.machine_unsupported_reason()
        yield Finding("GPU", f"without the executor cuda: {reason}" if reason else "with the executor cuda")


def one_process() -> Iterator[Finding]:
    """Whether JAX has a device, and compiles and runs a program on it."""
    start = time.perf_counter()
    try:
        check_device()
        import jax
        import jax.numpy as jnp

        devices = jax.devices()
        jax.jit(lambda x: jnp.sum(x * x))(jnp.arange(10.0)).block_until_ready()
    except SetupError as error:
        yield Finding("jax.jit", str(error), "correct the environment variable that the line names", broken=True)
        return
    except Exception as error:  # report whatever is wrong with JAX
        yield Finding("jax.jit", f"{type(error).__name__}: {error}", INSTALL, broken=True)
        return
    yield Finding("devices", ", ".join(device.device_kind for device in devices))
    yield Finding("jax.jit", f"compiles and computes ({time.perf_counter() - start:.1f} s with importing JAX)")
    yield native_step()
    yield compiled_steps()


def native_step() -> Finding:
    """Whether the native step was built, and for which JAX."""
    if reason := native.library_unsupported_reason():
        return Finding("native step", f"not used: {reason}", REMEDY)
    if reason := native.machine_unsupported_reason():
        return Finding("native step", f"not used: {reason}")
    built = native.built()
    found = f"float32 and float64, by compiler {built.compiler}"
    if numbers(built.jaxlib)[:2] != numbers(version_of("jaxlib") or "")[:2]:
        return Finding("native step", f"{found}, built for jaxlib {built.jaxlib}", f"build it anew: {REMEDY}")
    return Finding("native step", found)


def compiled_steps() -> Finding:
    """Where compiled steps are kept, how many there are, and by which compiler others are made."""
    try:
        folder = cache_folder()
        made, kept = (len(list(each.glob("*.so"))) for each in (BUILT, folder))
        found = f"{made} came with swmodel; {kept} in {folder}; others by {compiler()[0]}"
    except SetupError as error:
        return Finding("compiled steps", str(error), "other configurations run with xla")
    return Finding("compiled steps", found)
