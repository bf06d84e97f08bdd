"""What several processes make sure of together before they compute: one MPI, one program, a message gets through."""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import socket

from .. import environment, progress
from ..errors import SetupError, exit_code
from .tell import words

PACKAGES = ("swmodel", "jax", "jaxlib", "mpi4jax", "mpi4py", "numpy")


class Refused(Exception):
    """What is wrong before the start, on all ranks the same: the words for the user, and the exit code."""

    def __init__(self, message: str, code: int):
        super().__init__(message)
        self.exit_code = code


def connect(place):
    """MPI's communicator of all ranks, from mpi4py.

    Raises:
        Refused: mpi4py is missing, or its MPI is not the one that started the processes. Not agreed: there is no MPI.
    """
    environment.prepare(place=place)
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise refusal(SetupError(f"mpi4py cannot be used ({error}); see docs/install.md")) from error
    comm = MPI.COMM_WORLD
    if comm.Get_size() != place.size:
        library = MPI.Get_library_version().strip().splitlines()[0]
        error = SetupError(
            f"{place.size} processes were started, but MPI here knows of {comm.Get_size()}: mpiexec is not that of the "
            f"MPI that mpi4py uses ({library}); start with `swmodel run --nproc {place.size}` or the other mpiexec"
        )
        raise refusal(error)
    if progress.LAUNCHER in os.environ:
        progress.send({"rank": place.rank, "pid": os.getpid(), "host": socket.gethostname()})
    return comm


def refusal(error: Exception) -> Refused:
    """An error as a Refused."""
    return Refused(words(error), exit_code(error))


def together(comm, function):
    """What function() returns on this rank.

    Raises:
        Refused: it failed on some rank; on all ranks the same, the first rank's error.
    """
    result = problem = None
    try:
        result = function()
    except Exception as error:
        problem = words(error), exit_code(error)
    problems = [problem for problem in comm.allgather(problem) if problem is not None]
    if problems:
        raise Refused(*problems[0])
    return result


def check_same(comm, config) -> None:
    """Make sure that all ranks run the same program on the same configuration.

    Raises:
        Refused: they do not; on all ranks.
    """
    everyone = comm.allgather(identity(config))
    for rank, other in enumerate(everyone):
        for name, value in other.items():
            if name != "machine" and value != everyone[0][name]:
                raise refusal(
                    SetupError(
                        f"the processes differ: {name} is {everyone[0][name]} on rank 0 ({everyone[0]['machine']}), "
                        f"{value} on rank {rank} ({other['machine']}); they need one installation and configuration"
                    )
                )


def identity(config) -> dict[str, str]:
    """What has to be the same on all ranks, and the machine."""
    from ..config import to_toml

    digest = hashlib.sha256(to_toml(config).encode()).hexdigest()
    versions = {name: version(name) for name in PACKAGES}
    return versions | {"the configuration (SHA-256)": digest[:12], "machine": socket.gethostname()}


def version(package: str) -> str:
    """The version of a package; "missing" where it is not installed."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "missing"


REPAIR = "compile mpi4jax anew for this JAX and this MPI: docs/install.md"


def check_device() -> None:
    """Make sure that JAX finds a device to compute on.

    Raises:
        SetupError: it does not, as where JAX_PLATFORMS asks for a GPU that is not there.
    """
    import jax

    try:
        jax.devices()
    except Exception as error:  # jax 0.10 fails an assertion where the plugin for the platform is missing
        asked = f" (JAX_PLATFORMS={os.environ['JAX_PLATFORMS']})" if os.environ.get("JAX_PLATFORMS") else ""
        why = (str(error) or type(error).__name__).splitlines()[0]
        raise SetupError(f"JAX finds no device{asked}: {why}; JAX_PLATFORMS=cpu computes without a GPU") from error


def check_mpi4jax() -> None:
    """Make sure that mpi4jax is there and belongs to mpi4py's MPI. Sends nothing.

    Raises:
        SetupError: it is not.
    """
    own = environment.mpi_libraries()
    try:
        import mpi4jax  # noqa: F401  to see which library it loads
    except (ImportError, RuntimeError) as error:
        raise SetupError(f"mpi4jax cannot be used ({error}); {REPAIR}") from error
    others = [path for path in environment.mpi_libraries() if path not in own]
    if own and others:
        raise SetupError(f"mpi4jax uses another MPI ({', '.join(others)}) than mpi4py ({', '.join(own)}); {REPAIR}")


def try_message(place) -> None:
    """Send a number round the ring of all ranks as the model sends its halos.

    Raises:
        SetupError: mpi4jax does not work with this JAX.
    """
    from ..transport import ring

    try:
        right = ring(place.rank, place.size)
    except Exception as error:
        jax = f"JAX {version('jax')} and mpi4jax {version('mpi4jax')}"
        raise SetupError(f"{jax} do not work together ({str(error).splitlines()[0]}); {REPAIR}") from error
    if not right:
        raise SetupError(f"a message between the processes came wrong; {REPAIR}")
