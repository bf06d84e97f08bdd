"""The definitions of sweeps from the TOML files of benchmarks/, the rows of a sweep, and the published table."""

from __future__ import annotations

import math
import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import UsageError
from ..model.progress import describe_processes
from .text import format_count

#: Labels of the values of `writing` that are words; the others are numbers of steps between snapshots.
WRITING_LABELS: dict[str | int, str] = {"none": "no files", "ends": "first and last state"}


class BenchSweep(NamedTuple):
    """The definition of a sweep, full or quick, in which values from the command line have replaced others."""

    name: str
    title: str
    measure: str  # as in BenchRow, or scaling, whose rows measure model, ensemble and halo
    sizes: tuple[tuple[int, int], ...]  # (nx, ny)
    nproc: tuple[int, ...]
    rounds: int
    dtype: str = "float32"
    executors: tuple[str, ...] = ()  # empty: the fastest
    reference: bool = False  # whether the NumPy reference is measured too
    one_core: bool = False  # whether each executor also has a row with one process on one core
    cpu: bool = True  # whether rows run on CPUs
    gpu: bool = False  # whether rows run on GPUs
    weak: bool = False  # whether the grid grows with the number of blocks
    threads: int | None = None  # this and the following: as in BenchRow
    steps: int | None = None
    seconds: float = 60.0
    writing: tuple = ()
    transport: str = "mpi"
    devices: tuple[int, ...] = (1,)
    variants: tuple = ()  # {attribute of BenchRow: value} of each variant of each row; the reference has none


@cache
def read_toml(name: str) -> dict[str, Any]:
    """The contents of a TOML file in the folder benchmarks/ of a checkout or of an installed package."""
    folders = [Path(__file__).parents[level] / "benchmarks" for level in (2, 1)]
    return tomllib.loads(next(folder / name for folder in folders if (folder / name).is_file()).read_text())


def read_published_table() -> dict[str, Any]:
    """The published table: its source, machines, grid and steps, and under "row" a dict of each of its rows."""
    return read_toml("published.toml")


def read_sweep(name: str, quick: bool = False, **options) -> BenchSweep:
    """The sweep `name`; `options` replace its values, unless they are None or empty.

    On the sharded transport the numbers of processes of the definition become numbers of devices of one process.
    UsageError: transport and devices exclude each other, or the transport excludes the sweep.
    """
    values = dict(read_toml(f"sweeps/{name}.toml"))
    full_values, quick_values = values.pop("full"), values.pop("quick")
    values |= quick_values if quick else full_values
    options = {key: value for key, value in options.items() if value not in (None, ())}
    if options.get("transport") == "sharded":
        if name in ("halo", "ensemble", "scaling"):
            raise UsageError(f"{name}: cannot run on devices of one process; leave out --transport sharded")
        values |= {"devices": values["nproc"], "nproc": (1,)}
    elif "devices" in options:
        raise UsageError("--devices: several per process need the sharded transport; give --transport sharded")
    values |= options
    values |= {key: tuple(value) for key, value in values.items() if isinstance(value, list)}
    values["sizes"] = tuple(map(tuple, values["sizes"]))
    return BenchSweep(name, **values)


@dataclass(frozen=True)
class BenchRow:
    """A row of a sweep: what the processes of a worker measure; all values can be written as JSON."""

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
    fields: bool = False  # whether bathymetry, land and wind vary in both directions (`reference_check.FIELD_FORMULAS`)
    dry: float | None = None  # fraction of the cells that are land behind a beach (`reference_check.beach_formulas`)
    transport: str = "mpi"  # mpi (serial for one process) or sharded
    members: int | None = None  # members of an ensemble
    advance: str | None = None  # how its members advance: runs (one run after the other), map or vmap
    devices: int = 1  # devices of each process

    def __post_init__(self):
        object.__setattr__(self, "settings", tuple(self.settings))  # JSON has lists

    @property
    def n_blocks(self) -> int:
        return self.nproc * self.devices

    @property
    def physics_labels(self) -> list[str]:
        """The differences from the jet, in words."""
        labels = ["bathymetry", "land", "wind"] if self.fields else []
        labels += [] if self.dry is None else [f"{self.dry:.0%} dry"]
        for text in self.settings:
            key, _, value = text.partition("=")
            name = key.removesuffix(".active").rpartition(".")[2].replace("_", " ")
            choice = re.search(r'advection="(\w+)"', value)  # of tracers
            value = choice[1] if choice else value
            labels.append(f"{name} {value}" if value.isidentifier() and value != "true" else name)
        return labels

    @property
    def option_labels(self) -> list[str]:
        """Transport, gradient, precision, steps per sweep and physics, if they are not the defaults."""
        labels = ["sharded"] if self.transport == "sharded" else []
        labels += ["gradient"] if self.measure == "gradient" else []
        labels += [self.dtype] if self.dtype != "float32" else []
        labels += [f"{format_count(self.steps_per_sweep, 'step')} per sweep"] if self.steps_per_sweep else []
        return labels + self.physics_labels

    @property
    def library_name(self) -> str:
        return "scipy.fft" if (self.measure, self.executor) == ("fft", "reference") else self.executor

    @property
    def label(self) -> str:
        """The row in words; of the tracers in its settings only the advection scheme appears."""
        name = self.library_name + (" (GPU)" if self.platform == "gpu" else "")
        parts = [name, describe_processes(self.nproc, self.devices)]
        parts += [f"{format_count(self.threads, 'core')} each"] if self.threads else []
        parts += [f"{self.nx} x {self.ny}"]
        parts += [WRITING_LABELS.get(self.writing, f"every {self.writing} steps")] if self.writing is not None else []
        parts += [f"{format_count(self.members, 'member')} ({self.advance})"] if self.members else []
        return ", ".join(parts + self.option_labels)


def grow_grid(nx: int, ny: int, factor: int) -> tuple[int, int]:
    """A grid with `factor` times the cells; `factor` is split into two similar ones, the larger for the short axis."""
    smaller = max(divisor for divisor in range(1, math.isqrt(factor) + 1) if factor % divisor == 0)
    larger = factor // smaller
    return (nx * smaller, ny * larger) if ny <= nx else (nx * larger, ny * smaller)
