"""Compare this layout's answer with the reference, and print a checksum of its bits: layouts.py PYxPX EXECUTOR."""

import hashlib
import sys

import jax
import numpy as np
from support.random_case import configuration, install

from swmodel.executors import EXECUTORS
from swmodel.grid import build_grid, build_params, build_state
from swmodel.reference import Reference
from swmodel.transport import connect

jax.config.update("jax_enable_x64", True)
NY, NX = 13, 17
VARIANTS = {
    "channel": {},
    "closed basin, Arakawa-Lamb, no slip, rk3": {
        "grid__periodic_x": False,
        "scheme__vorticity_flux": "arakawa_lamb",
        "physics__slip": "no",
        "time__stepper": "rk3",
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
}


def run(config, layout, dtype):
    """The state after five steps, whole fields on rank 0."""
    transport = connect("mpi", layout, NY, NX)
    state = build_state(config, transport.block, dtype)
    fields = build_grid(config, transport.block, dtype), build_params(config, transport.block, dtype)
    model = EXECUTORS[sys.argv[2]](config, transport, *fields)
    final = model.advance(model.start(state), 5).state
    return transport, [transport.gather_rows(np.asarray(field), 0, NY) for field in final]


layout = tuple(map(int, sys.argv[1].split("x")))
install(NY, NX)
for name, options in VARIANTS.items():
    for dtype in ("float64", "float32"):
        config = configuration(NY, NX, run__dtype=dtype, run__nproc=layout[0] * layout[1], **options)
        transport, ours = run(config, layout, np.dtype(dtype))
        if transport.rank:
            continue
        digest = hashlib.sha256(b"".join(field.tobytes() for field in ours)).hexdigest()[:16]
        print("bits", name, dtype, digest)
        if dtype == "float64":
            model = Reference(config)
            truth = model.advance(model.start(), 5, config.time.dt).state
            worst = max(np.abs(a - b).max() / np.abs(b).max() for a, b in zip(ours, truth, strict=True))
            assert worst < 1e-12, (name, worst)
