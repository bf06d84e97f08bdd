"""The definitions of sweeps, from the TOML files of benchmarks/, a row of a sweep, and the published table."""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import UsageError
from ..model.progress import workers
from .text import counted

#: The output of a run, in words; a number is the steps between snapshots.
WRITING = {"none": "no files", "ends": "first and last state"}


class Sweep(NamedTuple):
    """A definition with its values for full or quick, and those from the command line."""

    name: str
    title: str
    measure: str  # as in a Row
    sizes: tuple[tuple[int, int], ...]  # (nx, ny)
    nproc: tuple[int, ...]
    rounds: int
    dtype: str = "float32"
    executors: tuple[str, ...] = ()  # empty: the fastest
    reference: bool = False
    one_core: bool = False
    cpu: bool = True
    gpu: bool = False
    weak: bool = False
    threads: int | None = None  # this and the following: as in a Row
    steps: int | None = None
    seconds: float = 60.0
    writing: tuple = ()
    transport: str = "mpi"
    devices: tuple[int, ...] = (1,)
    variants: tuple = ()  # variants of each row except the reference: {attribute: value}


@cache
def read(name: str) -> dict[str, Any]:
    """The contents of a TOML file of the folder benchmarks/, in a checkout or in an installed package."""
    folders = [Path(__file__).parents[level] / "benchmarks" for level in (2, 1)]
    return tomllib.loads(next(folder / name for folder in folders if (folder / name).is_file()).read_text())


def published() -> dict[str, Any]:
    """The published table: source, size, and `row`, a list of platform, processes, seconds and speedup."""
    return read("published.toml")


def definition(name: str, quick: bool = False, **options) -> Sweep:
    """The sweep `name`; `options` replace its values, except None or empty ones.

    On the sharded transport its numbers of processes become numbers of devices in one process, unless given.
    """
    values = dict(read(f"sweeps/{name}.toml"))
    full, small = values.pop("full"), values.pop("quick")
    values |= small if quick else full
    options = {key: value for key, value in options.items() if value not in (None, ())}
    if options.get("transport") == "sharded":
        if name in ("halo", "ensemble", "scaling"):
            raise UsageError(f"{name}: has no rows on devices of one process; leave out --transport sharded")
        values |= {"devices": values["nproc"], "nproc": (1,)}
    elif "devices" in options:
        raise UsageError("--devices: only the sharded transport has several in a process; give --transport sharded")
    values |= options
    values["sizes"] = map(tuple, values["sizes"])
    return Sweep(name, **{key: tuple(v) if isinstance(v, list | map) else v for key, v in values.items()})


@dataclass(frozen=True)
class Row:
    """The task of a worker, in values for JSON."""

    measure: str  # model, gradient, halo, output, start, ensemble or fft
    executor: str  # executor of the configuration; for transforms the reference is scipy.fft
    nproc: int
    nx: int
    ny: int
    platform: str = "cpu"  # or gpu
    threads: int | None = None  # threads of each process; None: an equal share of all cores
    dtype: str = "float32"
    steps: int | None = None  # steps of a sample; None: as many as fill `seconds`
    seconds: float = 60.0  # longest time of a sample
    writing: str | int | None = None  # for `output`: none, ends, or the number of steps between snapshots
    oversubscribed: bool = False  # more threads than cores
    steps_per_sweep: int | None = None  # steps per sweep of the native step; None: the default
    settings: tuple[str, ...] = ()  # overrides of the configuration, such as "physics.linear_drag=1e-6"
    fields: bool = False  # whether bathymetry, land and wind vary in both directions (`answers.FIELDS`)
    dry: float | None = None  # part of the cells that is land behind a beach (`answers.coast`)
    transport: str = "mpi"  # (serial for one process) or sharded
    members: int | None = None  # members of an ensemble
    advance: str | None = None  # advance of its members: runs (one run after the other), map or vmap
    devices: int = 1  # devices of each process

    def __post_init__(self):
        object.__setattr__(self, "settings", tuple(self.settings))  # JSON has lists

    @property
    def blocks(self) -> int:
        """Blocks of the grid."""
        return self.nproc * self.devices

    @property
    def physics(self) -> list[str]:
        """The differences from the jet, in words."""
        words = ["bathymetry", "land", "wind"] if self.fields else []
        words += [] if self.dry is None else [f"{self.dry:.0%} dry"]
        for text in self.settings:
            key, _, value = text.partition("=")
            name = key.removesuffix(".active").rpartition(".")[2].replace("_", " ")
            words.append(f"{name} {value}" if value.isidentifier() and value != "true" else name)
        return words

    @property
    def marks(self) -> list[str]:
        """Transport, precision, steps in a sweep and physics, if not the defaults."""
        marks = ["sharded"] if self.transport == "sharded" else []
        marks += ["gradient"] if self.measure == "gradient" else []
        marks += [self.dtype] if self.dtype != "float32" else []
        marks += [f"{counted(self.steps_per_sweep, 'step')} a sweep"] if self.steps_per_sweep else []
        return marks + self.physics

    @property
    def name(self) -> str:
        """The name of the executor or library."""
        return "scipy.fft" if (self.measure, self.executor) == ("fft", "reference") else self.executor

    @property
    def label(self) -> str:
        """The row in words, unique in a sweep."""
        words = [self.name + (" (GPU)" if self.platform == "gpu" else ""), workers(self.nproc, self.devices)]
        words += [f"{counted(self.threads, 'core')} each"] if self.threads else []
        words += [f"{self.nx} x {self.ny}"]
        words += [WRITING.get(self.writing, f"every {self.writing} steps")] if self.writing is not None else []
        words += [f"{counted(self.members, 'member')} ({self.advance})"] if self.members else []
        return ", ".join(words + self.marks)


def grown(nx: int, ny: int, n: int) -> tuple[int, int]:
    """A grid of n times the cells, the shorter side multiplied by the larger of two factors near each other."""
    small = max(divisor for divisor in range(1, math.isqrt(n) + 1) if n % divisor == 0)
    return (nx * small, ny * n // small) if ny <= nx else (nx * n // small, ny * small)
