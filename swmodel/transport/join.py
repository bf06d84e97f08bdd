"""Processes of the sharded transport find each other through JAX's distributed runtime, before JAX has a device."""

from __future__ import annotations

import os
import pickle
import sys

import jax

from ..environment import RANK, World, gpus_visible
from ..errors import SetupError

#: How long a process waits for the others to start, and for one to answer, s.
START, ANSWER = 300, 600
#: Time after which JAX's runtime takes a silent process for dead and ends the others, s. Where `spawn` does that, only
#: if all else fails: `watchdog` says more.
SILENT, SILENT_SPAWNED = 100, 900


def join(place: World, devices: int, address: str | None) -> Joined:
    """Make JAX's devices those of all processes; before JAX has started.

    Args:
        place: this process's place among the others.
        devices: that it computes on.
        address: HOST:PORT of the first process; None: as JAX itself finds it, from Slurm's environment or Open MPI's.

    Raises:
        SetupError: the processes do not find each other, or there are fewer devices.
    """
    jax.config.update("jax_enable_preemption_service", False)  # it takes SIGTERM, which `stop` answers
    jax.config.update("jax_check_proxy_envs", RANK not in os.environ)
    try:
        jax.distributed.initialize(
            address,
            place.size,
            place.rank,
            own_devices(place, devices),
            "deactivate" if address else None,
            initialization_timeout=START,
            heartbeat_timeout_seconds=SILENT_SPAWNED if RANK in os.environ else SILENT,
        )
    except (RuntimeError, ValueError) as error:
        why = "where the first of them is" if address is None else f"each other at {address}"
        raise SetupError(
            f"the {place.size} processes do not find {why} ({str(error).splitlines()[0]}); give the first one's "
            "HOST:PORT in JAX_COORDINATOR_ADDRESS"
        ) from error
    if gpus_visible() is None:
        silence_gloo()
    return Joined(place)


def silence_gloo():
    """Keep off standard output what Gloo, which carries messages between processors, prints there in pieces.

    It would come between the lines that ranks send to their launcher. What Python prints goes where it went.
    """
    sys.stdout.flush()
    sys.stdout = os.fdopen(os.dup(1), "w", buffering=1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)


def own_devices(place: World, devices: int) -> list[int]:
    """Which of the GPUs of its machine a process takes: its share where it sees those of all, else the first.

    Raises:
        SetupError: there are fewer.
    """
    there, wanted = gpus_visible(), devices * place.local_size
    first = devices * place.local_rank
    if there is not None and there < wanted:
        if RANK in os.environ or there < devices:
            asked = wanted if RANK in os.environ else devices
            raise SetupError(f"{asked} devices are asked for, and there are {there}")
        first = 0
    return list(range(first, first + devices))


class Joined:
    """What the processes say to each other before they have a device, by the key-value store of JAX's runtime.

    Args:
        place: this process's place among the others.
    """

    def __init__(self, place: World):
        from jax._src.distributed import global_state

        self.place, self.calls, self.store = place, 0, global_state.client

    def allgather(self, value) -> list:
        """What each process has given, a list on all of them; called by all in the same order."""
        self.calls += 1
        self.store.key_value_set_bytes(f"swmodel/{self.calls}/{self.place.rank}", pickle.dumps(value))
        keys = [f"swmodel/{self.calls}/{rank}" for rank in range(self.place.size)]
        return [pickle.loads(self.store.blocking_key_value_get_bytes(key, 1000 * ANSWER)) for key in keys]
