"""Checksums of the bits that the native step gives with 1 to 4 steps in a sweep.

On one process with any number of steps; in other layouts with two, three and four by turns of the variants.
"""

import hashlib

import numpy as np
from support.random_case import configuration

from swmodel.executors.native.executor import Native
from swmodel.parallel.transport import connect
from swmodel.setup.setup import setup_of

NY, NX, STEPS = 34, 35, 10
#: Layouts one after the other: rings of one, two and four blocks.
PHASES = (((1, 1),), ((2, 2),), ((4, 1),), ((1, 4),))
VARIANTS = {
    "channel, ab2": {"run__dtype": "float32"},
    "closed basin, no slip, ab3": {"grid__periodic_x": False, "physics__slip": "no", "time__stepper": "ab3"},
    "doubly periodic, Arakawa-Lamb, leapfrog": {
        "grid__periodic_y": True,
        "scheme__vorticity_flux": "arakawa_lamb",
        "time__stepper": "leapfrog",
    },
    "x walls, biharmonic, sponge, ab2": {
        "grid__periodic_x": False,
        "grid__periodic_y": True,
        "physics__biharmonic_viscosity": 1e8,
        "sponge__rate": 1e-4,
        "sponge__width": 2e4,
        "run__dtype": "float32",
    },
}


def bits(config, layout, steps_per_sweep):
    """A checksum of the state after `STEPS` steps, the same on all ranks."""
    transport, setup = connect("mpi", layout, NY, NX), setup_of(config)
    model = Native(setup, transport, *setup.static(transport.block), steps_per_sweep=steps_per_sweep)
    final = model.advance(model.start(setup.state(transport.block)), STEPS).state
    whole = [transport.gather_rows(np.asarray(field), 0, NY) for field in final]
    if transport.rank == 0:
        return hashlib.sha256(b"".join(field.tobytes() for field in whole)).hexdigest()[:16]


def results(layout):
    """{variant: {steps in a sweep: checksum}}."""
    found = {}
    for number, (name, options) in enumerate(VARIANTS.items()):
        config = configuration(NY, NX, run__nproc=layout[0] * layout[1], **options)
        several = (1, 2, 3, 4) if layout == (1, 1) else (2 + (number + layout[0] // 2) % 3,)
        found[name] = {steps: bits(config, layout, steps) for steps in several}
    return found
