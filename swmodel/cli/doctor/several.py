"""Whether several processes and devices can run: versions, one exchange with MPI and one without, and which to use."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

from ...errors import SetupError
from ...model import launch
from ...parallel.environment import version_of, world
from ..messages import first_line
from .exchange import MARK, PROCESSES
from .findings import Finding

INSTALL = "for several processes: make setup, or docs/install.md"
REPAIR = "mpiexec, mpi4py and mpi4jax have to be of one MPI, and mpi4jax for this JAX, or absent: docs/install.md"
ADDRESS = "the processes talk over the address of this machine's host name: see docs/transports.md"
NCCL = "NCCL carries messages between GPUs: NCCL_DEBUG=INFO in the environment lets it tell more"

#: Time that processes have for an exchange, s.
TIMEOUT = 120.0
EXCHANGE = [sys.executable, "-P", "-m", "swmodel.cli.doctor.exchange"]


def exchange(command: list[str], advice: str, timeout: float = TIMEOUT, **environ: str) -> Finding:
    """The finding of the processes of `command`, which are killed after `timeout` s."""
    if world() is not None:
        return Finding("exchange", "not tried", "start swmodel doctor without mpiexec or srun")
    process = launch.start(command, PROCESSES, env=launch.rank_environment(PROCESSES) | environ)
    try:
        output, _ = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        launch.kill(process)
        output = f"{process.communicate()[0]}\nno answer after {timeout:g} s"
    lines = output.strip().splitlines() or ["the processes ended without a word"]
    said = [json.loads(line.removeprefix(MARK)) for line in lines if line.startswith(MARK)]
    problems = [each["problem"] for each in said if "problem" in each]
    if problems or not said:
        return Finding("exchange", (problems or lines[-1:])[0], advice, broken=True)
    return Finding("exchange", said[0]["found"])


def several_processes() -> Iterator[Finding]:
    """Versions of what MPI needs, and, if nothing is missing, one exchange between two processes."""
    for name in ("mpi4py", "mpi4jax"):
        if version := version_of(name):
            yield Finding(name, version)
    try:
        mpiexec = launch.find_mpiexec()
    except SetupError as error:
        yield Finding("not installed", first_line(error), INSTALL)
        return
    yield Finding("mpiexec", mpiexec)
    yield exchange([mpiexec, "-n", str(PROCESSES), *EXCHANGE, "mpi"], REPAIR)


def several_devices() -> Iterator[Finding]:
    """One exchange between the GPUs of this process, if there are several, and between two processes of devices."""
    if (many := len(gpus())) > 1:
        yield tried_gpus(many)
    line = [*launch.starter(PROCESSES, "sharded"), *EXCHANGE, "sharded"]
    yield exchange(line, ADDRESS, JAX_PLATFORMS="cpu")  # two processes could not share a GPU


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


def tried_gpus(many: int) -> Finding:
    """Whether halos go round the GPUs of this process."""
    from ...parallel.transport import ring

    try:
        problem = "" if ring("sharded", 1, many) else "wrong values received"
    except Exception as error:  # report whatever is wrong
        problem = first_line(error)
    found = problem or f"halos went round {many} GPUs of one process"
    return Finding("GPUs", found, NCCL if problem else "", broken=bool(problem))
