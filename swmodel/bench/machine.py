"""The machine and its software, and the fraction of its cores that other programs use."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import time
from pathlib import Path

from ..parallel.environment import free_memory, n_cores, package_version

PACKAGES = ("swmodel", "numpy", "jax", "jaxlib", "jax-cuda12-plugin", "jax-cuda13-plugin", "mpi4jax", "mpi4py")
#: Environment variables of threads, devices and MPI that affect measurements.
SETTINGS_PATTERN = re.compile(
    r"NPROC|XLA_FLAGS|JAX_\w+|OMP_\w+|OPENBLAS_NUM_THREADS|MKL_NUM_THREADS|CUDA_VISIBLE_DEVICES|MPIR_CVAR_\w+|"
    r"OMPI_MCA_\w+|PRTE_MCA_\w+|I_MPI_\w+|MPI4JAX_\w+|SLURM_(JOB_NUM_NODES|NTASKS|CPUS_PER_TASK|CPU_BIND)|SWMODEL_\w+"
)
#: Fraction of the cores that other programs may use before times count as disturbed. Daemons use less than 0.01.
MAX_CORE_FRACTION_OF_OTHERS = 0.05
#: Columns of a line of /proc/stat: user, nice, system and stolen time.
BUSY_COLUMNS = (1, 2, 3, 8)


def describe_machine() -> dict:
    """CPU, cores, caches, memory, system, versions, git revision and environment variables, as JSON values.

    This function imports neither JAX nor MPI.
    """
    return {
        "cpu": cpu_model(),
        "cores": n_cores(),
        "cpus_online": os.cpu_count(),
        "caches_bytes": cache_bytes(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": {name: version for name in PACKAGES if (version := package_version(name))},
        "gpu_driver": gpu_driver(),
        "revision": git_revision(),
        "settings": environment_settings(),
    }


def gpu_driver(path: Path = Path("/proc/driver/nvidia/version")) -> str:
    """The version of the driver of NVIDIA GPUs, such as "580.65.06"; "" if there is no driver."""
    match = re.search(r"Kernel Module.*?\s(\d+(\.\d+)+)\s", path.read_text()) if path.is_file() else None
    return match[1] if match else ""


def available_cores() -> int:
    """The number of cores that rows can use: of this machine, or of all nodes of a Slurm allocation."""
    tasks = int(os.environ.get("SLURM_NTASKS", 0)) * int(os.environ.get("SLURM_CPUS_PER_TASK", 1))
    return max(n_cores(), tasks)


def free_bytes() -> int:
    """Free memory, bytes, of all nodes of a Slurm job together, which are assumed to be alike."""
    return free_memory() * int(os.environ.get("SLURM_JOB_NUM_NODES", 1))


def cpu_model() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    match = re.search(r"^model name\s*:\s*(.+)$", cpuinfo.read_text(), re.MULTILINE) if cpuinfo.is_file() else None
    return match[1].strip() if match else platform.processor() or platform.machine()


def cache_bytes() -> dict[str, int]:
    """Bytes of each cache of one core, {"L1d": ..., "L2": ..., "L3": ...}, if Linux reports them."""
    bytes_by_level = {}
    for index in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        level, kind, size = ((index / name).read_text().strip() for name in ("level", "type", "size"))
        if kind != "Instruction":
            bytes_by_level[f"L{level}{'d' if level == '1' else ''}"] = int(size.removesuffix("K")) * 1024
    return bytes_by_level


def choose_triad_elements(quick: bool) -> int:
    """Elements of each of the two float32 arrays of the triad.

    Together they have 256 MiB or four times the last-level cache, whichever is larger, but at most 8 GiB and a quarter
    of the free memory. With `quick` they have 256 MiB.
    """
    cache = max(cache_bytes().values(), default=2**25)
    total = 2**28 if quick else min(max(2**28, 4 * cache), 2**33, free_bytes() // 4)
    return total // 8


def git_revision() -> str:
    """The git revision of this checkout, with "+" if files were changed; empty outside a checkout."""
    root = Path(__file__).parents[2]
    if not (root / ".git").exists():  # an installed package may be inside the repository of another project
        return ""
    command = ["git", "-C", str(root), "describe", "--always", "--abbrev=12", "--exclude=*", "--dirty=+"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=30).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def environment_settings() -> dict[str, str]:
    """The environment variables that affect measurements, with `~` for the home folder."""
    home, variables = str(Path.home()), sorted(os.environ.items())
    return {name: value.replace(home, "~") for name, value in variables if SETTINGS_PATTERN.fullmatch(name)}


def read_cpu_times() -> tuple[float, float, float] | None:
    """Readings, s: wall clock, busy time of the cores of this process, CPU time of this process and its ended children.

    None without /proc/stat, and in a Slurm job, because there the ranks may not be children of this process.
    """
    if "SLURM_JOB_ID" in os.environ or not Path("/proc/stat").is_file():
        return None
    busy = busy_ticks(Path("/proc/stat").read_text(), os.sched_getaffinity(0)) / os.sysconf("SC_CLK_TCK")
    return time.monotonic(), busy, sum(os.times()[:4])


def busy_ticks(text: str, cpus) -> int:
    """Clock ticks during which the cores numbered `cpus` were busy, from the text of /proc/stat."""
    lines = [line.split() for line in text.splitlines()]
    own_lines = [line for line in lines if line[0] in {f"cpu{number}" for number in cpus}]
    return sum(int(line[n]) for line in own_lines for n in BUSY_COLUMNS)


def core_fraction_of_others(before, after, cores: int) -> float | None:
    """The fraction of all cores that other programs used between two readings; None if one is missing."""
    if before is None or after is None:
        return None
    wall, busy, own_time = (now - then for now, then in zip(after, before, strict=True))
    return max(0.0, (busy - own_time) / (cores * wall))
