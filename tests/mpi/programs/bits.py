"""Every layout of up to four ranks, in one start of four: compare each answer with the reference, print its bits.

bits.py EXECUTOR (native or xla). Each phase splits the world into groups of ranks; a group computes one layout.
"""

import hashlib
import sys
import time

import jax
import numpy as np
from mpi4py import MPI
from support.random_case import configuration, install

from swmodel.decomposition import block
from swmodel.executors import EXECUTORS
from swmodel.grid import build_grid, build_params, build_state
from swmodel.reference import Reference
from swmodel.transport import messages, mpi

jax.config.update("jax_enable_x64", True)
EXECUTOR = sys.argv[1]
NY, NX, STEPS = 13, 17, 5
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
    "beta plane, sponge, ab3": {
        "physics__beta": 2e-10,
        "sponge__rate": 1e-4,
        "sponge__width": 2e4,
        "sponge__sides": ("west", "north"),
        "time__stepper": "ab3",
    },
}
#: Layouts computed at the same time, side by side from rank 0 on.
PHASES = (((1, 1), (3, 1)), ((1, 2), (2, 1)), ((1, 3),), ((2, 2),))
#: The layouts of xla, which compiles for seconds, besides 1x1 and 2x2: each by turns.
OTHERS = ((1, 2), (3, 1), (2, 1), (1, 3))


def dtypes(number, layout):
    """The precisions in which the variant of this number is computed in a layout."""
    one, other = (("float64", "float32"), ("float32", "float64"))[number % 2]
    if layout == (1, 1):
        return (one, other)
    if EXECUTOR == "native":
        return (one,) if layout in ((2, 2), (1, 2), (3, 1)) else (other,)
    if layout == (2, 2):
        return (one,)
    return (other,) if layout == OTHERS[number % len(OTHERS)] else ()


def compute(config, layout, comm, chunks):
    """The state after the given numbers of steps, one call each: whole fields on the group's first rank."""
    dtype = np.dtype(config.run.dtype)
    here = block(comm.Get_rank(), layout, NY, NX)
    transport = mpi.Mpi(here, rank=comm.Get_rank(), size=comm.Get_size())
    static = build_grid(config, here, dtype), build_params(config, here, dtype)
    model = EXECUTORS[EXECUTOR](config, transport, *static)
    found = []
    for steps in chunks:
        carry = model.start(transport.make(lambda block: build_state(config, block, dtype)))
        for n in steps:
            carry = model.advance(carry, n)
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


install(NY, NX)
rank = MPI.COMM_WORLD.Get_rank()
lines = []
for phase in PHASES:
    owners = [number for number, (py, px) in enumerate(phase) for _ in range(py * px)]
    mine = owners[rank] if rank < len(owners) else len(phase)
    group = MPI.COMM_WORLD.Split(mine, rank)
    if mine < len(phase):
        layout = phase[mine]
        messages.DEVICE_COMM, mpi.HOST_COMM = group, group.Clone()
        for number, (name, options) in enumerate(VARIANTS.items()):
            for dtype in dtypes(number, layout):
                config = configuration(NY, NX, run__dtype=dtype, run__nproc=layout[0] * layout[1], **options)
                found = compute(config, layout, group, [(STEPS,), (2, 3), (1,) * STEPS])
                if group.Get_rank() == 0:
                    lines.append(judge(name, dtype, layout, found, config))
    together = MPI.COMM_WORLD.Ibarrier()
    while not together.Test():  # asleep, so that those that compute have the cores
        time.sleep(0.02)
# One process prints for all: lines of two that print at a time may be mixed on their way.
for lines_of_rank in MPI.COMM_WORLD.gather(lines) or []:
    print(*lines_of_rank, sep="\n")
