"""One exchange of halos between two processes; `swmodel doctor` starts this module under mpiexec.

Each process prints what it finds in lines "@doctor {json}", so that the report knows how far it came.
"""

from __future__ import annotations

import json
import sys

from ...parallel.environment import mpi_libraries

MARK = "@doctor "


def say(**facts):
    """Report facts to the process that started mpiexec."""
    sys.stdout.write(f"{MARK}{json.dumps(facts)}\n")  # in one write: the processes share the pipe
    sys.stdout.flush()


def main():
    """Import mpi4py, then mpi4jax, then send this process's number to the other and back."""
    from mpi4py import MPI

    say(vendor=MPI.Get_library_version().strip().splitlines()[0].strip("\0 "), mpi4py=mpi_libraries())
    import jax
    import mpi4jax  # noqa: F401  to see which library it loads

    say(mpi4jax=mpi_libraries(), size=MPI.COMM_WORLD.Get_size(), device=jax.devices()[0].platform)
    if MPI.COMM_WORLD.Get_size() != 2:
        return
    from ...parallel.transport import ring

    say(exchanged=ring("mpi", 2))


if __name__ == "__main__":
    from ...parallel import environment

    environment.prepare(place=environment.world())
    main()
