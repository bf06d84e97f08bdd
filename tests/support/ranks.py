"""Several ranks as threads of one process: messages between ranks without MPI."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np

from swmodel.parallel.decomposition import blocks
from swmodel.parallel.transport.serial import OneDevice

OPERATIONS = {"sum": np.sum, "max": np.max, "min": np.min}


class Thread(OneDevice):
    """The transport of one rank among several threads, for use outside jitted programs."""

    def __init__(self, block, everyone, barrier, board):
        self.block, self.everyone, self.barrier, self.board = block, everyone, barrier, board
        self.rank, self.size, self.name = block.rank, len(everyone), "threads"

    def exchange(self, value):
        """The values of all ranks, in their order."""
        self.board[self.rank] = value
        self.barrier.wait(60)
        values = list(self.board)
        self.barrier.wait(60)
        return values

    def reduce(self, values, operation):
        return OPERATIONS[operation](np.stack(self.exchange(np.asarray(values))), axis=0)

    def broadcast(self, value):
        return self.exchange(value)[0]

    def allgather(self, value):
        return self.exchange(value)

    def gather_rows(self, local, first, last, member=0):
        pieces = self.exchange(local)
        if self.rank:
            return None
        whole = np.empty((self.block.y.size, self.block.x.size), local.dtype)
        for block, piece in zip(self.everyone, pieces, strict=True):
            if member in block.members:
                whole[block.y.start : block.y.stop, block.x.start : block.x.stop] = piece
        return whole[first:last]


def run_ranks(function, layout, ny, nx, **ensemble):
    """[function(transport) of every rank], computed by all ranks at once."""
    everyone = blocks(layout, ny, nx, **ensemble)
    barrier, board = Barrier(len(everyone)), [None] * len(everyone)
    transports = [Thread(block, everyone, barrier, board) for block in everyone]
    with ThreadPoolExecutor(len(everyone)) as pool:
        futures = [pool.submit(function, transport) for transport in transports]
        return [future.result() for future in futures]
