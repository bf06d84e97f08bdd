"""Write, shorten and continue a file of records through its journal, and check its contents at each moment."""

import os
from functools import cache
from pathlib import Path

import h5py
import numpy as np

from support.marks import night_params
from swmodel.config import load
from swmodel.files.integrity.examine import examine
from swmodel.files.output import DiagnosticsFile, OutputFile
from swmodel.model.resolve import resolve
from swmodel.ocean.diagnostics import DIAGNOSTICS
from swmodel.parallel.decomposition import block_of_rank
from swmodel.parallel.transport.serial import SerialTransport

NY, NX = 6, 8
#: Kinds of files, and the number of changes of the disk between two moments that are tried; at night it is 1.
TRIALS = [("diagnostics", 5), ("output", 12), *night_params(("diagnostics", 1))]

#: Steps of the records before and after each action of `write_through_states`: write three, drop one, write two more.
EXPECTED_RECORDS = ((), (0,), (0, 1), (0, 1, 2), (0, 1), (0, 1, 5), (0, 1, 5, 6))


@cache
def config():
    return resolve(load("jet", {"grid.nx": NX, "grid.ny": NY, "output.fields": ["h", "u"], "output.means": ["eta"]}))


def open_kind(kind, path, keep=None):
    make = OutputFile if kind == "output" else DiagnosticsFile
    return make(path, config(), SerialTransport(block_of_rank(0, (1, 1), NY, NX)), keep=keep)


def random_number(name, step):
    return float(np.random.default_rng([step, *name.encode()]).standard_normal())


def write(file, step):
    if isinstance(file, DiagnosticsFile):
        file.write(step, float(step), {name: random_number(name, step) for name in DIAGNOSTICS})
    else:
        fields = {name: random_field(name, step) for name in ("h", "u")}
        file.write(step, float(step), fields | {"eta_mean": random_field("eta_mean", step)})


def random_field(name, step):
    return np.random.default_rng([step, *name.encode()]).standard_normal((NY, NX)).astype(np.float32)


STEPS_OF_CONTENTS = {}  # {contents of a file: the steps in it}


def steps_in(path):
    """The steps of the records in a file; asserts that each record has the bits that were written."""
    contents = Path(path).read_bytes()
    if contents in STEPS_OF_CONTENTS:
        return STEPS_OF_CONTENTS[contents]
    with h5py.File(path, "r", locking=False) as file:
        steps = file["step"][:].tolist()
        assert file["time"][:].tolist() == [float(step) for step in steps]
        for name in {"h", "u", "eta_mean", *DIAGNOSTICS} & set(file):
            written = random_number if name in DIAGNOSTICS else random_field
            expected = np.array([written(name, step) for step in steps], file[name].dtype)
            assert file[name][...].tobytes() == expected.tobytes(), (name, steps)
        if "depth" in file and steps:
            assert (file["depth"][:] == config().physics.depth).all()
    assert examine(path)["damaged"] == []
    return STEPS_OF_CONTENTS.setdefault(contents, tuple(steps))


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
