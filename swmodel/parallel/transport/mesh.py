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


def rectangle(devices: int, layout: tuple[int, int]) -> tuple[int, int]:
    """The rows and columns of blocks of a process with so many devices in a layout; they divide those of the layout."""
    columns = gcd(devices, layout[1])
    return devices // columns, columns


def mesh_of(local: tuple[int, int], processes: tuple[int, int]) -> Mesh:
    """The first devices of each process, arranged like blocks: `processes` rectangles of `local` rows and columns."""
    devices, size = local[0] * local[1], processes[0] * processes[1]
    provide(devices)
    if jax.process_count() != size:
        raise SetupError(
            f"a run on {size} processes, but JAX knows of {jax.process_count()}: each calls "
            "jax.distributed.initialize before anything else of JAX, or `swmodel run` starts them"
        )
    first = [[device for device in jax.devices() if device.process_index == rank][:devices] for rank in range(size)]
    by_process = np.array(first, dtype=object).reshape(*processes, *local)
    return Mesh(by_process.swapaxes(1, 2).reshape(processes[0] * local[0], processes[1] * local[1]), AXES)


def provide(devices: int) -> None:
    """Make sure that this process has so many devices; else raise a SetupError.

    Processors are split into so many, unless JAX has started already or JAX_NUM_CPU_DEVICES is set.
    """
    if "JAX_NUM_CPU_DEVICES" not in os.environ:
        with contextlib.suppress(RuntimeError):  # JAX has started
            jax.config.update("jax_num_cpu_devices", devices)
    if (there := jax.local_device_count()) < devices:
        words = "; JAX had started, or JAX_NUM_CPU_DEVICES is set" if jax.default_backend() == "cpu" else ""
        raise SetupError(f"{devices} devices are asked for, and there are {there}{words}")


def processes(devices: int) -> int:
    """How many processes JAX knows of, once each has its devices, as `provide` makes sure."""
    provide(devices)
    return jax.process_count()


def spec(ndim: int) -> PartitionSpec:
    """How an array with so many axes lies on the mesh: numbers on all devices, arrays in blocks."""
    if ndim < 2:
        return PartitionSpec(AXES) if ndim else PartitionSpec()
    return PartitionSpec(*[None] * (ndim - 2), *AXES)


def cuts(ndim: int, layout: tuple[int, int]) -> tuple[int, ...]:
    """Into how many parts each axis of the array of all blocks is cut: `spec` in numbers."""
    return (*[1] * (ndim - 2), *layout) if ndim > 1 else (layout[0] * layout[1],) * ndim
