"""Whether several processes can run: mpiexec, mpi4py and mpi4jax belong to one MPI, and a message gets through."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from ...errors import SetupError
from ...model import launch
from ...parallel.environment import version_of, world
from .findings import Finding
from .processes import exchange

INSTALL = "for several processes: make setup, or docs/install.md"
START = "mpi4py does not find its MPI, or mpiexec does not work: docs/install.md"
REBUILD = "compile mpi4jax anew for this JAX and this MPI: docs/install.md, or make distclean and make setup"


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
        yield Finding("exchange", "not tried", "start swmodel doctor without mpiexec or srun")
        return
    yield from judge(*exchange([mpiexec, "-n", "2", sys.executable, "-P", "-m", "swmodel.cli.doctor.exchange"]))


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
    elif facts["size"] != 2:
        advice = "mpiexec and mpi4py belong to two MPIs: use the mpiexec of the MPI above (first on PATH)"
        yield Finding("exchange", f"2 processes started, MPI knows of {facts['size']}", advice, True)
    elif not facts.get("exchanged"):
        yield Finding("exchange", last_words or "wrong values received", REBUILD, True)
    else:
        yield Finding("exchange", f"two processes exchanged a halo on their {facts['device']} devices")
