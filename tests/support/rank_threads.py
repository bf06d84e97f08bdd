"""Ranks that are threads of one process, and exchange messages without MPI."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np

from swmodel.parallel.decomposition import blocks_of_layout
from swmodel.parallel.transport.serial import SingleDeviceTransport

OPERATIONS = {"sum": np.sum, "max": np.max, "min": np.min}


class ThreadTransport(SingleDeviceTransport):
    """The transport of one rank among several threads, for use outside jitted programs."""

    def __init__(self, block, all_blocks, barrier, shared_values):
        self.block, self.all_blocks, self.barrier, self.shared_values = block, all_blocks, barrier, shared_values
        self.rank, self.size, self.name = block.rank, len(all_blocks), "threads"

    def exchange(self, value):
        """The values of all ranks, in their order."""
        self.shared_values[self.rank] = value
        self.barrier.wait(60)
        values = list(self.shared_values)
        self.barrier.wait(60)
        return values

    def reduce(self, values, operation):
        return OPERATIONS[operation](np.stack(self.exchange(np.asarray(values))), axis=0)

    def broadcast(self, value):
        return self.exchange(value)[0]

    def allgather(self, value):
        return self.exchange(value)

    def gather_rows(self, local, first, stop, member=0):
        parts = self.exchange(local)
        if self.rank:
            return None
        whole = np.empty((self.block.y.axis_size, self.block.x.axis_size), local.dtype)
        for block, part in zip(self.all_blocks, parts, strict=True):
            if member in block.members:
                whole[block.y.start : block.y.stop, block.x.start : block.x.stop] = part
        return whole[first:stop]


def run_rank_threads(function, layout, ny, nx, **ensemble):
    """[function(transport) of each rank], computed by all ranks at the same time."""
    all_blocks = blocks_of_layout(layout, ny, nx, **ensemble)
    barrier, shared_values = Barrier(len(all_blocks)), [None] * len(all_blocks)
    transports = [ThreadTransport(block, all_blocks, barrier, shared_values) for block in all_blocks]
    with ThreadPoolExecutor(len(all_blocks)) as pool:
        return list(pool.map(function, transports))
