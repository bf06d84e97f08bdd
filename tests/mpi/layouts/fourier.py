"""Transforms: bits, derivatives, messages that are cut."""

from dataclasses import replace

from support.fourier_numbers import FOUR, TWO, energies, error_of_derivatives, fields, other_bits, placed

from swmodel.parallel.fourier import Fourier
from swmodel.parallel.transport import connect

NY, NX = 13, 17
PHASES = (((1, 2),), ((3, 1),), ((2, 2),))
#: Bytes of a message: some of the parts that are sent are shorter, some several times longer, and it divides none.
LARGEST = 100


def messages(transport):
    """All-to-alls in a program that transforms."""
    ours = placed(transport, fields(NY, NX, "float64"))
    return transport.jit(Fourier(transport).forward).lower(ours).as_text().count("mpi_alltoall_ffi(")


def results(layout):
    """What is found on a layout; on the last one also with walls in one direction, and with messages that are cut."""
    transport = connect("mpi", layout, NY, NX)
    found = {"derivatives": error_of_derivatives(transport), "messages": messages(transport)}
    found["energies"] = energies(transport)
    if layout != (2, 2):
        return found | {"other bits": other_bits(transport, "float64", TWO)}
    cut = replace(transport, largest=LARGEST)
    found |= {"messages cut": messages(cut), "other bits cut": other_bits(cut, "float32", FOUR)}
    return found | {"other bits": other_bits(transport, "float64", FOUR)}
