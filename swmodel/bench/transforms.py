"""A sample of Fourier transforms alone: rfft2 of a field and irfft2 of the result, in a loop; or those of scipy.fft."""

from __future__ import annotations

import time

import jax
import jax.numpy as jnp
import numpy as np
import scipy.fft
from jax.extend.core import jaxprs_in_params

from ..parallel.decomposition import parse_layout
from ..parallel.environment import cores
from ..parallel.fourier import Fourier
from ..parallel.transport import Transport, connect
from .answers import TOLERANCE
from .device import largest, launched, memory_bytes
from .rows import Row

WARM = 0.1
#: All-to-alls in a program, by the names of the primitives of JAX and of this model.
ALL_TO_ALLS = ("all_to_all", "transpose_on_ring")


def measure_transforms(row: Row, task: dict) -> dict:
    """Measure a row of transforms; returns its sample. The results must be those of scipy.fft, else the row failed."""
    arrived = time.time()
    if row.dtype == "float64":
        jax.config.update("jax_enable_x64", True)
    field = np.random.default_rng(1).standard_normal((row.ny, row.nx)).astype(row.dtype)
    transport = connected(row)
    fourier = None if row.executor == "reference" else Fourier(transport)
    call = by_scipy(field) if fourier is None else by_program(fourier, field)
    first = call(1)
    n = 2
    while (elapsed := largest(call(n), transport)) < min(WARM, row.seconds):
        n *= 4
    n = task["steps"] or transport.broadcast(max(2, int(row.seconds * n / elapsed)))
    sample = {"compile_seconds": first, "steps": n, "seconds": largest(call(n), transport)}
    sample["first_step_seconds"] = largest(arrived - task["launched"], transport) + first
    sample["memory_bytes"] = largest(memory_bytes(row), transport)
    result = {"sample": sample, "launch": launched(transport)}
    if fourier is None:
        return {"state": "ok", **result}
    result |= {"differences": differences(fourier, field), "traffic": counted(fourier, row.dtype)}
    result["traffic"]["model"] = pencils(transport.layout, row.ny, row.nx, np.dtype(row.dtype).itemsize)
    name, worst = max(result["differences"].items(), key=lambda pair: pair[1])
    if worst <= TOLERANCE:
        return {"state": "ok", **result}
    reason = (
        f"wrong answer: the {name} differ from scipy.fft's by {worst:.3g} roundings (at most {TOLERANCE} are right)"
    )
    return {"state": "failed", "reason": reason, **result}


def connected(row: Row) -> Transport:
    """The transport of a row."""
    layout = parse_layout("", row.blocks, row.ny, row.nx)
    name = "sharded" if row.transport == "sharded" else "mpi" if row.nproc > 1 else "serial"
    return connect(name, layout, row.ny, row.nx, row.devices)


def by_scipy(field):
    """Function of a number n: seconds of n transforms there and back on all cores."""

    def call(n: int) -> float:
        found, begin = field, time.perf_counter()
        for _ in range(n):
            numbers = scipy.fft.rfft2(found, workers=cores())
            found = scipy.fft.irfft2(numbers, field.shape, workers=cores())
        return time.perf_counter() - begin

    return call


def by_program(fourier: Fourier, field):
    """As `by_scipy`, in one jitted program."""
    transport = fourier.transport
    given = placed(transport, field)
    loop = transport.jit(lambda u, n: jax.lax.fori_loop(0, n, lambda _, u: fourier.backward(fourier.forward(u)), u))

    def call(n: int) -> float:
        transport.barrier()
        begin = time.perf_counter()
        jax.block_until_ready(loop(given, jnp.int32(n)))
        transport.barrier()
        return time.perf_counter() - begin

    return call


def placed(transport: Transport, field):
    """A whole field as the argument of programs."""
    return transport.make(lambda part: field[part.y.start : part.y.stop, part.x.start : part.x.stop])


def differences(fourier: Fourier, field) -> dict[str, float]:
    """Largest differences from scipy.fft's coefficients and from the field, in roundings of the largest of each."""
    transport = fourier.transport
    found = transport.jit(fourier.forward)(placed(transport, field))
    back = transport.pieces(transport.jit(fourier.backward)(found))
    truth = scipy.fft.rfft2(field)
    pairs = zip(fourier.pieces(found), fourier.columns, strict=True)
    worst = max(np.abs(piece - truth[:, part.start : part.stop]).max() for piece, part in pairs)
    whole = [field[part.y.start : part.y.stop, part.x.start : part.x.stop] for part in transport.blocks]
    other = max(np.abs(ours - theirs).max() for ours, theirs in zip(back, whole, strict=True))
    relative = np.array([worst / np.abs(truth).max(), other / np.abs(field).max()]) / np.finfo(field.dtype).eps
    return dict(zip(("coefficients", "fields"), transport.reduce(relative.astype(float), "max").tolist(), strict=True))


def counted(fourier: Fourier, dtype) -> dict[str, float]:
    """Messages and bytes that a block sends in a transform forward and back, from the program; the most of all."""
    transport, messages, sent = fourier.transport, 0, 0
    field = placed(transport, np.zeros(fourier.cells, dtype))
    program = jax.make_jaxpr(transport.jit(lambda u: fourier.backward(fourier.forward(u))))(field)
    for equation in equations(program.jaxpr):
        if equation.primitive.name in ALL_TO_ALLS:
            array = equation.invars[0].aval
            others = array.shape[-3] - 1
            messages += others
            sent += others * array.size // array.shape[-3] * array.dtype.itemsize
    return {"messages": largest(messages, transport), "bytes": largest(sent, transport)}


def equations(jaxpr):
    """All equations of a program, with those nested in others."""
    for equation in jaxpr.eqns:
        yield equation
        for inner in jaxprs_in_params(equation.params):
            yield from equations(inner)


def pencils(layout: tuple[int, int], ny: int, nx: int, itemsize: int) -> dict[str, float]:
    """Messages and bytes of a block by the model of a pencil decomposition, forward and back.

    Where p blocks divide their lines among them, each sends the fraction (p - 1)/p of its numbers to others: those of
    the field over a row of the layout, those of its half spectrum back over the row and then over a column.
    """
    py, px = layout
    field, spectrum = ny * nx * itemsize / (py * px), 2 * ny * (nx // 2 + 1) * itemsize / (py * px)
    sent = (field + spectrum) * (px - 1) / px + spectrum * (py - 1) / py
    return {"messages": 2.0 * (2 * (px - 1) + (py - 1)), "bytes": 2 * sent}
