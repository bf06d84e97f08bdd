"""The devices of JAX arranged like the blocks of a layout, and how arrays lie on them."""

from __future__ import annotations

import contextlib
import os
from math import gcd

import jax
import numpy as np
from jax.sharding import Mesh, PartitionSpec

from ...errors import SetupError

AXES = ("y", "x")


def mesh_of(local: tuple[int, int], processes: tuple[int, int]) -> Mesh:
    """The first devices of each process, arranged like blocks: `processes` rectangles of `local` rows and columns.

    Raises:
        SetupError: there are fewer devices, or another number of processes.
    """
    devices, size = local[0] * local[1], processes[0] * processes[1]
    provide(devices)
    if jax.process_count() != size:
        raise SetupError(
            f"a run on {size} processes, but JAX knows of {jax.process_count()}: each calls "
            "jax.distributed.initialize before anything else of JAX, or `swmodel run` starts them"
        )
    of_process = [
        [device for device in jax.devices() if device.process_index == rank][:devices] for rank in range(size)
    ]
    by_process = np.array(of_process, dtype=object).reshape(*processes, *local)
    return Mesh(by_process.swapaxes(1, 2).reshape(processes[0] * local[0], processes[1] * local[1]), AXES)


def rectangle(devices: int, layout: tuple[int, int]) -> tuple[int, int]:
    """The rows and columns of blocks of a process with so many devices in a layout; they divide those of the layout."""
    columns = gcd(devices, layout[1])
    return devices // columns, columns


def provide(devices: int) -> None:
    """Make sure that this process has so many devices.

    Processors are split into so many, unless JAX has started already or JAX_NUM_CPU_DEVICES is set.

    Raises:
        SetupError: there are fewer.
    """
    given = os.environ.get("JAX_NUM_CPU_DEVICES")
    if given is None:
        with contextlib.suppress(RuntimeError):  # JAX has started
            jax.config.update("jax_num_cpu_devices", devices)
    there = jax.local_device_count()
    if there < devices:
        why = "JAX had started with them before more were asked for"
        if given is not None and int(given) < devices:
            why = f"JAX_NUM_CPU_DEVICES is {given}"
        words = f"; {why}" if jax.default_backend() == "cpu" else ""
        raise SetupError(f"{devices} devices are asked for, and there are {there}{words}")


def processes(devices: int) -> int:
    """How many processes JAX knows of, once each has its devices.

    Raises:
        SetupError: this one has fewer.
    """
    provide(devices)
    return jax.process_count()


def spec(ndim: int) -> PartitionSpec:
    """How an array with so many axes lies on the mesh: numbers on all devices, arrays in blocks."""
    if ndim < 2:
        return PartitionSpec(AXES) if ndim else PartitionSpec()
    return PartitionSpec(*[None] * (ndim - 2), *AXES)


def shape_of_all(shape: tuple[int, ...], layout: tuple[int, int]) -> tuple[int, ...]:
    """The shape of the arrays of all blocks side by side, from that of one."""
    if len(shape) < 2:
        return tuple(n * layout[0] * layout[1] for n in shape)
    return (*shape[:-2], shape[-2] * layout[0], shape[-1] * layout[1])


def shape_of_one(shape: tuple[int, ...], layout: tuple[int, int]) -> tuple[int, ...]:
    """The shape of a block's array, from that of all side by side."""
    if len(shape) < 2:
        return tuple(n // (layout[0] * layout[1]) for n in shape)
    return (*shape[:-2], shape[-2] // layout[0], shape[-1] // layout[1])
