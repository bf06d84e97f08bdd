"""One exchange of halos between two processes; `swmodel doctor` starts this module, with MPI and without.

Each process prints what it finds in lines "@doctor {json}", so that the report knows how far it came.
"""

from __future__ import annotations

import json
import os
import sys

from ...parallel import environment

MARK = "@doctor "
#: Processes, and devices of each without MPI.
PROCESSES, DEVICES = 2, 2


def say(**facts):
    """Report facts to the process that started this one."""
    sys.stdout.write(f"{MARK}{json.dumps(facts)}\n")  # in one write: the processes share the pipe
    sys.stdout.flush()


def mpi():
    """Import mpi4py, then mpi4jax, then send numbers round the ring of the processes."""
    environment.prepare(place=environment.world())
    from mpi4py import MPI

    vendor = MPI.Get_library_version().strip().splitlines()[0].strip("\0 ")
    say(vendor=vendor, mpi4py=environment.mpi_libraries())
    import jax
    import mpi4jax  # noqa: F401  to see which library it loads

    size = MPI.COMM_WORLD.Get_size()
    say(mpi4jax=environment.mpi_libraries(), size=size, device=jax.devices()[0].platform)
    if size == PROCESSES:
        from ...parallel.transport import ring

        say(exchanged=ring("mpi", PROCESSES))


def sharded():
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
    {"mpi": mpi, "sharded": sharded}[sys.argv[1]]()
