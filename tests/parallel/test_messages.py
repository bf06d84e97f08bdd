"""The halo of a block contains the surrounding cells of the grid; the number of messages of a step."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support.random_case import configuration

from swmodel.executors.xla import make_step
from swmodel.ocean.state import Carry
from swmodel.ocean.timestep import method_of
from swmodel.parallel.decomposition import block_of_rank
from swmodel.parallel.transport.halo import exchange_halos
from swmodel.parallel.transport.mpi import MpiTransport
from swmodel.parallel.transport.serial import SerialTransport
from swmodel.setup.setup import setup_of

pytestmark = pytest.mark.slow


class CountingTransport(SerialTransport):
    sent = 0

    def shift(self, value, axis, step):
        self.sent += 1
        return super().shift(value, axis, step)


@pytest.mark.parametrize(("shape", "width", "messages"), [((5, 7), 2, 4), ((5, 4), 5, 2 + 4), ((3, 2), 5, 4 + 6)])
def test_halo_equals_periodic_padding(shape, width, messages):
    """This holds for any width; each direction takes one message per exchange."""
    transport = CountingTransport(block_of_rank(0, (1, 1), *shape))
    fields = np.random.default_rng(1).random((3, *shape))
    around = exchange_halos([jnp.asarray(field) for field in fields], width, transport)
    for ours, field in zip(around, fields, strict=True):
        np.testing.assert_array_equal(ours, np.pad(field, width, mode="wrap"))
    assert transport.sent == messages


@pytest.mark.parametrize(
    ("stepper", "stages"), [("ab2", 1), ("ab3", 1), ("leapfrog", 1), ("rk3", 3), ("rk4", 4), ("gfb", 1)]
)
def test_each_tendency_takes_four_messages(stepper, stages):
    config = configuration(8, 10, time__stepper=stepper)
    transport = MpiTransport(block_of_rank(0, (2, 2), 8, 10), rank=0, size=4)
    grid, params = setup_of(config).static(transport.block)
    method = method_of(stepper)
    state = jax.tree.map(jnp.asarray, setup_of(config).state(transport.block))
    carry = Carry(state, method.initial_memory(state), jnp.zeros((), jnp.int32))
    step = make_step(setup_of(config).scheme, method, transport)
    assert str(jax.make_jaxpr(step)(carry, grid, params, jnp.asarray(1.0))).count("halo_sendrecv[") == 4 * stages
