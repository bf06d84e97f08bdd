"""One exchange of halos between two processes; `swmodel doctor` starts this module, with MPI and without.

Each process prints its result or its problem as a line "@doctor {json}".
"""

from __future__ import annotations

import json
import sys

from ...errors import SetupError
from ...parallel import environment
from ..messages import first_line
from ..rank_checks import check_devices, check_exchange, check_message

MESSAGE_PREFIX = "@doctor "
#: Number of processes, and of devices per process without MPI.
N_PROCESSES, N_DEVICES = 2, 2


def exchange_by_mpi(rank_info) -> str:
    """Connect to the other process by MPI and exchange numbers with it; returns the result in words."""
    from ...parallel.transport.join import mpi_world

    environment.prepare_environment(rank_info=rank_info)
    mpi_world(rank_info)
    check_devices()
    exchange_backend = check_exchange()
    check_message(rank_info, exchange_backend)
    import jax
    from mpi4py import MPI

    vendor = " ".join(MPI.Get_library_version().splitlines()[0].strip("\0 ").split())
    library = ", ".join(environment.loaded_mpi_libraries())
    return (
        f"two processes exchanged a halo on their {jax.devices()[0].platform} devices by {exchange_backend}, "
        f"{vendor} {library}"
    )


def exchange_by_jax(rank_info) -> str:
    """Connect to the other process by JAX and exchange numbers between all devices; returns the result in words."""
    from ...parallel.transport import is_shift_correct
    from ...parallel.transport.join import initialize_distributed

    environment.prepare_environment(rank_info=rank_info, devices=N_DEVICES)
    initialize_distributed(rank_info, N_DEVICES)
    if not is_shift_correct("sharded", rank_info.size, N_DEVICES):
        raise SetupError("wrong values received")
    return f"{N_PROCESSES} processes with {N_DEVICES} devices each exchanged halos"


def main(exchange):
    """Print the result of `exchange`, one of the functions above, or the problem."""
    rank_info = environment.get_rank_info()
    try:
        if rank_info is None:
            raise SetupError("mpiexec gives its processes no rank numbers")
        message = {"result": exchange(rank_info)}
    except Exception as error:  # report whatever is wrong
        message = {"problem": first_line(error)}
    sys.stdout.write(f"\n{MESSAGE_PREFIX}{json.dumps(message)}\n")  # in one write: the processes share the pipe
    sys.stdout.flush()


if __name__ == "__main__":
    main({"mpi": exchange_by_mpi, "sharded": exchange_by_jax}[sys.argv[1]])
