"""The numbers of the tables, computed from the samples of a row; times are medians."""

from __future__ import annotations

import math
from statistics import median

import numpy as np

from .results import entries_in_state, row_of_entry
from .sweeps import read_published_table

#: Steps of the published benchmark, for which times are reported.
PUBLISHED_STEPS = 500
#: Attributes in which rows of the same problem agree, and those in which rows that differ only in grid, processes and
#: cores agree.
PROBLEM_FIELDS = ("nx", "ny", "dtype", "settings", "fields", "dry")
FAMILY_FIELDS = ("executor", "transport", "platform", "measure", "writing", "steps_per_sweep", *PROBLEM_FIELDS[2:])
NO_TRAFFIC = {"messages": math.nan, "bytes": math.nan}


class RowStatistics:
    """The numbers from the samples of a finished row; NaN where missing."""

    def __init__(self, entry: dict, record: dict, rows: list[RowStatistics]):
        self.row, self.entry, self.record, self.rows = row_of_entry(entry), entry, record, rows  # all finished rows
        samples = entry["samples"]
        self.n_timed_steps: int = samples[0].get("steps", 0)  # steps in a sample
        self.n_members = self.row.members or 1  # 1 without an ensemble
        self.step_samples = tuple(s["seconds"] / s["steps"] for s in samples if "seconds" in s)  # seconds per step
        self.seconds_per_step = median(self.step_samples) if self.step_samples else math.nan
        self.first_step_samples = self.sample_values("first_step_seconds")  # s from launch to the end of that step
        self.cells_per_second = self.row.nx * self.row.ny / self.seconds_per_step  # cell updates per second
        cell_bytes = samples[0].get("bytes_per_cell") or ab2_bytes_per_cell(self.row.dtype)
        cell_bytes = math.nan if self.row.measure == "gradient" else cell_bytes
        self.gigabytes_per_second = self.cells_per_second * cell_bytes / 1e9  # of the bytes that a step must move
        self.bandwidth_fraction = self.gigabytes_per_second / best_bandwidth(
            record, self.row.platform, self.row.n_blocks
        )
        self.memory_bytes = max(self.sample_values("memory_bytes"), default=0) or math.nan  # the most of any rank
        self.traffic = {**NO_TRAFFIC, "model": NO_TRAFFIC} | (entry.get("traffic") or {})  # per rank and step

    @property
    def cores(self) -> int:
        """The cores of the row: one for NumPy's arithmetic, all for scipy.fft; the number of GPUs for GPU rows."""
        row, machine_cores = self.row, self.record["machine"]["cores"]
        if row.executor == "reference":
            return machine_cores if row.measure == "fft" else 1
        threads = row.threads or self.entry.get("launch", {}).get("threads_of_a_rank", 1)
        used = row.n_blocks if row.platform == "gpu" else row.nproc * threads
        return min(used, machine_cores) if row.oversubscribed else used

    def sample_values(self, name: str) -> tuple[float, ...]:
        return tuple(sample[name] for sample in self.entry["samples"] if sample.get(name) is not None)

    def matching_rows(self, names: tuple[str, ...], **values) -> list[RowStatistics]:
        """The finished rows that agree with this row in the attributes `names` and have the attributes `values`."""
        values_to_match = {name: getattr(self.row, name) for name in names} | values
        return [
            stats
            for stats in self.rows
            if all(getattr(stats.row, name) == values_to_match[name] for name in values_to_match)
        ]

    @property
    def speedup(self) -> float:
        """Speed-up over the reference (NumPy, or scipy.fft) on the same problem."""
        reference = self.matching_rows((*PROBLEM_FIELDS, "measure"), executor="reference")
        return reference[0].seconds_per_step / self.seconds_per_step if reference else math.nan

    @property
    def efficiency(self) -> float:
        """Cell updates per second and core, relative to the row of the same family with the fewest cores.

        If that row has one core, and a step on p cores takes T(p), this is T(1) / (p T(p)) on one grid, and T(1) / T(p)
        if the grid grows with the cores.
        """
        same_grid = () if self.record["definition"]["weak"] else ("nx", "ny")
        family = self.matching_rows((*FAMILY_FIELDS, *same_grid), oversubscribed=False)
        if self.row.oversubscribed or len(family) < 2:
            return math.nan
        base = min(family, key=lambda stats: (stats.cores, stats.row.n_blocks))
        return (self.cells_per_second / self.cores) / (base.cells_per_second / base.cores)

    @property
    def part_seconds(self) -> dict[str, float]:
        """Median seconds of the parts of a run with output, or of the time to the end of the first step."""
        if self.row.measure == "output":
            steps = median(self.sample_values("step_seconds"))
            return {"time steps": steps, "writing": max(0.0, self.seconds_per_step * self.n_timed_steps - steps)}
        start, build, compiling = (self.sample_values(f"{name}_seconds") for name in ("start", "build", "compile"))
        step = max(0.0, median(np.subtract(self.first_step_samples, np.sum([start, build, compiling], axis=0))))
        parts = {"start and imports": start, "MPI and fields": build, "compilation": compiling}
        return {name: median(samples) for name, samples in parts.items()} | {"one step": step}

    @property
    def published(self) -> dict:
        """The published seconds and speed-up, for the same number of processes or GPUs; NaN for other rows.

        Only rows of the published problem (grid, precision and physics) that do not fix the number of threads have
        published numbers.
        """
        table, row, matching = read_published_table(), self.row, []
        problem: tuple = ("model", table["nx"], table["ny"], table["dtype"], [], None)
        if (row.measure, row.nx, row.ny, row.dtype, row.physics_labels, row.threads) == problem:
            platform_and_processes = ("numpy", 1) if row.executor == "reference" else (row.platform, row.n_blocks)
            matching = [one for one in table["row"] if (one["platform"], one["processes"]) == platform_and_processes]
        return matching[0] if matching else {"seconds": math.nan, "speedup": math.nan}


def row_statistics(record: dict) -> list[RowStatistics]:
    """The RowStatistics of all finished rows of a record."""
    statistics_of_rows: list[RowStatistics] = []
    statistics_of_rows += [RowStatistics(entry, record, statistics_of_rows) for entry in entries_in_state(record)]
    return statistics_of_rows


def relative_spread(samples: tuple[float, ...]) -> float:
    """Largest minus smallest sample, divided by the median; NaN for a single sample."""
    return (max(samples) - min(samples)) / median(samples) if len(samples) > 1 else math.nan


def ab2_bytes_per_cell(dtype: str) -> int:
    """Bytes per cell that an AB2 step must move: it reads and writes h, u, v and their last tendencies."""
    return 12 * np.dtype(dtype).itemsize


def best_bandwidth(record: dict, platform: str = "cpu", devices: int = 1) -> float:
    """The best measured bandwidth, GB/s, of all cores, or of `devices` GPUs, which are assumed to be alike."""
    if platform == "gpu":
        return devices * (record["gpu_bandwidth"] or {"gigabytes_per_second": math.nan})["gigabytes_per_second"]
    return max((each["gigabytes_per_second"] for each in record["bandwidth"]), default=math.nan)
