"""Transforms: bits, derivatives, messages."""

import jax
from support.fourier_numbers import FOUR, TWO, energies, error_of_derivatives, fields, other_bits, placed

from swmodel.bench.parts import equations
from swmodel.parallel.fourier import Fourier
from swmodel.parallel.transport import connect

NY, NX = 13, 17
PHASES = (((1, 2),), ((3, 1),), ((2, 2),))


def messages(transport):
    """All-to-alls in a program that transforms."""
    ours = placed(transport, fields(NY, NX, "float64"))
    program = jax.make_jaxpr(transport.jit(Fourier(transport).forward))(ours)
    return sum(each.primitive.name == "transpose_on_ring" for each in equations(program.jaxpr))


def results(layout):
    """What is found on a layout; on the last one also with walls in one direction."""
    transport = connect("mpi", layout, NY, NX)
    found = {"derivatives": error_of_derivatives(transport), "messages": messages(transport)}
    pairs = FOUR if layout == (2, 2) else TWO
    return found | {"energies": energies(transport), "other bits": other_bits(transport, "float64", pairs)}
