"""The machine and the software that a result belongs to."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from pathlib import Path

from ..parallel.environment import cores, version_of

ROOT = Path(__file__).parents[2]
PACKAGES = ("swmodel", "numpy", "jax", "jaxlib", "mpi4jax", "mpi4py")
#: Settings of threads, devices and MPI that change what is measured.
SETTINGS = re.compile(
    r"NPROC|XLA_FLAGS|JAX_\w+|OMP_\w+|OPENBLAS_NUM_THREADS|MKL_NUM_THREADS|CUDA_VISIBLE_DEVICES|MPIR_CVAR_\w+|"
    r"OMPI_MCA_\w+|PRTE_MCA_\w+|I_MPI_\w+|MPI4JAX_\w+|SLURM_(JOB_NUM_NODES|NTASKS|CPUS_PER_TASK|CPU_BIND)|SWMODEL_\w+"
)


def describe_machine() -> dict:
    """CPU, cores, caches, memory, system, versions, git revision, as JSON values. Imports neither JAX nor MPI."""
    return {
        "cpu": cpu_model(),
        "cores": cores(),
        "cpus_online": os.cpu_count(),
        "caches_bytes": caches(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": {name: version for name in PACKAGES if (version := version_of(name))},
        "revision": revision(),
        "settings": settings(),
    }


def cpu_model() -> str:
    """The processor's own name."""
    cpuinfo = Path("/proc/cpuinfo")
    found = re.search(r"^model name\s*:\s*(.+)$", cpuinfo.read_text(), re.MULTILINE) if cpuinfo.is_file() else None
    return found[1].strip() if found else platform.processor() or platform.machine()


def caches() -> dict[str, int]:
    """Bytes of each cache as one core sees it, {"L1d": ..., "L2": ..., "L3": ...}, as far as the system tells."""
    found = {}
    for index in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        level, kind, size = ((index / name).read_text().strip() for name in ("level", "type", "size"))
        if kind != "Instruction":
            found[f"L{level}{'d' if level == '1' else ''}"] = int(size.removesuffix("K")) * 1024
    return found


def revision() -> str:
    """The git revision of a checkout, with "+" if files differ from it; empty if there is none."""
    if not (ROOT / ".git").exists():  # an installed package may lie in another project's repository
        return ""
    try:
        head = git("rev-parse", "--short=12", "HEAD")
        return head + ("+" if git("status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.CalledProcessError):
        return ""


def git(*arguments: str) -> str:
    """What git prints, in the folder above the package."""
    line = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(line, capture_output=True, text=True, check=True, timeout=30).stdout.strip()


def settings() -> dict[str, str]:
    """The environment's settings of threads, devices and MPI, with `~` for the user's own folder."""
    found = {name: value for name, value in sorted(os.environ.items()) if SETTINGS.fullmatch(name)}
    return {name: value.replace(str(Path.home()), "~") for name, value in found.items()}
