"""From the samples of a row to the numbers of the tables. Medians of samples; nothing is extrapolated."""

from __future__ import annotations

import math
from statistics import median

import numpy as np

from .results import entries, row_of
from .sweeps import published

#: How many numbers an AB2 step must move for each cell: h, u, v and their last tendencies, each read and written.
FLOATS_PER_CELL = 12
#: Steps of the published benchmark; times are for so many.
STEPS = 500
#: What rows have in common that are the same problem, and rows that differ only in grid, processes and cores.
PROBLEM = ("nx", "ny", "dtype", "settings", "fields")
FAMILY = ("executor", "transport", "platform", "measure", "writing", "steps_per_sweep", *PROBLEM[2:])
NO_TRAFFIC = {"messages": math.nan, "bytes": math.nan}


class Numbers:
    """The numbers that follow from the samples of a finished row; NaN where there is none.

    Attributes:
        seconds, step: seconds of a step in each sample, and their median.
        first_step: seconds from the start of the processes to the end of the first step in each sample.
        timed: steps that a sample timed.
        cores: cores that the row uses: one for NumPy's arithmetic, all for scipy.fft; for GPUs, their number.
        rate: cell updates per second.
        gigabytes_per_second: effective bandwidth, of the bytes that a step must move.
        share: that as a fraction of the measured bandwidth.
        memory: most memory of a rank, bytes.
        traffic: messages and bytes that a rank sends in a step; of transforms also by a `model`.
        rows: the numbers of all finished rows of the record.
    """

    def __init__(self, entry: dict, record: dict, rows: list[Numbers]):
        self.row, self.record, self.rows = row_of(entry), record, rows
        self.entry, samples = entry, entry["samples"]
        self.seconds = tuple(sample["seconds"] / sample["steps"] for sample in samples if "seconds" in sample)
        self.step = median(self.seconds) if self.seconds else math.nan
        self.first_step = self.samples("first_step_seconds")
        self.timed = samples[0].get("steps", 0)
        self.cores = self.count_cores(record["machine"]["cores"])
        self.rate = self.row.nx * self.row.ny / self.step
        moved = samples[0].get("bytes_per_cell") or bytes_per_cell(self.row.dtype)
        self.gigabytes_per_second = self.rate * moved / 1e9
        self.share = self.gigabytes_per_second / bandwidth(record, self.row.platform, self.row.blocks)
        self.memory = max(self.samples("memory_bytes"), default=0) or math.nan
        self.traffic = {**NO_TRAFFIC, "model": NO_TRAFFIC} | (entry.get("traffic") or {})

    def samples(self, name: str) -> tuple[float, ...]:
        """The values of this name in the samples that have one."""
        return tuple(sample[name] for sample in self.entry["samples"] if sample.get(name) is not None)

    def count_cores(self, there: int) -> int:
        """The cores of the row on a machine with so many."""
        row = self.row
        if row.executor == "reference":
            return there if row.measure == "fft" else 1
        if row.platform == "gpu":
            return row.blocks
        used = row.nproc * (row.threads or self.entry.get("launch", {}).get("threads_of_a_rank", 1))
        return min(used, there) if row.oversubscribed else used

    def alike(self, names: tuple[str, ...], **values) -> list[Numbers]:
        """The rows equal to this one in the attributes called `names`, with these values of others."""
        wanted = {name: getattr(self.row, name) for name in names} | values
        return [one for one in self.rows if all(getattr(one.row, name) == wanted[name] for name in wanted)]

    @property
    def speedup(self) -> float:
        """Speed-up over the reference (NumPy, or scipy.fft) on the same problem."""
        reference = self.alike(PROBLEM, executor="reference")
        return reference[0].step / self.step if reference else math.nan

    @property
    def efficiency(self) -> float:
        """Cell updates per second and core, divided by those of the row of the same family with the fewest cores.

        On one grid this is T(1) / (p T(p)); if the grid grows with the cores, T(1) / T(p).
        """
        same_grid = () if self.record["definition"]["weak"] else ("nx", "ny")
        family = self.alike((*FAMILY, *same_grid), oversubscribed=False)
        if self.row.oversubscribed or len(family) < 2:
            return math.nan
        base = min(family, key=lambda one: (one.cores, one.row.blocks))
        return (self.rate / self.cores) / (base.rate / base.cores)

    @property
    def start_parts(self) -> tuple[float, ...]:
        """Median seconds of the parts up to the first step's end: imports, MPI and fields, compilation, one step."""
        parts = [self.samples(f"{name}_seconds") for name in ("start", "build", "compile")]
        step = np.subtract(self.first_step, np.sum(parts, axis=0))
        return (*map(median, parts), max(0.0, median(step)))

    @property
    def published(self) -> dict:
        """The published seconds and speed-up of the reference, or of as many processes with all their cores.

        Only rows of the published problem, with its grid, precision and physics, have them.
        """
        there, row = published(), self.row
        problem = ("model", there["nx"], there["ny"], there["dtype"], [])
        wanted = ("numpy", 1) if row.executor == "reference" else (row.platform, row.blocks)
        if (row.measure, row.nx, row.ny, row.dtype, row.physics) == problem and not row.threads:
            for one in there["row"]:
                if (one["platform"], one["processes"]) == wanted:
                    return one
        return {"seconds": math.nan, "speedup": math.nan}


def numbers(record: dict) -> list[Numbers]:
    """The numbers of all finished rows of a record."""
    found: list[Numbers] = []
    found += [Numbers(entry, record, found) for entry in entries(record)]
    return found


def spread(samples: tuple[float, ...]) -> float:
    """Largest minus smallest sample, divided by the median; NaN for a single sample."""
    return (max(samples) - min(samples)) / median(samples) if len(samples) > 1 else math.nan


def bytes_per_cell(dtype: str) -> int:
    """Bytes that an AB2 step must move for each cell: 48 in single precision."""
    return FLOATS_PER_CELL * np.dtype(dtype).itemsize


def bandwidth(record: dict, platform: str = "cpu", devices: int = 1) -> float:
    """The best measured bandwidth, GB/s: of all cores, or of so many GPUs, assumed to be alike."""
    if platform == "gpu":
        return devices * (record["gpu_bandwidth"] or {"gigabytes_per_second": math.nan})["gigabytes_per_second"]
    return max((one["gigabytes_per_second"] for one in record["bandwidth"]), default=math.nan)
