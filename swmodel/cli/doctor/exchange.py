"""One exchange of halos between two processes; `swmodel doctor` starts this module, with MPI and without.

A process prints its finding, or its problem, in a line "@doctor {json}".
"""

from __future__ import annotations

import json
import sys

from ...errors import SetupError
from ...parallel import environment
from ..messages import first_line
from ..rank_checks import check_device, check_exchange, try_message

MARK = "@doctor "
#: Processes, and devices of each without MPI.
PROCESSES, DEVICES = 2, 2


def mpi(place) -> str:
    """Join the other process by MPI, then send numbers round the ring; returns the finding in words."""
    from ...parallel.transport.join import mpi_world

    environment.prepare(place=place)
    mpi_world(place)
    check_device()
    by = check_exchange()
    try_message(place, by)
    import jax
    from mpi4py import MPI

    vendor = " ".join(MPI.Get_library_version().splitlines()[0].strip("\0 ").split())
    library = ", ".join(environment.mpi_libraries())
    return f"two processes exchanged a halo on their {jax.devices()[0].platform} devices by {by}, {vendor} {library}"


def sharded(place) -> str:
    """Join the other process by JAX, and send numbers round the ring of all devices; returns the finding in words."""
    from ...parallel.transport import ring
    from ...parallel.transport.join import join

    environment.prepare(place=place, devices=DEVICES)
    join(place, DEVICES)
    if not ring("sharded", place.size, DEVICES):
        raise SetupError("wrong values received")
    return f"halos went round {PROCESSES} processes of {DEVICES} devices"


def main(exchange):
    """Print the finding of `exchange`, one of the functions above, or the problem."""
    place = environment.world()
    try:
        if place is None:
            raise SetupError("mpiexec does not tell its processes that they belong together")
        said = {"found": exchange(place)}
    except Exception as error:  # report whatever is wrong
        said = {"problem": first_line(error)}
    sys.stdout.write(f"\n{MARK}{json.dumps(said)}\n")  # in one write: the processes share the pipe
    sys.stdout.flush()


if __name__ == "__main__":
    main({"mpi": mpi, "sharded": sharded}[sys.argv[1]])
