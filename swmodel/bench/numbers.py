"""From samples to the numbers of the tables. Medians of samples; nothing is extrapolated."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

import numpy as np

from .results import entries, row_of
from .rows import Row
from .sweeps import published, published_row

#: How many numbers an AB2 step must move for each cell: h, u, v and their last tendencies, each read and written.
FLOATS_PER_CELL = 12
#: Steps of the published benchmark; times are for so many.
STEPS = 500


@dataclass(frozen=True)
class Numbers:
    """The numbers from a row's samples. None if a row has no such number.

    Attributes:
        seconds: seconds of a step in each sample.
        first_step: seconds from the start of the program to the end of the first step in each sample.
        cores: number of cores on which the row computes.
        speedup: speed-up over the reference in NumPy on the same grid.
        efficiency: cell updates per second and core, divided by those of the row with the fewest cores.
        share: bandwidth of the numbers that a step must move, as a fraction of the measured bandwidth.
    """

    row: Row
    entry: dict
    seconds: tuple[float, ...]
    first_step: tuple[float, ...]
    cores: int
    speedup: float | None = None
    efficiency: float | None = None
    share: float | None = None

    @property
    def step(self) -> float:
        """Median seconds of a step."""
        return median(self.seconds)

    @property
    def spread(self) -> float | None:
        """Spread of the seconds of a step."""
        return spread(self.seconds)

    @property
    def rate(self) -> float:
        """Cell updates per second."""
        return self.row.nx * self.row.ny / self.step

    @property
    def gigabytes_per_second(self) -> float:
        """Effective bandwidth: the bytes that a step must move, divided by its time."""
        moved = self.entry["samples"][0].get("bytes_per_cell") or bytes_per_cell(self.row.dtype)
        return self.rate * moved / 1e9

    @property
    def scaled(self) -> int | None:
        """Steps that a sample timed, if fewer than the published number; else None."""
        timed = self.entry["samples"][0].get("steps") if self.row.measure == "model" else None
        return timed if timed and timed < STEPS else None

    @property
    def memory(self) -> float | None:
        """Most memory of a rank, bytes."""
        return max((sample.get("memory_bytes") or 0 for sample in self.entry["samples"]), default=0) or None

    @property
    def start_parts(self) -> tuple[float, ...]:
        """Median seconds of the parts up to the first step's end: imports, MPI and fields, compilation, one step."""
        samples = self.entry["samples"]
        parts = [[sample[f"{name}_seconds"] for name in ("start", "build", "compile")] for sample in samples]
        steps = [sample["first_step_seconds"] - sum(part) for sample, part in zip(samples, parts, strict=True)]
        return (*map(median, zip(*parts, strict=True)), max(0.0, median(steps)))

    @property
    def published(self) -> dict | None:
        """The published row for this one: that of the reference, or of as many processes with all their cores.

        Only rows of the published problem, with its grid, precision and physics, have one.
        """
        there = published()
        problem = ("model", there["nx"], there["ny"], there["dtype"])
        if (self.row.measure, self.row.nx, self.row.ny, self.row.dtype) != problem or self.row.physics:
            return None
        if self.row.executor == "reference":
            return published_row("numpy", 1)
        return None if self.row.threads else published_row(self.row.platform, self.row.blocks)


def spread(samples: tuple[float, ...]) -> float | None:
    """Largest minus smallest sample, divided by the median; None for a single sample."""
    return (max(samples) - min(samples)) / median(samples) if len(samples) > 1 else None


def bytes_per_cell(dtype: str) -> int:
    """Bytes that an AB2 step must move for each cell: 48 in single precision."""
    return FLOATS_PER_CELL * np.dtype(dtype).itemsize


def bandwidth(record: dict, platform: str = "cpu", devices: int = 1) -> float | None:
    """The best measured bandwidth, GB/s: of all cores, or of so many GPUs, assumed to be alike."""
    if platform == "gpu":
        measured = record.get("gpu_bandwidth")
        return measured and devices * measured["gigabytes_per_second"]
    return max((one["gigabytes_per_second"] for one in record["bandwidth"]), default=None)


def cores_of(entry: dict, row: Row, machine_cores: int) -> int:
    """Cores on which a row computes: NumPy's arithmetic uses one thread, scipy.fft all. For GPUs, their number."""
    if row.executor == "reference":
        return machine_cores if row.measure == "fft" else 1
    if row.platform == "gpu":
        return row.blocks
    threads = row.threads or entry.get("launch", {}).get("threads_of_a_rank", 1)
    return min(row.nproc * threads, machine_cores) if row.oversubscribed else row.nproc * threads


def numbers(record: dict) -> list[Numbers]:
    """The numbers of all finished rows of a record."""
    found = [basic(entry, record) for entry in entries(record)]
    return [compared(one, found, record) for one in found]


def basic(entry: dict, record: dict) -> Numbers:
    """The numbers that follow from a row's own samples."""
    row, samples = row_of(entry), entry["samples"]
    return Numbers(
        row=row,
        entry=entry,
        seconds=tuple(sample["seconds"] / sample["steps"] for sample in samples if "seconds" in sample),
        first_step=tuple(sample["first_step_seconds"] for sample in samples if sample.get("first_step_seconds")),
        cores=cores_of(entry, row, record["machine"]["cores"]),
    )


def compared(one: Numbers, found: list[Numbers], record: dict) -> Numbers:
    """The numbers, completed by those that need other rows and the bandwidth."""
    if not one.seconds or one.row.measure != "model":
        return one
    reference = next((other for other in found if other.row.executor == "reference" and same_problem(one, other)), None)
    limit = bandwidth(record, one.row.platform, one.row.blocks)
    return Numbers(
        one.row,
        one.entry,
        one.seconds,
        one.first_step,
        one.cores,
        speedup=reference and reference.step / one.step,
        efficiency=None if one.row.oversubscribed else efficiency(one, found, record["definition"]["weak"]),
        share=limit and one.gigabytes_per_second / limit,
    )


def efficiency(one: Numbers, found: list[Numbers], weak: bool) -> float | None:
    """Cell updates per second and core, divided by those of the same executor on the fewest cores; None without others.

    On one grid this is T(1) / (p T(p)); if the grid grows with the cores, T(1) / T(p).
    """
    family = [other for other in found if comparable(one, other) and (weak or same_problem(one, other))]
    base = min(family, key=lambda other: (other.cores, other.row.blocks))
    return (one.rate / one.cores) / (base.rate / base.cores) if len(family) > 1 else None


def comparable(one: Numbers, other: Numbers) -> bool:
    """Whether two rows differ only in processes, devices and cores."""
    names = (
        "executor",
        "transport",
        "platform",
        "dtype",
        "measure",
        "writing",
        "steps_per_sweep",
        "settings",
        "fields",
    )
    same = all(getattr(one.row, name) == getattr(other.row, name) for name in names)
    return same and bool(other.seconds) and not other.row.oversubscribed


def same_problem(one: Numbers, other: Numbers) -> bool:
    """Whether two rows have the same grid, precision and physics."""
    names = ("nx", "ny", "dtype", "settings", "fields")
    return all(getattr(one.row, name) == getattr(other.row, name) for name in names)
