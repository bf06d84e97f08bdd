"""The definitions of the sweeps and the published table: TOML files of the folder benchmarks/."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from ..config.errors import suggest
from ..errors import FilesError, UsageError

#: The folders of the files: in a checkout, and in an installed package.
FOLDERS = (Path(__file__).parents[2] / "benchmarks", Path(__file__).parents[1] / "benchmarks")

#: The sweeps, in the order in which they are listed.
NAMES = ("table", "strong", "weak", "sizes", "halo", "output", "start", "native", "schemes", "ensemble", "fft")


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


def published_row(platform: str, processes: int) -> dict | None:
    """The published numbers of `platform` (numpy, cpu or gpu) on so many processes; None if there are none."""
    rows = published()["row"]
    return next((row for row in rows if (row["platform"], row["processes"]) == (platform, processes)), None)


def definition(name: str, quick: bool = False, **chosen) -> Sweep:
    """The sweep called `name`; `chosen` replaces its values, except where None or empty.

    On the sharded transport its numbers are numbers of devices in one process, unless others are chosen.

    Raises:
        UsageError: there is no sweep of this name, or it has no such rows.
    """
    if name not in NAMES:
        raise UsageError(f"{name}: there is no such sweep; {suggest(name, NAMES)}")
    values = tomllib.loads((folder() / "sweeps" / f"{name}.toml").read_text())
    full, small = values.pop("full"), values.pop("quick")
    values |= small if quick else full
    chosen = {key: value for key, value in chosen.items() if value not in (None, ())}
    if chosen.get("transport") == "sharded":
        refused = {"halo": "measures the transport mpi", "ensemble": "members have the whole grid on one device"}
        if values["measure"] in refused:
            raise UsageError(f"{name}: {refused[values['measure']]}; leave out --transport sharded")
        values |= {"devices": values["nproc"], "nproc": (1,)}
    elif "devices" in chosen:
        raise UsageError("--devices: only the sharded transport has several in a process; give --transport sharded")
    values |= chosen
    values["sizes"] = tuple(tuple(size) for size in values["sizes"])
    lists = ("nproc", "devices", "executors", "writing", "variants")
    values |= {key: tuple(values[key]) for key in lists if key in values}
    return Sweep(name=name, **values)
