"""What each sweep measures, and the published table: the TOML files of the folder benchmarks/."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import FilesError, UsageError

#: The folders of the files: in a checkout, and in an installed package.
FOLDERS = (Path(__file__).parents[2] / "benchmarks", Path(__file__).parents[1] / "benchmarks")
#: Measurements that the sharded transport does not have, and why.
NOT_SHARDED = {"halo": "measures the transport mpi", "ensemble": "members have the whole grid on one device"}


class Sweep(NamedTuple):
    """A definition with the values for its size (full or quick) and from the command line."""

    name: str
    title: str
    measure: str  # model, halo, output, start, ensemble or fft: what a worker does for a row
    sizes: tuple[tuple[int, int], ...]  # (nx, ny)
    nproc: tuple[int, ...]
    rounds: int
    dtype: str = "float32"
    executors: tuple[str, ...] = ()  # empty: the fastest
    reference: bool = False
    one_core: bool = False
    gpu: bool = False
    weak: bool = False
    threads: int | None = None  # of each rank; None: the cores, shared
    steps: int | None = None  # of a sample; None: as many as fill `seconds`
    seconds: float = 60.0  # longest sample
    writing: tuple = ()
    transport: str = "mpi"  # or sharded
    devices: tuple[int, ...] = (1,)  # of each process, for the sharded transport
    variants: tuple = ()  # of each row but the reference: {attribute: value} of a Row


def folder() -> Path:
    """The folder of the definitions.

    Raises:
        FilesError: the installation lacks it.
    """
    for path in FOLDERS:
        if (path / "published.toml").is_file():
            return path
    raise FilesError("the benchmark definitions are missing from this installation (folder benchmarks)")


@cache
def published() -> dict[str, Any]:
    """The published table: source, size, and `row`, a list of platform, processes, seconds and speedup."""
    return tomllib.loads((folder() / "published.toml").read_text())


def definition(name: str, quick: bool = False, **options) -> Sweep:
    """The sweep called `name`; `options` replace its values, except where None or empty.

    On the sharded transport its numbers of processes are numbers of devices in one process, unless others are given.

    Raises:
        UsageError: the sweep has no such rows.
    """
    values = tomllib.loads((folder() / "sweeps" / f"{name}.toml").read_text())
    full, small = values.pop("full"), values.pop("quick")
    values |= small if quick else full
    options = {key: value for key, value in options.items() if value not in (None, ())}
    if options.get("transport") == "sharded":
        if reason := NOT_SHARDED.get(values["measure"]):
            raise UsageError(f"{name}: {reason}; leave out --transport sharded")
        values |= {"devices": values["nproc"], "nproc": (1,)}
    elif "devices" in options:
        raise UsageError("--devices: only the sharded transport has several in a process; give --transport sharded")
    values |= options
    values["sizes"] = map(tuple, values["sizes"])
    return Sweep(name, **{key: tuple(v) if isinstance(v, list | map) else v for key, v in values.items()})
