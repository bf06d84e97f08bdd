"""What surrounds a block is what lies there on the grid, however wide it is; each direction is one message a time."""

import jax.numpy as jnp
import numpy as np
import pytest

from swmodel.parallel.decomposition import block
from swmodel.parallel.transport.halo import surround
from swmodel.parallel.transport.serial import Serial


class Counting(Serial):
    """Counts what is sent."""

    sent = 0

    def shift(self, value, axis, step):
        self.sent += 1
        return super().shift(value, axis, step)


@pytest.mark.parametrize(("shape", "width", "messages"), [((5, 7), 2, 4), ((5, 4), 5, 2 + 4), ((3, 2), 5, 4 + 6)])
def test_it_is_the_grid_that_repeats_itself(shape, width, messages):
    transport = Counting(block(0, (1, 1), *shape))
    fields = np.random.default_rng(1).random((3, *shape))
    around = surround([jnp.asarray(field) for field in fields], width, transport)
    for ours, field in zip(around, fields, strict=True):
        np.testing.assert_array_equal(ours, np.pad(field, width, mode="wrap"))
    assert transport.sent == messages
