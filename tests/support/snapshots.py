"""Write records of random fields as NetCDF or Zarr, on ranks that are threads."""

import multiprocessing

import numpy as np

from support.random_case import configuration, random_fields
from support.rank_threads import run_rank_threads
from swmodel.files.output import DiagnosticsFile, OutputFile
from swmodel.files.store.snapshots import OutputStore
from swmodel.model.resolve import resolve
from swmodel.ocean.diagnostics import DIAGNOSTICS
from swmodel.plotting.dataset import open_netcdf_or_zarr

NY, NX = 21, 26
RANDOM_FIELDS = random_fields(NY, NX, land=0.4)
#: The class that writes each file or store of records.
CLASS_OF_FILE = {"output.nc": OutputFile, "output.zarr": OutputStore, "diagnostics.nc": DiagnosticsFile}
#: A context whose new processes have already imported the model.
FORKSERVER = multiprocessing.get_context("forkserver")
FORKSERVER.set_forkserver_preload(["swmodel.files.store.snapshots", "swmodel.model.resolve", "zarr.codecs"])


def make_config(fields=RANDOM_FIELDS, **overrides):
    options = {"output__fields": ("h", "zeta"), "output__means": ("eta",), "run__dtype": "float32", "run__steps": 28}
    return resolve(configuration(NY, NX, fields, **(options | {"grid__periodic_y": False} | overrides)))


CONFIG = make_config()


def random_field(config, name, step):
    return np.random.default_rng([step, *name.encode()]).standard_normal((NY, NX)).astype(config.run.dtype)


def write_record(file, config, step):
    """Write this rank's part of the record of a step, with means except at step 0."""
    block = file.transport.block
    names = [*config.output.fields, *(f"{name}_mean" for name in config.output.means if step)]
    part = slice(block.y.start, block.y.stop), slice(block.x.start, block.x.stop)
    values = {name: random_field(config, name, step)[part] for name in names}
    if isinstance(file, DiagnosticsFile):
        values = {name: step / 3 + len(name) for name in DIAGNOSTICS}
    file.write(step, 20.0 * step, values)


def write_records(path, config, steps, keep=None, layout=(1, 1)):
    """Write records of these steps into a new file or store, or after its records for which keep(step) is true."""

    def write_on_rank(transport):
        with CLASS_OF_FILE[path.name](path, config, transport, command_line=f"swmodel {steps}", keep=keep) as file:
            for step in steps:
                write_record(file, config, step)

    return run_rank_threads(write_on_rank, layout, NY, NX)


def steps_in(path):
    """The steps of the records that a reader of a file or store sees; asserts that each record is complete."""
    if path.is_dir() and not (path / "zarr.json").is_file():
        return []
    with open_netcdf_or_zarr(path) as data:
        steps = data["step"][:].tolist()
        for number, step in enumerate(steps):
            for name in {"h", "zeta", *DIAGNOSTICS} & {*data.variables}:
                expected = step / 3 + len(name) if name in DIAGNOSTICS else random_field(CONFIG, name, step)
                assert np.ma.allequal(data[name][number], expected), (name, step)
            assert "h" not in data.variables or data["h"][number].count() == RANDOM_FIELDS["mask"].sum()
        assert data["time"][:].tolist() == [20.0 * step for step in steps]
    return steps


def write_until_killed(path, first_step, layout, started):
    """Write records from `first_step` on into a store until the process is killed; the first one sets `started`."""

    def write_on_rank(transport):
        keep = (lambda step: step < first_step) if (path / "zarr.json").exists() else None
        transport.exchange(None)
        with OutputStore(path, CONFIG, transport, keep=keep) as file:
            for step in range(first_step, 10**6):
                write_record(file, CONFIG, step)
                started.set()

    run_rank_threads(write_on_rank, layout, NY, NX)
