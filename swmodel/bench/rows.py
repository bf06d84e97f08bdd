"""A row of a sweep: one thing measured, on one grid, by one executor, on so many processes."""

from __future__ import annotations

from dataclasses import dataclass

from ..model.progress import workers
from .text import counted

#: What a run writes, in words; a number is the steps between snapshots.
WRITING = {"none": "no files", "ends": "first and last state"}


@dataclass(frozen=True)
class Row:
    """What a worker measures. All values are plain, so that a row can be passed on as JSON."""

    measure: str  # model, halo, output, start, ensemble or fft
    executor: str  # that of the configuration; for transforms the reference is scipy.fft
    nproc: int
    nx: int
    ny: int
    platform: str = "cpu"  # or gpu
    threads: int | None = None  # of each process; None: all cores for one, its share for one of several
    dtype: str = "float32"
    steps: int | None = None  # of a sample; None: as many as fill `seconds`
    seconds: float = 60.0  # longest time of a sample
    writing: str | int | None = None  # for `output`: none, ends, or the number of steps between snapshots
    oversubscribed: bool = False  # more threads than cores
    steps_per_sweep: int | None = None  # of the native step; None: as many as in a run
    settings: tuple[str, ...] = ()  # of the configuration, such as "physics.linear_drag=1e-6"
    fields: bool = False  # whether bathymetry, land and wind vary in both directions (`answers.FIELDS`)
    transport: str = "mpi"  # (serial for one process) or sharded
    members: int | None = None  # of an ensemble
    advance: str | None = None  # of its members: runs (one run after the other), map or vmap
    devices: int = 1  # of each process

    def __post_init__(self):
        object.__setattr__(self, "settings", tuple(self.settings))  # a list, if the row comes from JSON

    @property
    def blocks(self) -> int:
        """Blocks of the grid."""
        return self.nproc * self.devices

    @property
    def physics(self) -> list[str]:
        """The differences from the jet, in words."""
        words = ["bathymetry", "land", "wind"] if self.fields else []
        for text in self.settings:
            key, _, value = text.partition("=")
            name = key.rpartition(".")[2].replace("_", " ")
            words.append(f"{name} {value}" if value.isidentifier() else name)
        return words

    @property
    def marks(self) -> list[str]:
        """Transport, precision, steps in a sweep and physics, if they are not the usual ones."""
        marks = ["sharded"] if self.transport == "sharded" else []
        marks += [self.dtype] if self.dtype != "float32" else []
        marks += [f"{counted(self.steps_per_sweep, 'step')} a sweep"] if self.steps_per_sweep else []
        return marks + self.physics

    @property
    def name(self) -> str:
        """What computes."""
        return "scipy.fft" if (self.measure, self.executor) == ("fft", "reference") else self.executor

    @property
    def label(self) -> str:
        """The row in words, no two of a sweep alike."""
        words = [self.name + (" (GPU)" if self.platform == "gpu" else ""), workers(self.nproc, self.devices)]
        words += [f"{counted(self.threads, 'core')} each"] if self.threads else []
        words += [f"{self.nx} x {self.ny}"]
        words += [WRITING.get(self.writing, f"every {self.writing} steps")] if self.writing is not None else []
        words += [f"{counted(self.members, 'member')} ({self.advance})"] if self.members else []
        return ", ".join(words + self.marks)
