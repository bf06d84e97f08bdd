"""A row of a sweep: one thing measured, on one grid, by one executor, on so many processes."""

from __future__ import annotations

from dataclasses import dataclass

from ..model.progress import workers
from .text import counted

#: What a run writes, in words; a number is the steps between snapshots.
WRITING = {"none": "no files", "ends": "first and last state"}


@dataclass(frozen=True)
class Row:
    """What a worker measures. All values are plain, so that a row can be passed on as JSON.

    Attributes:
        measure: model, halo, output, start, ensemble or fft.
        executor: that of the configuration; for transforms the reference is scipy.fft.
        platform: cpu or gpu.
        transport, devices: mpi (serial for one process), or sharded with so many devices of each process.
        nproc, threads: processes, and threads of each (None: all cores for one process, its share for one of several).
        nx, ny, dtype: the jet's grid and precision.
        steps: steps of a sample; None: as many as fill `seconds`, the longest time of a sample.
        writing: for `output`: none, ends, or the number of steps between snapshots.
        oversubscribed: whether there are more threads than cores.
        steps_per_sweep: steps in a sweep of the native step; None: as many as in a run.
        settings: settings of the configuration, such as "physics.linear_drag=1e-6".
        fields: whether bathymetry, land and wind vary in both directions (`answers.FIELDS`).
        members, advance, devices: those of an ensemble: its members; runs (one run after the other), map or vmap;
            devices of one process.
    """

    measure: str
    executor: str
    nproc: int
    nx: int
    ny: int
    platform: str = "cpu"
    threads: int | None = None
    dtype: str = "float32"
    steps: int | None = None
    seconds: float = 60.0
    writing: str | int | None = None
    oversubscribed: bool = False
    steps_per_sweep: int | None = None
    settings: tuple[str, ...] = ()
    fields: bool = False
    transport: str = "mpi"
    members: int | None = None
    advance: str | None = None
    devices: int = 1

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
