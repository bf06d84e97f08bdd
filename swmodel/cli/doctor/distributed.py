"""Checks that processes and devices can exchange data, with MPI and without, and advice on which transport to use."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

from ...errors import SetupError
from ...model import launch
from ...parallel.environment import get_rank_info, package_version
from ..messages import first_line
from .exchange import MESSAGE_PREFIX, N_PROCESSES
from .findings import Finding

MPI_INSTALL_ADVICE = "for several processes: make setup, or docs/install.md"
MPI_REPAIR_ADVICE = (
    "mpiexec, mpi4py and mpi4jax must use the same MPI, and mpi4jax must fit this JAX or be absent: docs/install.md"
)
ADDRESS_ADVICE = "the processes connect to the address of this machine's host name: see docs/transports.md"
NCCL_ADVICE = "NCCL carries messages between GPUs: set NCCL_DEBUG=INFO in the environment for details"

#: Time limit of an exchange, s.
EXCHANGE_TIMEOUT_SECONDS = 120.0
EXCHANGE_COMMAND = [sys.executable, "-P", "-m", "swmodel.cli.doctor.exchange"]


def try_exchange(command: list[str], advice: str, **extra_environment: str) -> Finding:
    """Start processes with `command` and return the finding that they report, or the failure with `advice`.

    `extra_environment`: environment variables of the processes, in addition to those that ranks need.
    """
    if get_rank_info() is not None:
        return Finding("exchange", "not tried", "start swmodel doctor without mpiexec or srun")
    process = launch.start_processes(command, N_PROCESSES, env=launch.rank_environment(N_PROCESSES) | extra_environment)
    try:
        output, _ = process.communicate(timeout=EXCHANGE_TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        launch.kill_session(process)
        output = f"{process.communicate()[0]}\nno answer after {EXCHANGE_TIMEOUT_SECONDS:g} s"
    lines = output.strip().splitlines() or ["the processes ended without output"]
    messages = [json.loads(line.removeprefix(MESSAGE_PREFIX)) for line in lines if line.startswith(MESSAGE_PREFIX)]
    problems = [message["problem"] for message in messages if "problem" in message]
    if problems or not messages:
        return Finding("exchange", (problems or lines[-1:])[0], advice, is_broken=True)
    return Finding("exchange", messages[0]["result"])


def check_mpi() -> Iterator[Finding]:
    """The versions of the MPI packages and, if mpiexec is found, the result of an exchange between two processes."""
    for name in ("mpi4py", "mpi4jax"):
        if version := package_version(name):
            yield Finding(name, version)
    try:
        mpiexec = launch.find_mpiexec()
    except SetupError as error:
        yield Finding("not installed", first_line(error), MPI_INSTALL_ADVICE)
        return
    yield Finding("mpiexec", mpiexec)
    yield try_exchange([mpiexec, "-n", str(N_PROCESSES), *EXCHANGE_COMMAND, "mpi"], MPI_REPAIR_ADVICE)


def check_sharded() -> Iterator[Finding]:
    """Results of exchanges between the GPUs of this process, if several, and between two processes without MPI."""
    if (n_gpus := len(local_gpus())) > 1:
        yield check_gpus(n_gpus)
    command = [*launch.launcher_command(N_PROCESSES, "sharded"), *EXCHANGE_COMMAND, "sharded"]
    yield try_exchange(command, ADDRESS_ADVICE, JAX_PLATFORMS="cpu")  # because two processes cannot share a GPU


def describe_transports() -> Iterator[Finding]:
    """The purpose of each transport, and the command that suits this machine."""
    yield Finding("serial", "one process, on all its cores or on one GPU")
    yield Finding("mpi", "one block per process (--nproc N, or mpiexec, srun): for CPUs of a cluster; assimilation")
    yield Finding("sharded", "one block per device (--devices D, --nproc N, or srun): for several GPUs; needs no MPI")
    n_gpus = len(local_gpus())
    command = f"swmodel run CASE --transport sharded --devices {n_gpus}" if n_gpus > 1 else "swmodel run CASE"
    yield Finding("on this machine", command)


def local_gpus() -> list:
    """The GPUs that JAX sees; an empty list if JAX does not work, because other findings report that."""
    try:
        import jax

        return [device for device in jax.local_devices() if device.platform != "cpu"]
    except Exception:
        return []


def check_gpus(n_gpus: int) -> Finding:
    """Whether the GPUs of this process can exchange halos."""
    from ...parallel.transport import is_shift_correct

    try:
        problem = "" if is_shift_correct("sharded", 1, n_gpus) else "wrong values received"
    except Exception as error:  # of any type, because drivers and libraries fail in many ways
        problem = first_line(error)
    result = problem or f"{n_gpus} GPUs of one process exchanged halos"
    return Finding("GPUs", result, NCCL_ADVICE if problem else "", is_broken=bool(problem))
