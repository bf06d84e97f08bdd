"""Samples of parts of the model that run in a loop: halo exchange, and Fourier transforms of a field."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
import scipy.fft
from jax.extend.core import jaxprs_in_params

from ..model.resolve import resolve_setup
from ..parallel.decomposition import parse_layout
from ..parallel.environment import n_cores
from ..parallel.fourier import Fourier
from ..parallel.transport import connect
from ..setup.setup import setup_of
from .process_measures import (
    count_messages,
    describe_launch,
    max_over_processes,
    measure_steps,
    peak_memory_bytes,
    time_call,
)
from .reference_check import MAX_ROUNDINGS, make_config, values_of_block
from .sweeps import BenchRow

if TYPE_CHECKING:
    from ..parallel.transport.transport import Transport


def measure_exchange(row: BenchRow, task: dict) -> dict:
    """The sample of the halo exchange of a step, four shifts of slabs.

    The row fails if slabs that have passed through all blocks differ from the original slabs.
    """
    imports_end = time.time()
    setup = resolve_setup(setup_of(make_config(row)))
    config, halo = setup.config, setup.scheme.halo_width
    layout = parse_layout(config.run.layout, row.nproc, row.ny, row.nx, halo)
    transport = connect(config.run.transport, layout, row.ny, row.nx, exchange=config.run.exchange)
    rows, columns = transport.block.shape
    shapes = [(3, rows, halo)] * 2 + [(3, halo, columns + 2 * halo)] * 2  # h, u, v in one message
    slabs = [jnp.full(shape, transport.rank, row.dtype) for shape in shapes]

    def exchange_slabs(_, slabs):
        east, west, north, south = slabs
        west, east = transport.swap(west, east, 1)
        south, north = transport.swap(south, north, 0)
        return [west, east, south, north]

    program = jax.jit(lambda slabs, n: jax.lax.fori_loop(0, n, exchange_slabs, slabs))

    def loop(n: int):
        return program(slabs, jnp.int32(n))

    result = sample_loop(loop, row, task, transport, imports_end)
    returned_slabs = loop(layout[0] * layout[1])
    if transport.any(any(bool((np.asarray(slab) != transport.rank).any()) for slab in returned_slabs)):
        result["reason"] = "wrong answer: slabs changed while they were shifted past all blocks"
    elif task["check"]:
        result["traffic"] = count_messages(lambda n: jax.block_until_ready(loop(n)), row, transport)
    return result


def measure_transforms(row: BenchRow, task: dict) -> dict:
    """The sample of rfft2 followed by irfft2; the row fails if results differ from those of scipy.fft."""
    imports_end = time.time()
    if row.dtype == "float64":
        jax.config.update("jax_enable_x64", True)
    field = np.random.default_rng(1).standard_normal((row.ny, row.nx)).astype(row.dtype)
    name = "sharded" if row.transport == "sharded" else "mpi" if row.nproc > 1 else "serial"
    transport = connect(name, parse_layout("", row.n_blocks, row.ny, row.nx), row.ny, row.nx, row.devices)
    if row.executor == "reference":
        return sample_loop(lambda n: transform_by_scipy(field, n), row, task, transport, imports_end)
    fourier = Fourier(transport)
    field_array = transport.make_arrays(lambda part: values_of_block(field, part))
    program = transport.jit(lambda u, n: jax.lax.fori_loop(0, n, lambda _, u: fourier.backward(fourier.forward(u)), u))
    result = sample_loop(lambda n: program(field_array, jnp.int32(n)), row, task, transport, imports_end)
    roundings_by_result = result["differences"] = differences_from_scipy(fourier, field)
    result["traffic"] = count_all_to_alls(fourier, row.dtype)
    result["traffic"]["model"] = pencil_traffic(transport.layout, row.ny, row.nx, field.itemsize)
    worst = max(roundings_by_result, key=roundings_by_result.__getitem__)
    if roundings_by_result[worst] > MAX_ROUNDINGS:
        roundings = f"{roundings_by_result[worst]:.3g} roundings (at most {MAX_ROUNDINGS} are allowed)"
        result["reason"] = f"wrong answer: the {worst} differ from scipy.fft's by {roundings}"
    return result


def sample_loop(loop, row: BenchRow, task: dict, transport: Transport, imports_end: float) -> dict:
    """The sample of loop(n), which repeats an operation n times; `imports_end`: when imports ended, s since 1970."""

    def time_repetitions(n: int) -> float:
        return time_call(lambda: loop(n), transport)

    first_seconds = time_repetitions(1)
    sample = measure_steps(time_repetitions, row, task, transport, min_warmup_seconds=0.1)
    sample["compile_seconds"] = first_seconds
    sample["first_step_seconds"] = max_over_processes(imports_end - task["launched"], transport) + first_seconds
    return {
        "sample": sample | {"memory_bytes": peak_memory_bytes(row, transport)},
        "launch": describe_launch(transport),
    }


def transform_by_scipy(field, n: int):
    """Transform a field forward and back n times with SciPy, on all cores."""
    for _ in range(n):
        field = scipy.fft.irfft2(scipy.fft.rfft2(field, workers=n_cores()), field.shape, workers=n_cores())


def differences_from_scipy(fourier: Fourier, field) -> dict[str, float]:
    """Largest differences from scipy.fft's coefficients and from the field, in roundings of their largest values."""
    transport, expected = fourier.transport, scipy.fft.rfft2(field)
    coefficients = transport.jit(fourier.forward)(transport.make_arrays(lambda part: values_of_block(field, part)))
    pieces = transport.get_blocks(transport.jit(fourier.backward)(coefficients))
    field_difference = max(
        np.abs(piece - values_of_block(field, part)).max() for piece, part in zip(pieces, transport.blocks, strict=True)
    )
    coefficient_difference = max(
        np.abs(piece - expected[:, part.start : part.stop]).max()
        for piece, part in zip(fourier.get_blocks(coefficients), fourier.kx_ranges, strict=True)
    )
    max_differences = [coefficient_difference / np.abs(expected).max(), field_difference / np.abs(field).max()]
    roundings = transport.reduce(np.array(max_differences, float) / np.finfo(field.dtype).eps, "max")
    return dict(zip(("coefficients", "fields"), roundings.tolist(), strict=True))


def count_all_to_alls(fourier: Fourier, dtype) -> dict:
    """Largest numbers of messages and bytes that a block sends per transform forward and back, from the jaxpr."""
    transport, messages, n_bytes = fourier.transport, 0, 0
    field = transport.make_arrays(lambda part: values_of_block(np.zeros(fourier.grid_shape, dtype), part))
    program = jax.make_jaxpr(transport.jit(lambda u: fourier.backward(fourier.forward(u))))(field)
    for equation in all_equations(program.jaxpr):
        if equation.primitive.name in ("all_to_all", "transpose_on_ring"):  # primitives of JAX and of this model
            array = equation.invars[0].aval
            n_receivers = array.shape[-3] - 1
            messages += n_receivers
            n_bytes += n_receivers * array.size // array.shape[-3] * array.dtype.itemsize
    return {"messages": max_over_processes(messages, transport), "bytes": max_over_processes(n_bytes, transport)}


def all_equations(jaxpr):
    """The equations of a jaxpr and of all jaxprs inside it."""
    for equation in jaxpr.eqns:
        yield equation
        for inner in jaxprs_in_params(equation.params):
            yield from all_equations(inner)


def pencil_traffic(layout: tuple[int, int], ny: int, nx: int, itemsize: int) -> dict[str, float]:
    """Messages and bytes that a block of a pencil decomposition should send per transform forward and back.

    Each of p blocks that share lines sends the fraction (p - 1)/p of its numbers to the others. The field is
    exchanged along a row of the layout, and its half spectrum along the row again and then along a column.
    """
    py, px = layout
    field, spectrum = ny * nx * itemsize / (py * px), 2 * ny * (nx // 2 + 1) * itemsize / (py * px)
    n_bytes = (field + spectrum) * (px - 1) / px + spectrum * (py - 1) / py
    return {"messages": 2.0 * (2 * (px - 1) + (py - 1)), "bytes": 2 * n_bytes}
