"""Spectra, potentials and balanced flows over MPI, in several layouts of four ranks, as bits."""

import json

import jax
from support.groups import of_layouts
from support.spectral_case import spectral_bits

jax.config.update("jax_enable_x64", True)
#: Layouts computed at the same time.
PHASES = (((1, 1), (1, 3)), ((2, 2),))


def results(layout):
    """The bits of a channel."""
    where = {"run__nproc": layout[0] * layout[1], "run__layout": f"{layout[0]}x{layout[1]}", "run__transport": "mpi"}
    return spectral_bits("channel", **where)


found = of_layouts(PHASES, results)
if found:
    print(json.dumps({f"{py}x{px}": answer for (py, px), answer in found.items()}))
