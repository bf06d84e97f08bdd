"""The numbers of the tables from the samples of a row: medians of samples, without extrapolation."""

from __future__ import annotations

import math
from statistics import median

import numpy as np

from .results import entries, row_of
from .sweeps import published

#: Steps of the published benchmark, for which times are reported.
STEPS = 500
#: Common attributes of rows of the same problem, and of rows that differ only in grid, processes and cores.
PROBLEM = ("nx", "ny", "dtype", "settings", "fields", "dry")
FAMILY = ("executor", "transport", "platform", "measure", "writing", "steps_per_sweep", *PROBLEM[2:])
NO_TRAFFIC = {"messages": math.nan, "bytes": math.nan}


class Numbers:
    """The numbers from the samples of a finished row; NaN where missing."""

    def __init__(self, entry: dict, record: dict, rows: list[Numbers]):
        self.row, self.entry, self.record, self.rows = row_of(entry), entry, record, rows  # all finished rows
        samples = entry["samples"]
        self.timed = samples[0].get("steps", 0)  # steps in a sample
        self.seconds = tuple(
            s["seconds"] / s["steps"] for s in samples if "seconds" in s
        )  # seconds of a step, in each sample
        self.step = median(self.seconds) if self.seconds else math.nan
        self.first_step = self.samples("first_step_seconds")  # from the start of the processes to its end
        self.rate = self.row.nx * self.row.ny / self.step  # cell updates per second
        moved = samples[0].get("bytes_per_cell") or bytes_per_cell(self.row.dtype)
        moved = math.nan if self.row.measure == "gradient" else moved
        self.gigabytes_per_second = self.rate * moved / 1e9  # of the bytes that a step must move
        self.share = self.gigabytes_per_second / bandwidth(record, self.row.platform, self.row.blocks)
        self.memory = max(self.samples("memory_bytes"), default=0) or math.nan  # most of a rank, bytes
        self.traffic = {**NO_TRAFFIC, "model": NO_TRAFFIC} | (entry.get("traffic") or {})  # sent by a rank in a step

    @property
    def cores(self) -> int:
        """The cores of the row: one for NumPy's arithmetic, all for scipy.fft; the number of GPUs for GPU rows."""
        row, there = self.row, self.record["machine"]["cores"]
        if row.executor == "reference":
            return there if row.measure == "fft" else 1
        threads = row.threads or self.entry.get("launch", {}).get("threads_of_a_rank", 1)
        used = row.blocks if row.platform == "gpu" else row.nproc * threads
        return min(used, there) if row.oversubscribed else used

    def samples(self, name: str) -> tuple[float, ...]:
        """The values of this name in the samples."""
        return tuple(sample[name] for sample in self.entry["samples"] if sample.get(name) is not None)

    def alike(self, names: tuple[str, ...], **values) -> list[Numbers]:
        """The rows equal to this one in the attributes `names`, with these values of others."""
        wanted = {name: getattr(self.row, name) for name in names} | values
        return [one for one in self.rows if all(getattr(one.row, name) == wanted[name] for name in wanted)]

    @property
    def speedup(self) -> float:
        """Speed-up over the reference (NumPy, or scipy.fft) on the same problem."""
        reference = self.alike((*PROBLEM, "measure"), executor="reference")
        return reference[0].step / self.step if reference else math.nan

    @property
    def efficiency(self) -> float:
        """Cell updates per second and core, relative to the row of the same family with the fewest cores.

        This is T(1) / (p T(p)) on one grid, T(1) / T(p) if the grid grows with the cores.
        """
        same_grid = () if self.record["definition"]["weak"] else ("nx", "ny")
        family = self.alike((*FAMILY, *same_grid), oversubscribed=False)
        if self.row.oversubscribed or len(family) < 2:
            return math.nan
        base = min(family, key=lambda one: (one.cores, one.row.blocks))
        return (self.rate / self.cores) / (base.rate / base.cores)

    @property
    def parts(self) -> dict[str, float]:
        """Median seconds of the parts of a run that writes, or of the way to the end of the first step."""
        if self.row.measure == "output":
            steps = median(self.samples("step_seconds"))
            return {"time steps": steps, "writing": max(0.0, self.step * self.row.steps - steps)}
        start, build, compiling = (self.samples(f"{name}_seconds") for name in ("start", "build", "compile"))
        step = max(0.0, median(np.subtract(self.first_step, np.sum([start, build, compiling], axis=0))))
        parts = {"start and imports": start, "MPI and fields": build, "compilation": compiling}
        return {name: median(samples) for name, samples in parts.items()} | {"one step": step}

    @property
    def published(self) -> dict:
        """The published seconds and speed-up of the reference, or of as many processes with all their cores.

        Only rows of the published problem, with its grid, precision and physics, have them.
        """
        there, row, found = published(), self.row, []
        problem = ("model", there["nx"], there["ny"], there["dtype"], [], None)
        if (row.measure, row.nx, row.ny, row.dtype, row.physics, row.threads) == problem:
            wanted = ("numpy", 1) if row.executor == "reference" else (row.platform, row.blocks)
            found = [one for one in there["row"] if (one["platform"], one["processes"]) == wanted]
        return found[0] if found else {"seconds": math.nan, "speedup": math.nan}


def numbers(record: dict) -> list[Numbers]:
    """The numbers of all finished rows of a record."""
    found: list[Numbers] = []
    found += [Numbers(entry, record, found) for entry in entries(record)]
    return found


def spread(samples: tuple[float, ...]) -> float:
    """Largest minus smallest sample, divided by the median; NaN for a single one."""
    return (max(samples) - min(samples)) / median(samples) if len(samples) > 1 else math.nan


def bytes_per_cell(dtype: str) -> int:
    """Least bytes of an AB2 step for each cell: h, u, v and their last tendencies, each read and written."""
    return 12 * np.dtype(dtype).itemsize


def bandwidth(record: dict, platform: str = "cpu", devices: int = 1) -> float:
    """The best measured bandwidth, GB/s, of all cores, or of `devices` GPUs, assumed to be alike."""
    if platform == "gpu":
        return devices * (record["gpu_bandwidth"] or {"gigabytes_per_second": math.nan})["gigabytes_per_second"]
    return max((one["gigabytes_per_second"] for one in record["bandwidth"]), default=math.nan)
