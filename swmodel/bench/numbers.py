"""From the samples of a row to the numbers of the tables. Medians of samples; nothing is extrapolated."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

import numpy as np

from .results import entries, row_of
from .rows import Row
from .sweeps import published

#: How many numbers an AB2 step must move for each cell: h, u, v and their last tendencies, each read and written.
FLOATS_PER_CELL = 12
#: Steps of the published benchmark; times are for so many.
STEPS = 500
#: What rows have in common that are the same problem, and rows that differ only in processes, devices and cores.
PROBLEM = ("nx", "ny", "dtype", "settings", "fields")
FAMILY = ("executor", "transport", "platform", "measure", "writing", "steps_per_sweep", *PROBLEM[2:])


@dataclass(frozen=True, eq=False)
class Numbers:
    """The numbers that follow from a row's samples, those of other rows and the bandwidth; None without them.

    Attributes:
        entry: the row in its record.
        rows: the Numbers of all finished rows of the record, in their order.
    """

    row: Row
    entry: dict
    record: dict
    rows: list[Numbers]

    def samples(self, name: str) -> tuple[float, ...]:
        """The values of this name in the samples that have one."""
        return tuple(sample[name] for sample in self.entry["samples"] if sample.get(name) is not None)

    def find(self, executor: str, names: tuple[str, ...]) -> Numbers | None:
        """The first row of an executor that is equal to this one in these attributes."""
        return next((one for one in self.rows if one.row.executor == executor and self.same(one, names)), None)

    def same(self, other: Numbers, names: tuple[str, ...]) -> bool:
        """Whether two rows are equal in these attributes."""
        return all(getattr(self.row, name) == getattr(other.row, name) for name in names)

    @property
    def seconds(self) -> tuple[float, ...]:
        """Seconds of a step in each sample."""
        return tuple(s["seconds"] / s["steps"] for s in self.entry["samples"] if "seconds" in s)

    @property
    def step(self) -> float:
        """Median seconds of a step."""
        return median(self.seconds)

    @property
    def cores(self) -> int:
        """Cores that the row uses: one for NumPy's arithmetic, all for scipy.fft. For GPUs, their number."""
        row, there = self.row, self.record["machine"]["cores"]
        if row.executor == "reference":
            return there if row.measure == "fft" else 1
        if row.platform == "gpu":
            return row.blocks
        used = row.nproc * (row.threads or self.entry.get("launch", {}).get("threads_of_a_rank", 1))
        return min(used, there) if row.oversubscribed else used

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
    def share(self) -> float | None:
        """The effective bandwidth as a fraction of the measured one."""
        limit = bandwidth(self.record, self.row.platform, self.row.blocks)
        return limit and self.gigabytes_per_second / limit

    @property
    def speedup(self) -> float | None:
        """Speed-up over the reference in NumPy on the same problem."""
        reference = self.find("reference", PROBLEM)
        return reference and reference.step / self.step

    @property
    def efficiency(self) -> float | None:
        """Cell updates per second and core, divided by those of the row of the same family with the fewest cores.

        On one grid this is T(1) / (p T(p)); if the grid grows with the cores, T(1) / T(p).
        """
        names = FAMILY if self.record["definition"]["weak"] else (*FAMILY, "nx", "ny")
        family = [one for one in self.rows if self.same(one, names) and not one.row.oversubscribed]
        if self.row.oversubscribed or len(family) < 2:
            return None
        base = min(family, key=lambda one: (one.cores, one.row.blocks))
        return (self.rate / self.cores) / (base.rate / base.cores)

    @property
    def timed(self) -> int | None:
        """Steps that a sample timed, if fewer than the published number; else None."""
        steps = self.samples("steps")[0] if self.row.measure == "model" else STEPS
        return int(steps) if steps < STEPS else None

    @property
    def memory(self) -> float | None:
        """Most memory of a rank, bytes."""
        return max(self.samples("memory_bytes"), default=None)

    @property
    def start_parts(self) -> tuple[float, ...]:
        """Median seconds of the parts up to the first step's end: imports, MPI and fields, compilation, one step."""
        parts = [self.samples(f"{name}_seconds") for name in ("start", "build", "compile")]
        step = np.subtract(self.samples("first_step_seconds"), np.sum(parts, axis=0))
        return (*map(median, parts), max(0.0, median(step)))

    @property
    def published(self) -> dict | None:
        """The published row for this one: that of the reference, or of as many processes with all their cores.

        Only rows of the published problem, with its grid, precision and physics, have one.
        """
        there, row = published(), self.row
        problem = ("model", there["nx"], there["ny"], there["dtype"], [])
        if (row.measure, row.nx, row.ny, row.dtype, row.physics) != problem or row.threads:
            return None
        wanted = ("numpy", 1) if row.executor == "reference" else (row.platform, row.blocks)
        return next((one for one in there["row"] if (one["platform"], one["processes"]) == wanted), None)


def numbers(record: dict) -> list[Numbers]:
    """The numbers of all finished rows of a record."""
    found: list[Numbers] = []
    found += [Numbers(row_of(entry), entry, record, found) for entry in entries(record)]
    return found


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
