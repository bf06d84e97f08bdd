"""What a step costs in messages."""

import jax
import jax.numpy as jnp
import pytest
from support.random_case import configuration

from swmodel.executors.xla import make_step
from swmodel.ocean.state import Carry
from swmodel.ocean.timestep import method_of
from swmodel.parallel.decomposition import block
from swmodel.parallel.transport.mpi import Mpi
from swmodel.setup.setup import setup_of

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("stepper", "stages"), [("ab2", 1), ("ab3", 1), ("leapfrog", 1), ("rk3", 3), ("rk4", 4), ("gfb", 1)]
)
def test_four_messages_for_each_tendency(stepper, stages):
    config = configuration(8, 10, time__stepper=stepper)
    transport = Mpi(block(0, (2, 2), 8, 10), rank=0, size=4)
    grid, params = setup_of(config).static(transport.block)
    method = method_of(stepper)
    state = jax.tree.map(jnp.asarray, setup_of(config).state(transport.block))
    carry = Carry(state, method.remember(state), jnp.zeros((), jnp.int32))
    step = make_step(setup_of(config).scheme, method, transport)
    jaxpr = jax.make_jaxpr(step)(carry, grid, params, jnp.asarray(1.0))
    assert str(jaxpr).count("halo_sendrecv[") == 4 * stages
