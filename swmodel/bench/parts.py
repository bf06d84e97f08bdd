"""Samples of single parts of a model in a loop: halo exchange, Fourier transforms of a field."""

from __future__ import annotations

import time

import jax
import jax.numpy as jnp
import numpy as np
import scipy.fft
from jax.extend.core import jaxprs_in_params

from ..model.resolve import resolved
from ..parallel.decomposition import parse_layout
from ..parallel.environment import cores
from ..parallel.fourier import Fourier
from ..parallel.transport import connect
from ..setup.setup import setup_of
from .answers import TOLERANCE, configuration
from .device import count_messages, largest, launched, memory_bytes, seconds_of, timed_steps
from .sweeps import Row


def measure_exchange(row: Row, task: dict) -> dict:
    """The sample of the four shifts of a step, with slabs of its size, which must return round the ring unchanged."""
    arrived = time.time()
    setup = resolved(setup_of(configuration(row)))
    config, width = setup.config, setup.scheme.width
    layout = parse_layout(config.run.layout, row.nproc, row.ny, row.nx, width)
    transport = connect(config.run.transport, layout, row.ny, row.nx, exchange=config.run.exchange)
    rows, columns = transport.block.shape
    shapes = [(3, rows, width)] * 2 + [(3, width, columns + 2 * width)] * 2  # h, u, v in one message
    slabs = [jnp.full(shape, transport.rank, row.dtype) for shape in shapes]

    def shifted(_, slabs):
        east, west, north, south = slabs
        west, east = transport.swap(west, east, 1)
        south, north = transport.swap(south, north, 0)
        return [west, east, south, north]

    program = jax.jit(lambda slabs, n: jax.lax.fori_loop(0, n, shifted, slabs))

    def loop(n: int):
        return program(slabs, jnp.int32(n))

    result = sample_loop(loop, row, task, transport, arrived)
    back = loop(layout[0] * layout[1])
    if transport.any(any(bool((np.asarray(slab) != transport.rank).any()) for slab in back)):
        result["reason"] = "wrong answer: slabs changed on the way round the ring of blocks"
    elif task["check"]:
        result["traffic"] = count_messages(lambda n: jax.block_until_ready(loop(n)), row, transport)
    return result


def measure_transforms(row: Row, task: dict) -> dict:
    """The sample of rfft2 and irfft2; the row fails if results differ from those of scipy.fft."""
    arrived = time.time()
    if row.dtype == "float64":
        jax.config.update("jax_enable_x64", True)
    field = np.random.default_rng(1).standard_normal((row.ny, row.nx)).astype(row.dtype)
    name = "sharded" if row.transport == "sharded" else "mpi" if row.nproc > 1 else "serial"
    transport = connect(name, parse_layout("", row.blocks, row.ny, row.nx), row.ny, row.nx, row.devices)
    if row.executor == "reference":
        return sample_loop(lambda n: by_scipy(field, n), row, task, transport, arrived)
    fourier = Fourier(transport)
    whole = transport.make(lambda part: cut(field, part))
    program = transport.jit(lambda u, n: jax.lax.fori_loop(0, n, lambda _, u: fourier.backward(fourier.forward(u)), u))
    result = sample_loop(lambda n: program(whole, jnp.int32(n)), row, task, transport, arrived)
    found = result["differences"] = differences(fourier, field)
    result["traffic"] = count_all_to_alls(fourier, row.dtype)
    result["traffic"]["model"] = pencils(transport.layout, row.ny, row.nx, field.itemsize)
    worst = max(found, key=found.get)
    if found[worst] > TOLERANCE:
        roundings = f"{found[worst]:.3g} roundings (at most {TOLERANCE} are right)"
        result["reason"] = f"wrong answer: the {worst} differ from scipy.fft's by {roundings}"
    return result


def sample_loop(loop, row: Row, task: dict, transport, arrived: float) -> dict:
    """The sample of loop(n), which repeats an operation n times; `arrived`: the time after imports."""

    def seconds(n: int) -> float:
        return seconds_of(lambda: loop(n), transport)

    first = seconds(1)
    sample = timed_steps(seconds, row, task, transport, warm=0.1) | {"compile_seconds": first}
    sample["first_step_seconds"] = largest(arrived - task["launched"], transport) + first
    return {"sample": sample | {"memory_bytes": memory_bytes(row, transport)}, "launch": launched(transport)}


def by_scipy(field, n: int):
    """Transform a field there and back n times, on all cores."""
    for _ in range(n):
        field = scipy.fft.irfft2(scipy.fft.rfft2(field, workers=cores()), field.shape, workers=cores())


def cut(field, part):
    """A block's part of a field."""
    return field[part.y.start : part.y.stop, part.x.start : part.x.stop]


def differences(fourier: Fourier, field) -> dict[str, float]:
    """Largest differences from scipy.fft's coefficients and from the field, in roundings of the largest of each."""
    transport, truth = fourier.transport, scipy.fft.rfft2(field)
    found = transport.jit(fourier.forward)(transport.make(lambda part: cut(field, part)))
    back = zip(transport.pieces(transport.jit(fourier.backward)(found)), transport.blocks, strict=True)
    pieces = zip(fourier.pieces(found), fourier.columns, strict=True)
    worst = [
        max(np.abs(piece - truth[:, part.start : part.stop]).max() for piece, part in pieces) / np.abs(truth).max(),
        max(np.abs(piece - cut(field, part)).max() for piece, part in back) / np.abs(field).max(),
    ]
    roundings = transport.reduce(np.array(worst, float) / np.finfo(field.dtype).eps, "max")
    return dict(zip(("coefficients", "fields"), roundings.tolist(), strict=True))


def count_all_to_alls(fourier: Fourier, dtype) -> dict:
    """Most messages and bytes that a block sends in a transform forward and back, from the program."""
    transport, messages, sent = fourier.transport, 0, 0
    field = transport.make(lambda part: cut(np.zeros(fourier.cells, dtype), part))
    program = jax.make_jaxpr(transport.jit(lambda u: fourier.backward(fourier.forward(u))))(field)
    for equation in equations(program.jaxpr):
        if equation.primitive.name in ("all_to_all", "transpose_on_ring"):  # primitives of JAX and of this model
            array = equation.invars[0].aval
            others = array.shape[-3] - 1
            messages += others
            sent += others * array.size // array.shape[-3] * array.dtype.itemsize
    return {"messages": largest(messages, transport), "bytes": largest(sent, transport)}


def equations(jaxpr):
    """All equations of a program, with nested ones."""
    for equation in jaxpr.eqns:
        yield equation
        for inner in jaxprs_in_params(equation.params):
            yield from equations(inner)


def pencils(layout: tuple[int, int], ny: int, nx: int, itemsize: int) -> dict[str, float]:
    """Messages and bytes of a block by the model of a pencil decomposition, forward and back.

    Each of p blocks that share lines sends the fraction (p - 1)/p of its numbers to others. The field goes over a row
    of the layout, its half spectrum back over the row and then over a column.
    """
    py, px = layout
    field, spectrum = ny * nx * itemsize / (py * px), 2 * ny * (nx // 2 + 1) * itemsize / (py * px)
    sent = (field + spectrum) * (px - 1) / px + spectrum * (py - 1) / py
    return {"messages": 2.0 * (2 * (px - 1) + (py - 1)), "bytes": 2 * sent}
