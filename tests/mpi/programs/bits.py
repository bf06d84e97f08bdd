"""Every layout of up to four ranks, in one start of four: compare each answer with the reference, print its bits.

bits.py EXECUTOR (native or xla).
"""

import hashlib
import sys

import jax
import numpy as np
from support.groups import of_layouts
from support.random_case import TIDE, configuration
from support.stepping import exchange

from swmodel.executors.reference import Reference
from swmodel.executors.registry import EXECUTORS
from swmodel.model.forcing import Forcing
from swmodel.parallel.transport import connect
from swmodel.setup.setup import setup_of

jax.config.update("jax_enable_x64", True)
EXECUTOR = sys.argv[1]
NY, NX, STEPS = 13, 17, 5
#: Each boundary, flux and stepper once, and each term that depends on where a cell is.
VARIANTS = {
    "channel on a sphere with a pole of its own, tide, weather, sponge, rk3": {
        "sphere": True,
        "grid__pole": (-42.0, 76.0),
        "sponge__rate": 1e-4,
        "sponge__width": 2e4,
        "sponge__sides": ("west", "north"),
        "physics__slip": "no",
        "physics__self_attraction": 0.1,
        "time__stepper": "rk3",
        "in_time": True,
        **TIDE,
    },
    "closed basin, beta plane, Arakawa-Lamb, no slip, ab3": {
        "grid__periodic_x": False,
        "physics__beta": 2e-10,
        "scheme__vorticity_flux": "arakawa_lamb",
        "physics__slip": "no",
        "time__stepper": "ab3",
    },
    "doubly periodic, biharmonic, leapfrog": {
        "grid__periodic_y": True,
        "physics__biharmonic_viscosity": 1e8,
        "time__stepper": "leapfrog",
    },
    "x walls, enstrophy, rk4": {
        "grid__periodic_x": False,
        "grid__periodic_y": True,
        "scheme__vorticity_flux": "enstrophy",
        "time__stepper": "rk4",
    },
    "open sides, no slip, two tracers, ab2": {
        "physics__tracers": ({"name": "tracer"}, {"name": "dye", "initial": 2.0, "diffusivity": 100.0}),
        "grid__periodic_x": False,
        "physics__slip": "no",
        "open_sides__sides": ("west", "east", "south"),
        "open_sides__m2_amplitude": 0.5,
        "open_sides__m2_phase": 40.0,
        "open_sides__transport_y": 2.0,
    },
}
DTYPES = ("float64", "float32")
#: Layouts computed at the same time.
PHASES = (((1, 1), (3, 1)), ((1, 2), (2, 1)), ((1, 3),), ((2, 2),))
#: The variants, by number, that xla compiles, for seconds on each rank: all cut both ways, the rings in three blocks.
XLA_LAYOUTS = {(1, 1): range(5), (2, 2): range(5), (3, 1): (2,), (1, 3): (2,)}


def dtypes(variant, layout):
    """Both precisions in every layout; of xla, which compiles for seconds on each rank, one by turns in XLA_LAYOUTS.

    The variant is a number.
    """
    if EXECUTOR == "native":
        return DTYPES
    return (DTYPES[variant % 2],) if variant in XLA_LAYOUTS.get(layout, ()) else ()


def compute(config, transport, chunks):
    """The state after the given numbers of steps, one call each: whole fields on the group's first rank."""
    setup = setup_of(config)
    model = EXECUTORS[EXECUTOR](setup, transport, *setup.static(transport.block))
    found = []
    for steps in chunks:
        forcing = Forcing(setup, transport)
        carry = model.start(setup.state(transport.block))
        for n in steps:
            last = int(carry.step) + n
            while (step := int(carry.step)) < last:
                exchange(model, forcing, step)
                carry = model.advance(carry, forcing.until(last) - step)
        found.append([transport.gather_rows(np.asarray(field), 0, NY) for field in carry.state])
    return found


def judge(name, dtype, layout, found, config):
    """The line that tells the bits, of all cuts into calls the same; compares with the reference."""
    digests = {hashlib.sha256(b"".join(field.tobytes() for field in state)).hexdigest()[:16] for state in found}
    model = Reference(config)
    truth = model.advance(model.start(), STEPS, config.time.dt).state
    worst = max(np.abs(a - b).max() / np.abs(b).max() for a, b in zip(found[0], truth, strict=True))
    assert worst < {"float64": 1e-12, "float32": 1e-5}[dtype], (name, layout, worst)
    return "|".join(["bits", name, dtype, f"{layout[0]}x{layout[1]}", *sorted(digests)])


def lines_of(layout):
    """The lines of all variants."""
    transport, lines = connect("mpi", layout, NY, NX), []
    for number, (name, options) in enumerate(VARIANTS.items()):
        for dtype in dtypes(number, layout):
            config = configuration(NY, NX, run__dtype=dtype, run__nproc=layout[0] * layout[1], **options)
            found = compute(config, transport, [(STEPS,), (2, 3), (1,) * STEPS])
            if transport.rank == 0:
                lines.append(judge(name, dtype, layout, found, config))
    return lines


for lines in of_layouts(PHASES, lines_of).values():
    print(*lines, sep="\n")
