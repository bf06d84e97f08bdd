"""How processes of the sharded transport find each other: by JAX's distributed runtime, before JAX has a device."""

from __future__ import annotations

import json
import os

import jax

from ...errors import SetupError
from .. import streams, watchdog
from ..environment import RANK, World, has_gpu, visible_gpus
from .rendezvous import LOCAL, find_first

#: How long a process waits for the others to start, and for an answer of one, s.
START, ANSWER = 300, 600
#: No process is silent for so long, s.
NEVER = 10**9


def join(place: World, devices: int, address: str | None, limit: float = watchdog.START) -> Joined:
    """Make JAX's devices those of all processes; before JAX has started.

    Args:
        place: this process's place among the others.
        devices: number of devices that it computes on.
        address: HOST:PORT of the first process; None: JAX finds it itself, from the environment of Slurm or Open MPI.
        limit: that of the watchdog, s.
    """
    from jax._src.clusters import ClusterEnv

    own = own_devices(place, devices)
    if not address:
        address = ClusterEnv.auto_detect_unset_distributed_params(None, place.size, place.rank, [0], None, START)[0]
    find_first(place, address, START)
    jax.config.update("jax_enable_preemption_service", False)  # it takes SIGTERM, which `stop` answers
    jax.config.update("jax_check_proxy_envs", RANK not in os.environ)
    jax.distributed.initialize(
        address,
        place.size,
        place.rank,
        own,
        "deactivate",
        initialization_timeout=START,
        heartbeat_timeout_seconds=longest_silence(limit),
        coordinator_bind_address=address if address.startswith(f"{LOCAL}:") else None,
    )
    if not visible_gpus():
        # Gloo, which carries messages between processors, prints in pieces between the lines for the launcher.
        streams.move_stdout()
    return Joined(place, own)


def longest_silence(limit: float) -> int:
    """Time after which JAX's runtime ends all without a message, s; the watchdog with this limit does before."""
    return int(1.5 * max(limit, watchdog.START)) if limit else NEVER


def own_devices(place: World, devices: int) -> list[int] | None:
    """The numbers of the GPUs that a process takes of those it sees: its share, or the first; None on processors."""
    gpus, wanted = visible_gpus(), devices * place.local_size
    if gpus == [] or not has_gpu():
        return None
    first = devices * place.local_rank
    if gpus and len(gpus) < wanted:
        needed = wanted if RANK in os.environ else devices
        if len(gpus) < needed:
            raise SetupError(f"{needed} devices are asked for, and there are {len(gpus)}")
        first = 0
    return list(range(first, first + devices))


class Joined:
    """Messages between the processes before they have a device, by the key-value store of JAX's runtime.

    Args:
        place: this process's place among the others.
        own: the numbers of the GPUs that it takes of those it sees; None on processors.

    Attributes:
        gpus: their names, where they are known.
    """

    def __init__(self, place: World, own: list[int] | None = None):
        from jax._src.distributed import global_state

        self.place, self.calls, self.store = place, 0, global_state.client
        gpus = visible_gpus()
        self.gpus = [gpus[number] for number in own] if own and gpus else []

    def allgather(self, value) -> list:
        """The list of the JSON values of all processes, on all of them; called by all in the same order."""
        self.calls += 1
        self.store.key_value_set(f"swmodel/{self.calls}/{self.place.rank}", json.dumps(value))
        keys = [f"swmodel/{self.calls}/{rank}" for rank in range(self.place.size)]
        return [json.loads(self.store.blocking_key_value_get(key, 1000 * ANSWER)) for key in keys]
