"""White noise on the cells of the grid, the same on any layout.

The random number of a cell is a function of (seed, name, member, row, column) only. Each row of the grid has its own
stream of a counter-based generator: seed, name and member determine the key, the row determines the counter. A process
computes the rows of its block, each up to the block's last column.

Reference: Salmon et al. (2011), Parallel random numbers: as easy as 1, 2, 3 (the Philox generator).
"""

from __future__ import annotations

from hashlib import sha256

import numpy as np


def white_noise(seed: int, name: str, member: int, block) -> np.ndarray:
    """Independent standard normal numbers on a block's cells, [ny, nx] float64; each name and member has its own."""
    key, columns = _key(seed, name, member), slice(block.x.start, block.x.stop)
    rows = range(block.y.start, block.y.stop)
    return np.stack([_stream(key, row).standard_normal(block.x.stop)[columns] for row in rows])


def normal_numbers(seed: int, name: str, member: int, shape: tuple[int, ...] = ()) -> np.ndarray:
    """Independent standard normal numbers of a `shape`, such as for coefficients; the same on all processes."""
    return _stream(_key(seed, name, member), 0).standard_normal(shape)


def _key(seed: int, name: str, member: int) -> np.ndarray:
    """128 bits, different for every seed, name and member."""
    return np.frombuffer(sha256(f"{seed} {member} {name}".encode()).digest()[:16], "<u8")


def _stream(key: np.ndarray, row: int) -> np.random.Generator:
    """The generator of a row; the counters of successive rows differ by 2^192."""
    return np.random.Generator(np.random.Philox(key=key, counter=(0, 0, 0, row)))
