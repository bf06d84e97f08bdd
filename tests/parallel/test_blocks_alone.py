"""A process builds its own part of the fields and nothing larger: a block of a grid that no machine could hold."""

import tracemalloc

import numpy as np
import pytest

import swmodel
from swmodel import cases
from swmodel.parallel.decomposition import block
from swmodel.setup.setup import setup_of

#: Cells of the grid in each direction, and blocks: a field of the whole grid in single precision takes 1.6 GB.
CELLS, BLOCKS = 20_000, 64
#: More than this a process may not allocate for one of the blocks, bytes: less than a mask of the whole grid takes.
LIMIT = CELLS**2 // 4
MARGIN = 3


@pytest.mark.parametrize("name", cases.names())
def test_each_case_builds_a_block_without_the_whole_grid(name):
    config = swmodel.load(name, {"grid.nx": CELLS, "grid.ny": CELLS, "time.dt": 1.0}, environ={})
    part = block(BLOCKS * 5 + 7, (BLOCKS, BLOCKS), CELLS, CELLS)
    tracemalloc.start()
    try:
        fields = [*setup_of(config).grid(part, MARGIN), *setup_of(config).params(part, MARGIN)]
        fields += setup_of(config).state(part)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < LIMIT
    assert max(np.size(field) for field in fields if field is not None) <= (CELLS // BLOCKS + 1 + 2 * MARGIN) ** 2
