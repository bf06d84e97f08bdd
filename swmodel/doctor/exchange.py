"""One exchange between two processes, as the model does it; `swmodel doctor` starts this under mpiexec.

Each process prints what it finds as lines "@doctor {json}", so that the report knows how far it came.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

MARK = "@doctor "


def libraries() -> list[str]:
    """The MPI libraries that this process has loaded; none where the system does not tell."""
    maps = Path("/proc/self/maps")
    paths = {line.split(maxsplit=5)[-1] for line in maps.read_text().splitlines()} if maps.exists() else set()
    return sorted(path for path in paths if Path(path).name.startswith("libmpi") and ".so" in Path(path).name)


def say(**facts):
    """Report facts to the process that started mpiexec."""
    sys.stdout.write(f"{MARK}{json.dumps(facts)}\n")  # in one piece: the processes share the pipe
    sys.stdout.flush()


def main():
    """Import mpi4py, then mpi4jax, then send this process's number to the other and back."""
    from mpi4py import MPI

    say(vendor=MPI.Get_library_version().strip().splitlines()[0].strip("\0 "), mpi4py=libraries())
    import jax
    import mpi4jax  # noqa: F401  to see which library it loads
    import numpy as np

    say(mpi4jax=libraries(), size=MPI.COMM_WORLD.Get_size(), device=jax.devices()[0].platform)
    if MPI.COMM_WORLD.Get_size() != 2:
        return
    from ..transport import connect

    transport = connect("mpi", (1, 2), 2, 2)
    received = jax.jit(lambda slab: transport.shift(slab, 1, +1))(np.full((1, 1), transport.rank, dtype=np.float32))
    right = float(received[0, 0]) == 1 - transport.rank
    say(exchanged=not transport.any(not right))


if __name__ == "__main__":
    from .. import environment

    environment.prepare(place=environment.world())
    main()
