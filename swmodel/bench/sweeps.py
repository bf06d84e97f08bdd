"""What each sweep measures, and the published table: the TOML files of the folder benchmarks/."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import FilesError, UsageError

#: Measurements that the sharded transport does not have, and why.
NOT_SHARDED = {"halo": "measures the transport mpi", "ensemble": "members have the whole grid on one device"}


class Sweep(NamedTuple):
    """A definition with the values for its size (full or quick) and from the command line."""

    name: str
    title: str
    measure: str  # as of a Row
    sizes: tuple[tuple[int, int], ...]  # (nx, ny)
    nproc: tuple[int, ...]
    rounds: int
    dtype: str = "float32"
    executors: tuple[str, ...] = ()  # empty: the fastest
    reference: bool = False
    one_core: bool = False
    gpu: bool = False
    weak: bool = False
    threads: int | None = None  # this and what follows: as of a Row
    steps: int | None = None
    seconds: float = 60.0
    writing: tuple = ()
    transport: str = "mpi"
    devices: tuple[int, ...] = (1,)
    variants: tuple = ()  # of each row but the reference: {attribute: value}


@cache
def read(name: str) -> dict[str, Any]:
    """The contents of a TOML file of the folder benchmarks/, in a checkout or in an installed package."""
    for level in (2, 1):
        path = Path(__file__).parents[level] / "benchmarks" / name
        if path.is_file():
            return tomllib.loads(path.read_text())
    raise FilesError(f"benchmarks/{name} is missing from this installation")


def published() -> dict[str, Any]:
    """The published table: source, size, and `row`, a list of platform, processes, seconds and speedup."""
    return read("published.toml")


def definition(name: str, quick: bool = False, **options) -> Sweep:
    """The sweep called `name`; `options` replace its values, except where None or empty.

    On the sharded transport its numbers of processes are numbers of devices in one process, unless others are given.
    """
    values = dict(read(f"sweeps/{name}.toml"))
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
