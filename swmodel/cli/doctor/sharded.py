"""Whether devices of several processes work together, without MPI; and the use of each transport.

The report tries the exchange `python -m swmodel.parallel.spawn 2 python -m swmodel.cli.doctor.sharded`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

from ...model import launch
from ...parallel import environment
from .exchange import say
from .findings import Finding
from .processes import exchange

PROCESSES, DEVICES = 2, 2
ADVICE = "the processes talk over the address of this machine's host name: see docs/transports.md"
GPU_ADVICE = "NCCL carries messages between GPUs: NCCL_DEBUG=INFO in the environment lets it tell more"


def several_devices() -> Iterator[Finding]:
    """One exchange between the GPUs of this process, if there are several, and between two processes of devices."""
    found = gpus()
    if len(found) > 1:
        yield tried("GPUs", lambda: ring_of(found), f"halos went round {len(found)} GPUs of one process")
    if environment.world() is not None:
        yield Finding("exchange", "not tried", "start swmodel doctor without mpiexec or srun")
        return
    line = [*launch.starter(PROCESSES, "sharded"), sys.executable, "-P", "-m", "swmodel.cli.doctor.sharded"]
    facts, last_words = exchange(line, JAX_PLATFORMS="cpu")  # two processes could not share a GPU
    if facts.get("exchanged"):
        yield Finding("exchange", f"halos went round {PROCESSES} processes of {DEVICES} devices")
    else:
        yield Finding("exchange", last_words or "wrong values received", ADVICE, broken=True)


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


def ring_of(devices: list) -> bool:
    """Whether halos go round the devices of this process."""
    from ...parallel.transport import ring

    return ring("sharded", 1, len(devices))


def tried(what: str, test, found: str) -> Finding:
    """The finding of a test that returns whether it succeeded, or raises."""
    try:
        problem = "" if test() else "wrong values received"
    except Exception as error:  # report whatever is wrong
        problem = (str(error).splitlines() or [type(error).__name__])[0]
    return Finding(what, problem, GPU_ADVICE, broken=True) if problem else Finding(what, found)


def main():
    """Join the other process, and send numbers round the ring of all devices."""
    place = environment.world()
    environment.prepare(place=place, devices=DEVICES)
    from ...parallel.transport import ring
    from ...parallel.transport.join import join

    join(place, DEVICES, os.environ["JAX_COORDINATOR_ADDRESS"])
    exchanged = ring("sharded", place.size, DEVICES)
    if place.rank == 0:
        say(exchanged=exchanged)


if __name__ == "__main__":
    main()
