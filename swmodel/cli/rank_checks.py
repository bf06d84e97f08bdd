"""Checks by all processes together before they compute: connection, versions, devices and messages."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING

from ..errors import SetupError, exit_code
from ..model import progress
from ..model.resolve import choose_transport, config_for_processes
from ..parallel import environment
from ..parallel.ffi_libraries import BUILD_COMMANDS
from .messages import FormattedError, first_line, format_error

if TYPE_CHECKING:
    from ..config.options.model import Config

COMPARED_PACKAGES = ("swmodel", "jax", "jaxlib", "mpi4jax", "mpi4py", "numpy")
MPI4JAX_ADVICE = "recompile mpi4jax for this JAX and this MPI (docs/install.md), or set run.exchange=ffi"


def connect_ranks(rank_info, load_config):
    """Connect the ranks; returns an object with `allgather`: MPI's communicator, or KeyValueMessages if sharded.

    `load_config` returns the unchecked configuration, or raises an error. A FormattedError, perhaps not on all ranks,
    says why the ranks cannot be connected.
    """
    from ..parallel.transport.join import initialize_distributed, mpi_world

    environment.prepare_environment(rank_info=rank_info)
    run_options = config_error = None
    try:
        run_options = config_for_processes(load_config(), rank_info.size).run
    except Exception as error:
        config_error = error
    try:
        if environment.STARTED_BY_LAUNCHER_VARIABLE not in os.environ:  # otherwise the launcher has checked the flags
            environment.check_xla_flags()
        if run_options is not None and choose_transport(run_options) == "sharded":
            environment.prepare_environment(run_options.reproducible, rank_info, run_options.devices)
            check_jax()
            comm = initialize_distributed(rank_info, run_options.devices, run_options.watchdog)
        else:
            comm = mpi_world(rank_info)
    except SetupError as error:
        raise FormattedError(format_error(config_error or error), exit_code(config_error or error)) from None
    if environment.STARTED_BY_LAUNCHER_VARIABLE in os.environ:
        progress.send_message({"rank": rank_info.rank, "pid": os.getpid(), "host": socket.gethostname()})
    return comm


def call_collectively(comm, function):
    """The value of function() on this rank.

    If the function fails on any rank, all ranks raise a FormattedError with the error of the lowest such rank.
    """
    result = problem = None
    try:
        result = function()
    except Exception as error:
        problem = format_error(error), exit_code(error)
    for first_problem in filter(None, comm.allgather(problem)):
        raise FormattedError(*first_problem)
    return result


def check_ranks_match(comm, config: Config) -> None:
    """Raise a SetupError on all ranks if their packages or configurations differ."""
    from ..config import config_hash

    local_properties = {name: environment.package_version(name) or "missing" for name in COMPARED_PACKAGES}
    local_properties |= {"the configuration (SHA-256)": config_hash(config)[:12], "machine": socket.gethostname()}
    all_properties = comm.allgather(local_properties)
    for rank, properties in enumerate(all_properties):
        for name, value in properties.items():
            if name != "machine" and value != all_properties[0][name]:
                raise SetupError(
                    f"the processes differ: {name} is {all_properties[0][name]} on rank 0 "
                    f"({all_properties[0]['machine']}), {value} on rank {rank} ({properties['machine']}); all need the "
                    "same installation and configuration"
                )


def local_ranks_and_cores(comm) -> tuple[int, int]:
    """The number of ranks on this machine, and the number of different cores that they may use."""
    hostname = socket.gethostname()
    cores_of_local_ranks = [
        numbers
        for host, numbers in comm.allgather((hostname, sorted(environment.usable_core_ids())))
        if host == hostname
    ]
    return len(cores_of_local_ranks), len(set().union(*cores_of_local_ranks))


def check_transport(comm, rank_info, run) -> None:
    """Raise a FormattedError on all ranks if a rank has too few devices, or if messages by MPI fail."""
    call_collectively(comm, lambda: check_devices(run.devices))
    if run.transport != "sharded":
        exchange_backend = call_collectively(comm, lambda: check_exchange(run.exchange))
        call_collectively(comm, lambda: check_message(rank_info, exchange_backend))


def check_jax() -> None:
    """Raise a SetupError if JAX cannot be imported, for example because an environment variable has a wrong value."""
    try:
        import jax  # noqa: F401  only to check that it can be imported
    except Exception as error:
        raise SetupError(f"JAX cannot be used: {first_line(error)}") from error


def check_devices(n_devices: int = 1) -> None:
    """Raise a SetupError if JAX finds fewer than `n_devices`, for example because JAX_PLATFORMS names a missing GPU."""
    check_jax()
    from ..parallel.transport.sharded import provide_devices

    try:
        provide_devices(n_devices)
    except SetupError:
        raise
    except Exception as error:  # jax 0.10 fails an assertion if the platform's plugin is missing
        platform = os.environ.get("JAX_PLATFORMS")
        raise SetupError(
            f"JAX finds no device (JAX_PLATFORMS={platform}): {first_line(error)}; JAX_PLATFORMS=cpu needs no GPU"
        ) from error


def check_exchange(exchange: str = "auto") -> str:
    """The exchange backend, which all ranks check together. SetupError: none is usable, or its MPI is not mpi4py's."""
    from ..parallel.transport.mpi import choose_exchange

    mpi4py_libraries = environment.loaded_mpi_libraries()
    exchange_backend = choose_exchange(exchange)  # may import mpi4jax
    if exchange_backend == "ffi":
        from ..parallel.transport.ffi_messages import load_exchange_library

        load_exchange_library()
        return exchange_backend
    try:
        import mpi4jax  # noqa: F401  only to find out which MPI library it loads
    except Exception as error:
        raise SetupError(f"mpi4jax cannot be used ({first_line(error)}); {MPI4JAX_ADVICE}") from error
    other_libraries = [path for path in environment.loaded_mpi_libraries() if path not in mpi4py_libraries]
    if mpi4py_libraries and other_libraries:
        raise SetupError(
            f"mpi4jax uses another MPI ({', '.join(other_libraries)}) than mpi4py ({', '.join(mpi4py_libraries)}); "
            f"{MPI4JAX_ADVICE}"
        )
    return exchange_backend


def check_message(rank_info, exchange_backend: str) -> None:
    """Send a number from each rank to the next, like a halo. SetupError: the backend fails with this JAX."""
    from ..parallel.transport import is_shift_correct

    try:
        problem = "" if is_shift_correct("mpi", rank_info.size, exchange=exchange_backend) else "wrong values received"
    except Exception as error:
        problem = first_line(error)
    if problem:
        version = environment.package_version
        software, remedy = "run.exchange=ffi", BUILD_COMMANDS
        if exchange_backend == "mpi4jax":
            software, remedy = f"mpi4jax {version('mpi4jax')}", MPI4JAX_ADVICE
        raise SetupError(f"JAX {version('jax')} and {software} do not work together ({problem}); {remedy}")
