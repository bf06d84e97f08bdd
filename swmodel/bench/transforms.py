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
from .device import largest, launched, memory_bytes, seconds_of, timed_steps
from .rows import Row

#: All-to-alls in a program, by the names of the primitives of JAX and of this model.
ALL_TO_ALLS = ("all_to_all", "transpose_on_ring")


def measure_transforms(row: Row, task: dict) -> dict:
    """Measure a row of transforms; returns its sample. The results must be those of scipy.fft, else the row failed."""
    arrived = time.time()
    if row.dtype == "float64":
        jax.config.update("jax_enable_x64", True)
    field = np.random.default_rng(1).standard_normal((row.ny, row.nx)).astype(row.dtype)
    name = "sharded" if row.transport == "sharded" else "mpi" if row.nproc > 1 else "serial"
    transport = connect(name, parse_layout("", row.blocks, row.ny, row.nx), row.ny, row.nx, row.devices)
    fourier = None if row.executor == "reference" else Fourier(transport)
    loop = scipy_loop(field) if fourier is None else program_loop(fourier, field)

    def seconds(n: int) -> float:
        return seconds_of(lambda: loop(n), transport)

    first = seconds(1)
    sample = timed_steps(seconds, row, task, transport, warm=0.1) | {"compile_seconds": first}
    sample["first_step_seconds"] = largest(arrived - task["launched"], transport) + first
    sample["memory_bytes"] = largest(memory_bytes(row), transport)
    result = {"sample": sample, "launch": launched(transport)}
    if fourier is None:
        return result
    found = differences(fourier, field)
    model = pencils(transport.layout, row.ny, row.nx, field.itemsize)
    result |= {"differences": found, "traffic": count(fourier, row.dtype) | {"model": model}}
    worst = max(found, key=found.get)
    if found[worst] > TOLERANCE:
        result["reason"] = (
            f"wrong answer: the {worst} differ from scipy.fft's by {found[worst]:.3g} roundings "
            f"(at most {TOLERANCE} are right)"
        )
    return result


def scipy_loop(field):
    """Function of a number n: n transforms there and back on all cores."""

    def loop(n: int):
        found = field
        for _ in range(n):
            found = scipy.fft.irfft2(scipy.fft.rfft2(found, workers=cores()), field.shape, workers=cores())

    return loop


def program_loop(fourier: Fourier, field):
    """The same in one jitted program."""
    transport, whole = fourier.transport, placed(fourier.transport, field)
    loop = transport.jit(lambda u, n: jax.lax.fori_loop(0, n, lambda _, u: fourier.backward(fourier.forward(u)), u))
    return lambda n: loop(whole, jnp.int32(n))


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


def count(fourier: Fourier, dtype) -> dict[str, float]:
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
