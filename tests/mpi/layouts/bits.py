"""States after some steps of an executor: the bits of every cut into calls, compared with the reference."""

import hashlib

import numpy as np
from support.random_case import CLOSURES, DRYING, TIDE, configuration, flats
from support.stepping import exchange

from swmodel.executors.reference import Reference
from swmodel.executors.registry import EXECUTORS
from swmodel.model.forcing import Forcing
from swmodel.parallel.transport import connect
from swmodel.setup.setup import setup_of

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
        "open_sides__constituents": ("M2",),
        "open_sides__amplitude": (0.5,),
        "open_sides__phase": (40.0,),
        "open_sides__transport_y": 2.0,
        "time__stepper": "ab2",
    },
    "channel on a sphere, all of the tide, tracer, gfb": {
        "sphere": True,
        "time__stepper": "gfb",
        "physics__self_attraction": 0.1,
        "physics__tracers": ({"name": "tracer", "diffusivity": 100.0},),
        **TIDE,
    },
    "closed basin, weno5, closures, gfb": {
        "physics__tracers": ({"name": "tracer", "diffusivity": 100.0, "advection": "weno5"},),
        "grid__periodic_x": False,
        "scheme__vorticity_flux": "weno5",
        **{f"physics__{name}": value for name, value in CLOSURES.items()},
        "time__stepper": "gfb",
    },
    "flats that flood and fall dry": DRYING
    | {"fields": flats(NY, NX, sides=3), "grid__periodic_x": False, "physics__manning": 0.03},
}
PHASES = (((1, 1), (3, 1)), ((1, 2), (2, 1)), ((1, 3),), ((2, 2),))
#: The variants, by number, that an executor computes on a layout: each cut in y and in x, the rings in three blocks.
COMPUTED = {
    "native": {
        (1, 1): range(8),
        (3, 1): (0, 3, 6),
        (1, 3): (1, 2, 5),
        (1, 2): (3, 4, 7),
        (2, 1): (1, 7),
        (2, 2): (0, 2, 4, 5, 6, 7),
    },
    "xla": {(1, 1): range(8), (3, 1): (2,), (1, 3): (2,), (2, 2): range(8)},  # compiled for seconds on each rank
}


def compute(executor, config, transport, chunks):
    """The state after the given numbers of steps, one call each: whole fields on the group's first rank."""
    setup = setup_of(config)
    model = EXECUTORS[executor](setup, transport, *setup.static(transport.block))
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


def error(config, state):
    """Largest difference from the reference, relative to the largest value of each field."""
    model = Reference(setup_of(config))
    truth = model.advance(model.start(), STEPS, config.time.dt).state
    return max(np.abs(a - b).max() / np.abs(b).max() for a, b in zip(state, truth, strict=True))


def results(layout, executor):
    """{variant: digests of the states of all cuts into calls}; precisions by turns, compared with the reference."""
    transport, found = connect("mpi", layout, NY, NX), {}
    for number, (name, options) in enumerate(VARIANTS.items()):
        if number not in COMPUTED[executor].get(layout, ()):
            continue
        dtype, bound = (("float64", 1e-12), ("float32", 1e-5))[number % 2]
        config = configuration(NY, NX, run__dtype=dtype, run__nproc=layout[0] * layout[1], **options)
        states = compute(executor, config, transport, [(STEPS,), (2, 3), (1,) * STEPS])
        if transport.rank == 0:
            assert error(config, states[0]) < bound, (name, layout)
            bits = (hashlib.sha256(b"".join(field.tobytes() for field in state)) for state in states)
            found[name] = sorted({digest.hexdigest()[:16] for digest in bits})
    return found
