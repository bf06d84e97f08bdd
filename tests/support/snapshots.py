"""Records of a run with random fields, written by ranks that are threads, as NetCDF or Zarr."""

import numpy as np

from support.random_case import configuration, random_fields
from support.ranks import run_ranks
from swmodel.files.store.data import StoreData
from swmodel.model.resolve import resolve

NY, NX = 21, 26
CASE = random_fields(NY, NX, land=0.4)


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
    file.write(step, 20.0 * step, {name: whole(config, name, step)[part] for name in names})


def write(path, kind, config, steps, keep=None, layout=(1, 1)):
    """Write records of these steps into a new file or store, or behind the records to keep."""

    def rank(transport):
        with kind(path, config, transport, command_line=f"swmodel {steps}", keep=keep) as file:
            for step in steps:
                record(file, config, step)

    return run_ranks(rank, layout, NY, NX)


def everything(path):
    """All values and attributes of a store, except the history and its checksum."""
    with StoreData(path) as data:
        found = {name: np.ma.getdata(each[...]).tobytes() for name, each in data.variables.items()}
        found |= {(name, "about"): (each.shape, each._attributes) for name, each in data.variables.items()}
        return found | {
            ("", key): data.getncattr(key) for key in data.ncattrs() if key not in ("history", "header_crc32")
        }
