"""Write, shorten and continue a file of records through its journal, and check its contents at each moment."""

import os
from pathlib import Path

from support.marks import night_params
from support.snapshots import CLASS_OF_FILE, CONFIG, NX, NY, steps_in, write_record
from swmodel.files.integrity.examine import examine
from swmodel.parallel.decomposition import block_of_rank
from swmodel.parallel.transport.serial import SerialTransport

#: Kinds of files, and the number of changes of the disk between two moments that are tried; at night it is 1.
TRIALS = [("diagnostics", 5), ("output", 12), *night_params(("diagnostics", 1))]
#: Steps of the records before and after each action of `write_through_states`: write three, drop one, write two more.
EXPECTED_RECORDS = ((), (0,), (0, 1), (0, 1, 2), (0, 1), (0, 1, 5), (0, 1, 5, 6))


def open_kind(kind, path, keep=None):
    transport = SerialTransport(block_of_rank(0, (1, 1), NY, NX))
    return CLASS_OF_FILE[f"{kind}.nc"](path, CONFIG, transport, keep=keep)


def write(file, step):
    write_record(file, CONFIG, step)


STEPS_OF_CONTENTS = {}  # {contents of a file: the steps in it}


def steps_in_intact(path):
    """The steps of the records in a file, which has no damage and the values that were written."""
    contents = Path(path).read_bytes()
    if contents not in STEPS_OF_CONTENTS:
        assert examine(path)["damaged"] == []
        STEPS_OF_CONTENTS[contents] = tuple(steps_in(path))
    return STEPS_OF_CONTENTS[contents]


def write_through_states(kind, path, callback):
    """Take a file through EXPECTED_RECORDS; call `callback(index)` before the first action and after each."""
    callback(0)
    with open_kind(kind, path) as file:
        file.flush()
        for step in range(3):
            write(file, step)
            file.flush()
            callback(step + 1)
    with open_kind(kind, path, keep=lambda step: step < 2) as file:
        callback(4)
        for step in (5, 6):
            write(file, step)
            file.flush()
            callback(step)


class InterceptedOs:
    """Replaces the module os in the journal; calls `before` ahead of each call that changes the disk.

    It skips syncs, because readers see what was written without them.
    """

    SYNCS = ("fdatasync", "fsync")
    CHANGES = ("pwrite", "ftruncate", "posix_fallocate", *SYNCS)

    def __init__(self, before):
        self.before = before

    def __getattr__(self, name):
        real = getattr(os, name)
        if name not in self.CHANGES:
            return real

        def call(*arguments):
            if name == "pwrite":
                descriptor, data, place = arguments
                self.before(name, lambda part: real(descriptor, memoryview(data)[: int(part * len(data))], place))
            else:
                self.before(name, lambda part: None)
            return None if name in self.SYNCS else real(*arguments)

        return call
