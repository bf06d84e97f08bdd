"""Records of a run with random fields, written by ranks that are threads, as NetCDF or Zarr."""

import multiprocessing
import os

import numpy as np

from support.random_case import configuration, random_fields
from support.ranks import run_ranks
from swmodel.files.output import Diagnostics, Output
from swmodel.files.store.snapshots import OutputStore
from swmodel.model.resolve import resolve
from swmodel.ocean.diagnostics import QUANTITIES
from swmodel.parallel.decomposition import block
from swmodel.parallel.transport.serial import Serial
from swmodel.plotting.dataset import opened

NY, NX = 21, 26
CASE = random_fields(NY, NX, land=0.4)
#: The class of each file or store of records.
KINDS = {"output.nc": Output, "output.zarr": OutputStore, "diagnostics.nc": Diagnostics}

#: Processes that have imported the model already.
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["swmodel.files.store.snapshots", "swmodel.model.resolve", "zarr.codecs"])


def config_of(fields=CASE, **more):
    options = {"output__fields": ("h", "zeta"), "output__means": ("eta",), "run__dtype": "float32", "run__steps": 28}
    return resolve(configuration(NY, NX, fields, **(options | {"grid__periodic_y": False} | more)))


def whole(config, name, step):
    """The values [y, x] of a field at a step."""
    return np.random.default_rng([step, *name.encode()]).standard_normal((NY, NX)).astype(config.run.dtype)


def record(file, config, step):
    """Write the record of a step, means in all but the first, by this rank."""
    here = file.transport.block
    names = [*config.output.fields, *(f"{name}_mean" for name in config.output.means if step)]
    part = slice(here.y.start, here.y.stop), slice(here.x.start, here.x.stop)
    values = {name: whole(config, name, step)[part] for name in names}
    if isinstance(file, Diagnostics):
        values = {name: step / 3 + len(name) for name in QUANTITIES}
    file.write(step, 20.0 * step, values)


def write(path, config, steps, keep=None, layout=(1, 1)):
    """Write records of these steps into a new file or store, named as in KINDS, or after the records to keep."""

    def rank(transport):
        with KINDS[path.name](path, config, transport, command_line=f"swmodel {steps}", keep=keep) as file:
            for step in steps:
                record(file, config, step)

    return run_ranks(rank, layout, NY, NX)


def steps_in(path):
    """The steps of the records that a reader of a file or store sees; each is whole."""
    if path.is_dir() and not (path / "zarr.json").is_file():
        return []
    with opened(path) as data:
        steps = data["step"][:].tolist()
        for number, step in enumerate(steps):
            there, land = np.ma.getdata(data["zeta"][number]), np.ma.getmaskarray(data["zeta"][number])
            np.testing.assert_array_equal(np.where(land, 0, there), np.where(land, 0, whole(config_of(), "zeta", step)))
        assert data["time"][:].tolist() == [20.0 * step for step in steps]
    return steps


def write_on(path, kept, layout, begun):
    """Write records into a store, after those that are kept if there are any, until the process is killed."""

    def rank(transport):
        keep = (lambda step: step < kept) if (path / "zarr.json").exists() else None
        transport.exchange(None)
        with OutputStore(path, config_of(), transport, keep=keep) as file:
            for step in range(kept, 10**6):
                record(file, config_of(), step)
                begun.set()

    run_ranks(rank, layout, NY, NX)


def write_and_die(path, written, read):
    """Write three records, wait until they have been read, and be killed within the fourth."""
    output = KINDS[path.name](path, config_of(), Serial(block(0, (1, 1), NY, NX)))
    for step in range(3):
        record(output, config_of(), step)
    output.put(lambda file: (written.set(), read.wait(60)))
    output.put(lambda records: records.file["h"].resize(4, axis=0))
    output.put(lambda records: records.file["h"].__setitem__(3, 3.0))
    output.put(lambda file: os.kill(os.getpid(), 9))
    output._queue.finish()
