"""Checks by several processes together before they compute: they are joined, alike, have devices, exchange messages.

What a rank cannot do is a SetupError there, which `agree` makes one Refused on all of them.
"""

from __future__ import annotations

import hashlib
import os
import socket
from importlib.util import find_spec

from ..errors import SetupError, exit_code
from ..model import progress
from ..model.resolve import for_processes, say_slower, transport_for
from ..parallel import environment
from ..parallel.transport.rendezvous import first_process, mpi_world
from .messages import error_text

PACKAGES = ("swmodel", "jax", "jaxlib", "mpi4jax", "mpi4py", "numpy")
REPAIR = "compile mpi4jax anew for this JAX and this MPI: docs/install.md"


class Refused(Exception):
    """An error before the start, the same on all ranks: the message to the user, and the exit code."""

    def __init__(self, message: str, code: int):
        super().__init__(message)
        self.exit_code = code


def refusal(error: Exception | str) -> Refused:
    """An error as a Refused; words are those of a SetupError."""
    error = SetupError(error) if isinstance(error, str) else error
    return Refused(error_text(error), exit_code(error))


def connect(place, configuration):
    """The ranks' means of agreeing, with an `allgather`: MPI's communicator, or JAX's for the sharded transport.

    Args:
        configuration: function that returns the configuration, not checked yet, or raises: then MPI is used.

    Raises:
        Refused: the ranks cannot be joined; not on all ranks.
    """
    environment.prepare(place=place)
    wrong = None
    try:
        run = for_processes(configuration(), place.size).run
        sharded = transport_for(run) == "sharded"
    except Exception as error:
        if find_spec("mpi4py") is None:
            raise refusal(error) from error
        wrong, sharded = error, False
    try:
        if environment.LAUNCHED not in os.environ:  # the launcher has checked before
            environment.check_xla_flags()
        if sharded:
            environment.prepare(run.reproducible, place, run.devices)
            check_jax()
            from ..parallel.transport.join import join

            comm = join(place, run.devices, first_process(place), run.watchdog)
        else:
            comm = mpi_world(place)
    except SetupError as error:
        raise refusal(wrong or error) from error
    if environment.LAUNCHED in os.environ:
        progress.send({"rank": place.rank, "pid": os.getpid(), "host": socket.gethostname()})
    return comm


def agree(comm, function):
    """What function() returns on this rank.

    Raises:
        Refused: it failed on some rank; on all ranks the same, the first rank's error.
    """
    result = problem = None
    try:
        result = function()
    except Exception as error:
        problem = error_text(error), exit_code(error)
    for first in filter(None, comm.allgather(problem)):
        raise Refused(*first)
    return result


def one_executor(comm, config):
    """The configuration with an executor that all ranks have: xla, if one of them has no native step."""
    executors = comm.allgather(config.run.executor)
    if config.run.executor != "native" or "xla" not in executors:
        return config
    say_slower(f"rank {executors.index('xla')} has no native step")
    return config.model_copy(update={"run": config.run.model_copy(update={"executor": "xla"})})


def check_same(comm, config) -> None:
    """Refuse, on all ranks, a run whose ranks have different programs or configurations."""
    from ..config import to_toml

    digest = hashlib.sha256(to_toml(config).encode()).hexdigest()
    mine = {name: environment.version_of(name) or "missing" for name in PACKAGES}
    mine |= {"the configuration (SHA-256)": digest[:12], "machine": socket.gethostname()}
    everyone = comm.allgather(mine)
    for rank, other in enumerate(everyone):
        for name, value in other.items():
            if name != "machine" and value != everyone[0][name]:
                raise refusal(
                    f"the processes differ: {name} is {everyone[0][name]} on rank 0 ({everyone[0]['machine']}), "
                    f"{value} on rank {rank} ({other['machine']}); they need one installation and configuration"
                )


def check_transport(comm, place, run) -> None:
    """Refuse, on all ranks, a run in which a rank has too few devices, or on MPI a message does not get through."""
    if run.transport == "sharded":
        check_gpus(comm)
    agree(comm, lambda: check_device(run.devices))
    if run.transport != "sharded":
        agree(comm, check_mpi4jax)
        agree(comm, lambda: try_message(place))


def check_gpus(comm) -> None:
    """Refuse, on all ranks, a run in which two of the joined processes have the same GPU."""
    holders = {}
    for rank, (host, names) in enumerate(comm.allgather((socket.gethostname(), comm.gpus))):
        for name in names:
            if (other := holders.setdefault((host, name), rank)) != rank:
                raise refusal(
                    f"ranks {other} and {rank} have the same GPU, number {name} on {host}; take fewer devices, or "
                    "give each process its own: srun --gpus-per-task, or CUDA_VISIBLE_DEVICES"
                )


def check_jax() -> None:
    """Make sure that JAX can be imported: a variable of the environment may have a wrong value."""
    try:
        import jax  # noqa: F401  to see whether it can be
    except Exception as error:
        raise SetupError(f"JAX cannot be used: {first_line(error)}") from error


def check_device(devices: int = 1) -> None:
    """Make sure that JAX finds so many devices; JAX_PLATFORMS may ask for a GPU that is missing."""
    check_jax()
    from ..parallel.transport.mesh import provide

    try:
        provide(devices)
    except SetupError:
        raise
    except Exception as error:  # jax 0.10 fails an assertion if the platform's plugin is missing
        platform = f" (JAX_PLATFORMS={os.environ['JAX_PLATFORMS']})" if os.environ.get("JAX_PLATFORMS") else ""
        why = first_line(error)
        raise SetupError(f"JAX finds no device{platform}: {why}; JAX_PLATFORMS=cpu computes without a GPU") from error


def check_mpi4jax() -> None:
    """Make sure that mpi4jax is installed and uses mpi4py's MPI. Sends nothing."""
    own = environment.mpi_libraries()
    try:
        import mpi4jax  # noqa: F401  to see which library it loads
    except (ImportError, RuntimeError) as error:
        raise SetupError(f"mpi4jax cannot be used ({error}); {REPAIR}") from error
    others = [path for path in environment.mpi_libraries() if path not in own]
    if own and others:
        raise SetupError(f"mpi4jax uses another MPI ({', '.join(others)}) than mpi4py ({', '.join(own)}); {REPAIR}")


def try_message(place) -> None:
    """Send a number round the ring of all ranks, like the model's halos: mpi4jax may not work with this JAX."""
    from ..parallel.transport import ring

    try:
        right = ring("mpi", place.size)
    except Exception as error:
        jax, mpi4jax = (environment.version_of(name) for name in ("jax", "mpi4jax"))
        raise SetupError(
            f"JAX {jax} and mpi4jax {mpi4jax} do not work together ({first_line(error)}); {REPAIR}"
        ) from error
    if not right:
        raise SetupError(f"a message between the processes came wrong; {REPAIR}")


def first_line(error: Exception) -> str:
    """The first line of an error's message, or its kind."""
    return (str(error) or type(error).__name__).splitlines()[0]
