"""The environment of a process before the import of JAX and mpi4py, its rank, and properties of the machine.

With one process per core, XLA should use one thread; a single process should use all cores. NPROC and the binding to
cores by mpiexec or srun set the number of threads; flags for threads in XLA_FLAGS have no effect (jax 0.10.2).
"""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
import os
import re
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from ..errors import SetupError

#: Variables that `spawn` sets: rank and size.
RANK_VARIABLE, SIZE_VARIABLE = "SWMODEL_RANK", "SWMODEL_SIZE"
#: Variables with rank and size among all processes, then with those on this machine, as set by spawn, MPICH and Intel
#: MPI (PMI), MVAPICH, Open MPI and srun.
RANK_VARIABLES_BY_LAUNCHER = (
    (RANK_VARIABLE, SIZE_VARIABLE, RANK_VARIABLE, SIZE_VARIABLE),
    ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"),
    ("MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_SIZE"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"),
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "SLURM_STEP_TASKS_PER_NODE"),
)

#: Set for the ranks that `model.launch` has started, and whose output it reads.
STARTED_BY_LAUNCHER_VARIABLE = "SWMODEL_LAUNCHER"
#: When the program started, s since 1970; the launcher sets it for its ranks.
START_TIME_VARIABLE = "SWMODEL_STARTED"
_IMPORT_TIME = time.time()
#: Smallest address space in which JAX starts, bytes; measured with JAX 0.10 on two cores.
MIN_ADDRESS_SPACE_BYTES = 1_700_000_000

#: Flags of XLA. Without the first, JAX 0.12 computes loops over small arrays in one thread, which halves the speed of
#: the executor xla (720 x 360 cells on two cores: 155 instead of 285 million cell updates per second). With the second,
#: rounding does not depend on the shapes of arrays.
SMALL_LOOPS_ON_ALL_CORES = "--xla_backend_extra_options=xla_cpu_small_while_loop_byte_threshold=0"
MAX_ISA_AVX = "--xla_cpu_max_isa=AVX"

#: Settings for more ranks than cores, because MPICH and Open MPI wait for messages in a busy loop.
OVERSUBSCRIPTION_VARIABLES = {
    "MPIR_CVAR_POLLS_BEFORE_YIELD": "1",
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "true",
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
}
#: Settings that make Open MPI's mpiexec (4 and 5) start ranks as MPICH's does: as root in containers, and without
#: binding to cores. They also allow more ranks than cores, because Open MPI does not count hardware threads.
OPEN_MPI_VARIABLES = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_ALLOW_RUN_AS_ROOT": "1",
    "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_hwloc_default_binding_policy": "none",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}


class RankInfo(NamedTuple):
    """Rank and size among the processes of mpiexec, srun or `spawn`; `local_...`: among those on this machine."""

    rank: int = 0
    size: int = 1
    local_size: int = 1
    local_rank: int = 0


def get_rank_info(environ: Mapping[str, str] = os.environ) -> RankInfo | None:
    """The RankInfo in the launcher's variables; None for a single process. SetupError: a variable is not a number."""

    def read_number(name: str, default: int) -> int:
        digits = re.match(r"\d+", environ.get(name, str(default)))  # Slurm writes 4(x2)
        if digits is None:
            raise SetupError(f"{name}={environ[name]}: must be a number; it is set by the launcher of the processes")
        return int(digits[0])

    matching = [row for row in RANK_VARIABLES_BY_LAUNCHER if row[0] in environ and read_number(row[1], 1) > 1]
    if not matching:
        return None
    rank, size = (read_number(name, 0) for name in matching[0][:2])
    # srun may set variables of two launchers, of which only one may have the local rank.
    matching_local = [row for row in matching if read_number(row[1], 1) == size and row[3] in environ]
    local_rank, local_size = matching_local[0][2:] if matching_local else matching[0][2:]
    return RankInfo(rank, size, read_number(local_size, size), read_number(local_rank, 0))


def program_start_time() -> float:
    """When the launcher or, without one, this process started, s since 1970."""
    return float(os.environ.get(START_TIME_VARIABLE, _IMPORT_TIME))


def usable_core_ids() -> set[int]:
    """The numbers of the cores that this process may use."""
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set(range(os.cpu_count() or 1))


def n_cores() -> int:
    """The number of cores that this process may use."""
    return len(usable_core_ids())


def n_cores_per_process(rank_info: RankInfo | None = None) -> int:
    """The number of cores for this process if the run's processes on this machine share the cores that it may use."""
    rank_info = rank_info or get_rank_info() or RankInfo()
    return max(1, n_cores() // rank_info.local_size)


def prepare_environment(reproducible: bool = False, rank_info: RankInfo | None = None, devices: int = 1):
    """Set the environment of this process before the import of JAX or mpi4py.

    Variables that the user has set are kept, but XLA_FLAGS is extended. `reproducible` restricts XLA to AVX, so that
    every layout gives the same bits. Without a GPU, JAX divides the CPU into `devices` devices.
    """
    if devices > 1:
        os.environ.setdefault("JAX_NUM_CPU_DEVICES", str(devices))
    jaxlib_version = [int(number) for number in re.findall(r"\d+", package_version("jaxlib") or "")]
    for flag, is_needed in ((SMALL_LOOPS_ON_ALL_CORES, jaxlib_version >= [0, 12]), (MAX_ISA_AVX, reproducible)):
        flags = os.environ.get("XLA_FLAGS", "")
        if is_needed and flag.partition("=")[0] not in flags:
            os.environ["XLA_FLAGS"] = f"{flags} {flag}".strip()
    if not has_gpu():
        os.environ.setdefault("JAX_PLATFORMS", "cpu")
    if rank_info is not None and rank_info.size > 1:
        os.environ.setdefault("NPROC", str(n_cores_per_process(rank_info)))
        os.environ.setdefault("JAX_CPU_ENABLE_ASYNC_DISPATCH", "false")
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
        if rank_info.local_size > (os.cpu_count() or 1):
            set_defaults(OVERSUBSCRIPTION_VARIABLES, os.environ)


def set_defaults(variables: Mapping[str, str], environ):
    for name, value in variables.items():
        environ.setdefault(name, value)


def override_inherited_settings():
    """Override inherited settings that could end this program: the matplotlib backend of a notebook, and -W error."""
    os.environ["MPLBACKEND"] = "agg"
    if any(option.startswith("error") for option in sys.warnoptions):
        warnings.simplefilter("default")


def check_xla_flags():
    """Raise SetupError if XLA refuses XLA_FLAGS. Another process tries the flags, because XLA would end this one."""
    flags = os.environ.get("XLA_FLAGS", "")
    if not set(flags.split()) - {SMALL_LOOPS_ON_ALL_CORES, MAX_ISA_AVX}:
        return
    command = [sys.executable, "-P", "-c", "from jaxlib import xla_client; xla_client.make_cpu_client()"]
    result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
    fatal_messages = re.findall(r"^F\d{4} .*?\] (.*)", result.stderr, re.MULTILINE)
    if result.returncode and fatal_messages:
        raise SetupError(f"XLA does not accept XLA_FLAGS={flags}: {fatal_messages[0]}")


def check_address_space():
    """Raise SetupError if the address space (`ulimit -v`) is too small for JAX, which would abort."""
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit != resource.RLIM_INFINITY and limit < MIN_ADDRESS_SPACE_BYTES:
        raise SetupError(
            f"the address space is limited to {limit / 1e9:.2g} GB (ulimit -v); JAX needs "
            f"{MIN_ADDRESS_SPACE_BYTES / 1e9:.2g} GB to start"
        )


@functools.cache
def package_version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def read_proc_memory(file: str, name: str) -> int | None:
    """The entry `name`, an amount of memory, in a file of /proc, bytes; None on systems without it."""
    path = Path("/proc", file)
    entries = re.findall(rf"^{name}:\s*(\d+) kB", path.read_text(), re.MULTILINE) if path.is_file() else []
    return 1024 * int(entries[0]) if entries else None


def peak_memory() -> int:
    """Peak resident memory of this process, bytes."""
    unit = 1 if sys.platform == "darwin" else 1024
    return read_proc_memory("self/status", "VmHWM") or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def resident_memory() -> int:
    """Memory that this process occupies now, bytes; if unknown, its peak."""
    return read_proc_memory("self/status", "VmRSS") or peak_memory()


def total_memory() -> int:
    """Memory of this machine, bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def free_memory() -> int:
    """Free memory of this machine, bytes; if unknown, its total memory."""
    return read_proc_memory("meminfo", "MemAvailable") or total_memory()


def has_gpu() -> bool:
    """Whether JAX computes on a GPU: whether there is one that JAX can use, and JAX_PLATFORMS allows it."""
    platforms = os.environ.get("JAX_PLATFORMS", "").lower()
    return is_gpu_usable() and (not platforms or bool({"gpu", "cuda", "rocm"} & {*platforms.split(",")}))


def is_gpu_usable() -> bool:
    plugins = ("jax_cuda12_plugin", "jax_cuda13_plugin", "jax_rocm60_plugin", "jax_rocm7_plugin")
    devices = Path("/dev/nvidiactl"), Path("/dev/kfd")
    return any(device.exists() for device in devices) and any(map(importlib.util.find_spec, plugins))


def loaded_mpi_libraries() -> list[str]:
    """The paths of the MPI libraries that this process has loaded; empty if unknown."""
    maps = Path("/proc/self/maps")
    paths = {line.split(maxsplit=5)[-1] for line in maps.read_text().splitlines()} if maps.exists() else set()
    return sorted(path for path in paths if Path(path).name.startswith("libmpi") and ".so" in Path(path).name)
