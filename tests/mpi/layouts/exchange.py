"""Digests of everything that messages carry, by mpi4jax and by the model's own foreign calls."""

import hashlib
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from swmodel.parallel.fourier import Fourier
from swmodel.parallel.transport import connect
from swmodel.parallel.transport.halo import surround

NY, NX = 9, 14
PHASES = [[(2, 2)], [(1, 3)]]


def results(layout) -> dict:
    return {by: digests(connect("mpi", layout, NY, NX, exchange=by)) for by in ("mpi4jax", "ffi")}


def digests(transport) -> dict:
    """Halos of every width, also wider than a block, their derivatives, those of members; sums; Fourier transforms."""
    rows, columns = transport.block.shape
    found = {"numbers": jax.jit(transport.sum)(jnp.arange(3, dtype=jnp.int32) + transport.rank)}
    for dtype, width in (("float32", 2), ("float64", 1), ("float64", 5)):
        rng = np.random.default_rng(transport.rank)
        given = (jnp.asarray(rng.standard_normal((2, rows, columns)), dtype) for _ in range(2))
        for name, value in jax.jit(partial(everything, transport, width))(*given).items():
            found[f"{name} {width} {dtype}"] = value
    return {name: transport.allgather(digest(value)) for name, value in found.items()}


def everything(transport, width, fields, change) -> dict:
    def around(values):
        return surround(list(values), width, transport)

    def total(values):
        return transport.sum(sum(jnp.sum(jnp.sin(field)) for field in around(values)))

    return {
        "halo": around(fields),
        "tangent": jax.jvp(around, (fields,), (change,))[1],
        "gradient": jax.grad(total)(fields),
        "curvature": jax.jvp(jax.grad(total), (fields,), (change,))[1],
        "members": jax.vmap(around)(jnp.stack([fields, change])),
        "transform": Fourier(transport).forward(fields[0]),
    }


def digest(tree) -> str:
    return hashlib.sha256(b"".join(np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(tree))).hexdigest()
