"""Checks of installed packages, of the machine, and of JAX on one process."""

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
from ...executors.native.step_library import PREBUILT_FOLDER, cache_folder, compiler
from ...parallel import environment
from ...parallel.environment import package_version
from ...parallel.ffi_libraries import BUILD_COMMANDS
from ..rank_checks import check_devices

INSTALL_ADVICE = "make setup, or pip install . in the folder of the sources"
REQUIRED_PACKAGES = ("jax", "jaxlib", "numpy", "netCDF4", "pydantic", "click", "rich", "matplotlib", "cmocean")


class Finding(NamedTuple):
    """One row of the report."""

    subject: str  # what was examined
    result: str
    advice: str = ""  # what the user should do; empty if nothing is wrong
    is_broken: bool = False  # whether a required package is missing, or something installed does not work


def version_numbers(text: str) -> tuple[int, ...]:
    """The numbers in a version: (0, 10, 2) for "0.10.2"."""
    return tuple(int(part) for part in text.split(".") if part.isdigit())


def check_packages() -> Iterator[Finding]:
    yield Finding("Python", f"{platform.python_version()}, {sys.executable}")
    yield Finding("swmodel", f"{package_version('swmodel') or 'not installed'}, {Path(__file__).parents[2]}")
    for name in REQUIRED_PACKAGES:
        if version := package_version(name):
            yield check_jax_version(version) if name == "jax" else Finding(name, version)
        else:
            yield Finding(name, "missing", INSTALL_ADVICE, is_broken=True)
    if ffmpeg := shutil.which("ffmpeg") or package_version("imageio-ffmpeg"):
        yield Finding("ffmpeg", ffmpeg)
    else:
        yield Finding("ffmpeg", "missing: animations are GIF files", "for MP4: pip install imageio-ffmpeg")


def tested_jax_range() -> tuple[str, str]:
    """The range of tested JAX versions from pyproject.toml: the first version, and the excluded upper bound."""
    requirement = next(each for each in importlib.metadata.requires("swmodel") or () if re.match("jax[<>=]", each))
    return re.findall(r">=([\d.]+)", requirement)[0], re.findall(r"<([\d.]+)", requirement)[0]


def check_jax_version(version: str) -> Finding:
    if not package_version("swmodel"):
        return Finding("jax", version)
    first, upper_bound = tested_jax_range()
    if version_numbers(first) <= version_numbers(version) < version_numbers(upper_bound):
        return Finding("jax", version)
    return Finding(
        "jax",
        f"{version}, not tested: tests cover {first} to below {upper_bound}",
        f'pip install "jax>={first},<{upper_bound}", then reinstall mpi4jax, if it is installed',
    )


def describe_machine() -> Iterator[Finding]:
    yield Finding("system", f"{platform.system()} {platform.machine()}")
    yield Finding("cores", f"{environment.n_cores()} of {os.cpu_count()} for this process")
    total, free = (size / 2**30 for size in (environment.total_memory(), environment.free_memory()))
    yield Finding("memory", f"{total:.1f} GiB, {free:.1f} GiB available")
    if Path("/dev/nvidiactl").exists() and not environment.is_gpu_usable():
        yield Finding("GPU", "an NVIDIA GPU, but JAX cannot use it", 'pip install "jax[cuda13]"')
    elif environment.has_gpu():
        reason = cuda.machine_unsupported_reason()
        yield Finding("GPU", f"without the executor cuda: {reason}" if reason else "with the executor cuda")


def check_one_process() -> Iterator[Finding]:
    """Whether JAX has a device, and compiles and runs a program on it; if so, also the state of the native steps."""
    start = time.perf_counter()
    try:
        check_devices()
        import jax
        import jax.numpy as jnp

        devices = jax.devices()
        jax.jit(lambda x: jnp.sum(x * x))(jnp.arange(10.0)).block_until_ready()
    except SetupError as error:
        yield Finding("jax.jit", str(error), "correct the environment variable in the message", is_broken=True)
        return
    except Exception as error:  # report whatever is wrong with JAX
        yield Finding("jax.jit", f"{type(error).__name__}: {error}", INSTALL_ADVICE, is_broken=True)
        return
    yield Finding("devices", ", ".join(device.device_kind for device in devices))
    yield Finding("jax.jit", f"compiles and computes ({time.perf_counter() - start:.1f} s including the import of JAX)")
    yield check_native_step()
    yield count_compiled_steps()


def check_native_step() -> Finding:
    """Whether the native step can be used, its compiler and, if another jaxlib is installed, that of the build."""
    if reason := native.library_unsupported_reason():
        return Finding("native step", f"not used: {reason}", BUILD_COMMANDS)
    if reason := native.machine_unsupported_reason():
        return Finding("native step", f"not used: {reason}")
    build_info = native.load_foreign_calls()
    result = f"float32 and float64, by compiler {build_info.compiler}"
    if version_numbers(build_info.jaxlib)[:2] != version_numbers(package_version("jaxlib") or "")[:2]:
        return Finding(
            "native step", f"{result}, built for jaxlib {build_info.jaxlib}", f"rebuild it: {BUILD_COMMANDS}"
        )
    return Finding("native step", result)


def count_compiled_steps() -> Finding:
    """The number and folder of compiled steps, and the compiler for new steps."""
    try:
        folder = cache_folder()
        n_prebuilt, n_cached = (len(list(each.glob("*.so"))) for each in (PREBUILT_FOLDER, folder))
        result = f"{n_prebuilt} came with swmodel; {n_cached} in {folder}; {compiler()[0]} compiles new ones"
    except SetupError as error:
        return Finding("compiled steps", str(error), "configurations without a compiled step run with xla")
    return Finding("compiled steps", result)
