"""What a step costs in messages, and what becomes of a halo that is too narrow."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support.random_case import configuration

from swmodel.executors.xla import make_step
from swmodel.ocean.dynamics import tendency
from swmodel.ocean.grid import as_patches
from swmodel.ocean.instant import Instant
from swmodel.ocean.patch import Patch
from swmodel.ocean.state import Carry, State
from swmodel.ocean.timestep import method_of
from swmodel.parallel.decomposition import block
from swmodel.parallel.transport.mpi import Mpi
from swmodel.setup.setup import setup_of


@pytest.mark.parametrize(("stepper", "stages"), [("ab2", 1), ("ab3", 1), ("leapfrog", 1), ("rk3", 3), ("rk4", 4)])
def test_four_messages_for_each_tendency(stepper, stages):
    config = configuration(8, 10)
    transport = Mpi(block(0, (2, 2), 8, 10), rank=0, size=4)
    grid, params = setup_of(config).static(transport.block)
    method = method_of(stepper)
    state = jax.tree.map(jnp.asarray, setup_of(config).state(transport.block))
    carry = Carry(state, method.remember(state), jnp.zeros((), jnp.int32))
    step = make_step(setup_of(config).scheme, method, transport)
    jaxpr = jax.make_jaxpr(step)(carry, grid, params, jnp.asarray(1.0))
    assert str(jaxpr).count("halo_sendrecv[") == 4 * stages


def test_a_halo_too_narrow_is_refused():
    config = configuration(8, 10, scheme__vorticity_flux="arakawa_lamb")
    here = block(0, (1, 1), 8, 10)
    terms = setup_of(config).scheme
    grid, params = setup_of(config).static(here)
    state = setup_of(config).state(here)
    padded = State(*(Patch(jnp.asarray(np.pad(field, 1, mode="wrap")), (-1, -1)) for field in state))
    result = tendency(padded, Instant(jnp.int32(0)), as_patches(grid, 3), as_patches(params, 3), terms)
    with pytest.raises(IndexError, match="asked of a patch"):
        result.u.on(here.shape)
