"""Whether several processes and devices can run: versions, one exchange with MPI and one without, and which to use."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

from ...errors import SetupError
from ...model import launch
from ...parallel.environment import version_of, world
from .exchange import DEVICES, MARK, PROCESSES
from .findings import Finding

INSTALL = "for several processes: make setup, or docs/install.md"
START = "mpi4py does not find its MPI, or mpiexec does not work: docs/install.md"
REBUILD = "compile mpi4jax anew for this JAX and this MPI: docs/install.md, or make distclean and make setup"
TWO_MPIS = "mpiexec and mpi4py belong to two MPIs: use the mpiexec of the MPI above (first on PATH)"
ADDRESS = "the processes talk over the address of this machine's host name: see docs/transports.md"
NCCL = "NCCL carries messages between GPUs: NCCL_DEBUG=INFO in the environment lets it tell more"
NOT_TRIED = Finding("exchange", "not tried", "start swmodel doctor without mpiexec or srun")

#: Time that processes have for an exchange, s.
TIMEOUT = 120.0
#: The beginning of the lines in which `spawn` says that a process has ended, but not why.
NOISE = "swmodel.parallel.spawn: "
EXCHANGE = [sys.executable, "-P", "-m", "swmodel.cli.doctor.exchange"]


def exchange(command: list[str], timeout: float = TIMEOUT, **environ: str) -> tuple[dict, str]:
    """Facts that the processes of `command` report, and the last other line they print; killed after `timeout` s."""
    process = launch.start(command, PROCESSES, env=launch.rank_environment(PROCESSES) | environ)
    try:
        output, _ = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        launch.kill(process)
        output = f"{process.communicate()[0]}no answer after {timeout:g} s\n"
    return decode(output)


def decode(output: str) -> tuple[dict, str]:
    """The facts in the output of processes, and the last other line; lines of two processes may be joined."""
    facts, other = {}, []
    for piece in output.replace(MARK, f"\n{MARK}").splitlines():
        if piece.startswith(MARK):
            fact, end = json.JSONDecoder().raw_decode(piece.removeprefix(MARK))
            facts |= fact
            piece = piece.removeprefix(MARK)[end:]
        if piece.strip() and not piece.startswith(NOISE):
            other.append(piece.strip())
    return facts, other[-1] if other else ""


def several_processes() -> Iterator[Finding]:
    """Versions of what MPI needs, and, if nothing is missing, one exchange between two processes."""
    present = {name: version for name in ("mpi4py", "mpi4jax") if (version := version_of(name))}
    yield from (Finding(name, version) for name, version in present.items())
    try:
        mpiexec = launch.find_mpiexec()
    except SetupError:
        missing = [name for name in ("mpi4py", "mpi4jax") if name not in present] or ["mpiexec"]
        yield Finding("not installed", ", ".join(missing), INSTALL)
        return
    yield Finding("mpiexec", mpiexec)
    if world() is not None:
        yield NOT_TRIED
        return
    yield from judge(*exchange([mpiexec, "-n", str(PROCESSES), *EXCHANGE, "mpi"]))


def judge(facts: dict, last_words: str) -> Iterator[Finding]:
    """What the facts reported by the two processes mean.

    Args:
        facts: `vendor`, `size`, libraries `mpi4py` and `mpi4jax`, `exchanged`, as far as the processes came.
        last_words: the last line of anything else that they printed.
    """
    if "vendor" not in facts:
        yield Finding("exchange", last_words or "mpiexec printed nothing", START, True)
        return
    yield Finding("MPI", " ".join(facts["vendor"].split()))
    own, both = facts["mpi4py"], facts.get("mpi4jax", [])
    others = [path for path in both if path not in own]
    if own:
        yield Finding("library, mpi4py", ", ".join(own))
        if both:
            yield Finding("library, mpi4jax", ", ".join(others or own), REBUILD if others else "", bool(others))
    if "mpi4jax" not in facts:
        yield Finding("exchange", last_words, f"mpi4jax cannot be imported; {REBUILD}", True)
    elif facts["size"] != PROCESSES:
        yield Finding("exchange", f"2 processes started, MPI knows of {facts['size']}", TWO_MPIS, True)
    elif not facts.get("exchanged"):
        yield Finding("exchange", last_words or "wrong values received", REBUILD, True)
    else:
        yield Finding("exchange", f"two processes exchanged a halo on their {facts['device']} devices")


def several_devices() -> Iterator[Finding]:
    """One exchange between the GPUs of this process, if there are several, and between two processes of devices."""
    if (many := len(gpus())) > 1:
        yield tried_gpus(many)
    if world() is not None:
        yield NOT_TRIED
        return
    line = [*launch.starter(PROCESSES, "sharded"), *EXCHANGE, "sharded"]
    facts, last_words = exchange(line, JAX_PLATFORMS="cpu")  # two processes could not share a GPU
    if facts.get("exchanged"):
        yield Finding("exchange", f"halos went round {PROCESSES} processes of {DEVICES} devices")
    else:
        yield Finding("exchange", last_words or "wrong values received", ADDRESS, broken=True)


def transports() -> Iterator[Finding]:
    """Which transport to use when, and on this machine."""
    yield Finding("serial", "one process, on all its cores or on one GPU")
    yield Finding("mpi", "a block in each process (--nproc N, or mpiexec, srun): processors of a cluster; assimilation")
    yield Finding("sharded", "a block on each device (--devices D, --nproc N, or srun): several GPUs; needs no MPI")
    many = len(gpus())
    command = f"swmodel run CASE --transport sharded --devices {many}" if many > 1 else "swmodel run CASE"
    yield Finding("on this machine", command)


def gpus() -> list:
    """The GPUs that JAX sees; empty if JAX does not work, as other findings say."""
    try:
        import jax

        return [device for device in jax.local_devices() if device.platform != "cpu"]
    except Exception:
        return []


def ring_of(devices: int) -> bool:
    """Whether halos go round so many devices of this process."""
    from ...parallel.transport import ring

    return ring("sharded", 1, devices)


def tried_gpus(many: int) -> Finding:
    """Whether halos go round the GPUs of this process."""
    try:
        problem = "" if ring_of(many) else "wrong values received"
    except Exception as error:  # report whatever is wrong
        problem = (str(error).splitlines() or [type(error).__name__])[0]
    if problem:
        return Finding("GPUs", problem, NCCL, broken=True)
    return Finding("GPUs", f"halos went round {many} GPUs of one process")
