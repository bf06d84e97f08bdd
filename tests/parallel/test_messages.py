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
from swmodel.setup.build import build_grid, build_params, build_state, scheme_of


@pytest.mark.parametrize(("stepper", "stages"), [("ab2", 1), ("ab3", 1), ("leapfrog", 1), ("rk3", 3), ("rk4", 4)])
def test_four_messages_for_each_tendency(stepper, stages):
    config = configuration(8, 10)
    transport = Mpi(block(0, (2, 2), 8, 10), rank=0, size=4)
    grid, params = build_grid(config, transport.block, np.float64), build_params(config, transport.block, np.float64)
    method = method_of(stepper)
    state = jax.tree.map(jnp.asarray, build_state(config, transport.block, np.float64))
    carry = Carry(state, method.remember(state), jnp.zeros((), jnp.int32))
    step = make_step(scheme_of(config), method, transport)
    jaxpr = jax.make_jaxpr(step)(carry, grid, params, jnp.asarray(1.0))
    assert str(jaxpr).count("halo_sendrecv[") == 4 * stages


def test_a_halo_too_narrow_is_refused():
    config = configuration(8, 10, scheme__vorticity_flux="arakawa_lamb")
    here = block(0, (1, 1), 8, 10)
    terms = scheme_of(config)
    grid, params = build_grid(config, here, np.float64), build_params(config, here, np.float64)
    state = build_state(config, here, np.float64)
    padded = State(*(Patch(jnp.asarray(np.pad(field, 1, mode="wrap")), (-1, -1)) for field in state))
    result = tendency(padded, Instant(jnp.int32(0)), as_patches(grid, 2), as_patches(params, 2), terms)
    with pytest.raises(IndexError, match="asked of a patch"):
        result.u.on(here.shape)
