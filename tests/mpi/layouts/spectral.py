"""Spectra, potentials, balanced flows, errors with a given spectrum: their bits."""

import numpy as np
from support.background_case import background_case
from support.spectral_case import NX, NY, bits_of, spectral_bits

#: Layouts computed at the same time.
PHASES = (((1, 1), (1, 3)), ((2, 2),))


def results(layout):
    """The bits of a channel, and of an error of a first guess there."""
    where = {"run__nproc": layout[0] * layout[1], "run__layout": f"{layout[0]}x{layout[1]}", "run__transport": "mpi"}
    found = spectral_bits("channel", **where)
    correlation = {"assimilation__correlation": "spectrum", "assimilation__length": 2e4}
    controls = dict.fromkeys(("eta", "u", "v"), (0.1, 20000.0))
    options = correlation | {"name": "mpi", "land": False, "controls": controls, "balanced": False}
    background, _, transport, _ = background_case(layout, NY, NX, **options)
    draw = background.draw(1, 0)
    whole = [transport.gather_rows(np.asarray(field), 0, NY) for field in draw.values()]
    return found and found | {"error of a first guess": bits_of(np.stack(whole))}
