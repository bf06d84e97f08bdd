"""Checks by several processes together before they compute: they are joined, alike, have devices, exchange messages."""

from __future__ import annotations

import os
import socket

from ..errors import SetupError, exit_code
from ..model import progress
from ..model.resolve import for_processes, transport_for
from ..parallel import environment
from ..parallel.foreign import REMEDY
from .messages import Refused, error_text, first_line

PACKAGES = ("swmodel", "jax", "jaxlib", "mpi4jax", "mpi4py", "numpy")
REPAIR = "compile mpi4jax anew for this JAX and this MPI (docs/install.md), or give run.exchange=ffi"


def connect(place, configuration):
    """The ranks' means of agreeing, with an `allgather`: MPI's communicator, or JAX's for the sharded transport.

    `configuration` is a function that returns the configuration, not checked yet, or raises. Refused, not on all ranks:
    they cannot be joined.
    """
    from ..parallel.transport.join import join, mpi_world

    environment.prepare(place=place)
    run = wrong = None
    try:
        run = for_processes(configuration(), place.size).run
    except Exception as error:
        wrong = error
    try:
        if environment.LAUNCHED not in os.environ:  # the launcher has checked before
            environment.check_xla_flags()
        if run is not None and transport_for(run) == "sharded":
            environment.prepare(run.reproducible, place, run.devices)
            check_jax()
            comm = join(place, run.devices, run.watchdog)
        else:
            comm = mpi_world(place)
    except SetupError as error:
        raise Refused(error_text(wrong or error), exit_code(wrong or error)) from None
    if environment.LAUNCHED in os.environ:
        progress.send({"rank": place.rank, "pid": os.getpid(), "host": socket.gethostname()})
    return comm


def agree(comm, function):
    """The value of function() on this rank; Refused, on all ranks, with the first rank's error if it fails on some."""
    result = problem = None
    try:
        result = function()
    except Exception as error:
        problem = error_text(error), exit_code(error)
    for first in filter(None, comm.allgather(problem)):
        raise Refused(*first)
    return result


def check_same(comm, config) -> None:
    """Refuse, on all ranks, a run whose ranks have different programs or configurations."""
    from ..config import config_hash

    mine = {name: environment.version_of(name) or "missing" for name in PACKAGES}
    mine |= {"the configuration (SHA-256)": config_hash(config)[:12], "machine": socket.gethostname()}
    everyone = comm.allgather(mine)
    for rank, other in enumerate(everyone):
        for name, value in other.items():
            if name != "machine" and value != everyone[0][name]:
                raise SetupError(
                    f"the processes differ: {name} is {everyone[0][name]} on rank 0 ({everyone[0]['machine']}), "
                    f"{value} on rank {rank} ({other['machine']}); they need one installation and configuration"
                )


def crowd_of(comm) -> tuple[int, int]:
    """How many ranks are on this machine, and how many cores they may run on together, bound to them or not."""
    name = socket.gethostname()
    here = [numbers for host, numbers in comm.allgather((name, sorted(environment.core_numbers()))) if host == name]
    return len(here), len(set().union(*here))


def check_transport(comm, place, run) -> None:
    """Refuse, on all ranks, a run in which a rank has too few devices, or on MPI a message does not get through."""
    agree(comm, lambda: check_device(run.devices))
    if run.transport != "sharded":
        by = agree(comm, lambda: check_exchange(run.exchange))
        agree(comm, lambda: try_message(place, by))


def check_jax() -> None:
    """Make sure that JAX can be imported: a variable of the environment may have a wrong value."""
    try:
        import jax  # noqa: F401  to see whether it can be
    except Exception as error:
        raise SetupError(f"JAX cannot be used: {first_line(error)}") from error


def check_device(devices: int = 1) -> None:
    """Make sure that JAX finds so many devices; JAX_PLATFORMS may ask for a GPU that is missing."""
    check_jax()
    from ..parallel.transport.sharded import provide

    try:
        provide(devices)
    except SetupError:
        raise
    except Exception as error:  # jax 0.10 fails an assertion if the platform's plugin is missing
        platform = os.environ.get("JAX_PLATFORMS")
        raise SetupError(
            f"JAX finds no device (JAX_PLATFORMS={platform}): {first_line(error)}; JAX_PLATFORMS=cpu needs no GPU"
        ) from error


def check_exchange(exchange: str = "auto") -> str:
    """Make sure that what carries messages is there, and uses mpi4py's MPI; returns it. All call it together."""
    from ..parallel.transport.mpi import exchange_for

    own = environment.mpi_libraries()
    by = exchange_for(exchange)  # may import mpi4jax
    if by == "ffi":
        from ..parallel.transport.by_ffi import library

        library()
        return by
    try:
        import mpi4jax  # noqa: F401  to see which library it loads
    except Exception as error:
        raise SetupError(f"mpi4jax cannot be used ({first_line(error)}); {REPAIR}") from error
    others = [path for path in environment.mpi_libraries() if path not in own]
    if own and others:
        raise SetupError(f"mpi4jax uses another MPI ({', '.join(others)}) than mpi4py ({', '.join(own)}); {REPAIR}")
    return by


def try_message(place, by: str) -> None:
    """Send a number round the ring of all ranks, like the model's halos: `by` may not work with this JAX."""
    from ..parallel.transport import ring

    try:
        problem = "" if ring("mpi", place.size, exchange=by) else "a message came wrong"
    except Exception as error:
        problem = first_line(error)
    if problem:
        version = environment.version_of
        words, remedy = (f"mpi4jax {version('mpi4jax')}", REPAIR) if by == "mpi4jax" else ("run.exchange=ffi", REMEDY)
        raise SetupError(f"JAX {version('jax')} and {words} do not work together ({problem}); {remedy}")
