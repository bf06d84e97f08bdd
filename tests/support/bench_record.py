"""Records of sweeps with invented times, for tests of the numbers that are computed from samples."""

from swmodel.bench import results
from swmodel.bench.plan import make_rows
from swmodel.bench.sweeps import read_sweep

MACHINE_RECORD = {
    "cpu": "Test", "cores": 1, "memory_bytes": 2**34, "system": "Linux", "python": "3.11", "versions": {},
    "revision": "abc", "caches_bytes": {"L2": 2**21}, "gpus": [],
}  # fmt: skip


def new_record(sweep, rows, skipped, quick=False, **machine):
    """The record of a sweep at its start; `machine` replaces properties of MACHINE_RECORD."""
    values = {"quick": quick, "label": "Test", "gpu_bandwidth": None}
    return results.make_record(sweep, rows, skipped, MACHINE_RECORD | machine, "swmodel bench", **values)


def make_record(sweep="table", cores=1, times=(), bandwidth=50.0, noise=(1.0,)):
    """The record of a finished sweep with the executor xla.

    Args:
        times: seconds per step by `row_key`; other rows are left out.
        noise: for each sample, a factor of its time.
    """
    sweep_definition = read_sweep(sweep, executors=("xla",), sizes=((3600, 1800),), rounds=len(noise))
    all_rows, skipped = make_rows(sweep_definition, cores, oversubscribe=False)
    timed_rows = [row for row in all_rows if row_key(row, sweep) in times]
    record = new_record(sweep_definition, timed_rows, skipped, cores=cores)
    record["bandwidth"] = [{"gigabytes_per_second": bandwidth, "by": "nothing"}]
    record["peak"] = {"gigaflops": 200.0, "by": "nothing"}
    for entry, row in zip(record["rows"], timed_rows, strict=True):
        sample = {"steps": 500, "first_step_seconds": 2.0, "memory_bytes": 5e8, "others": 0.0}
        entry["samples"] = [sample | {"seconds": times[row_key(row, sweep)] * 500 * factor} for factor in noise]
        entry |= {"state": results.OK, "launch": {"threads_of_a_rank": max(1, cores // row.nproc), "mpi": "MPI"}}
    return record


def row_key(row, sweep="table"):
    """The key of a row in the times of `make_record`: "reference", "xla-t1" (one core) or the number of processes."""
    if row.executor == "reference":
        return "reference"
    return "xla-t1" if row.threads == 1 and sweep != "weak" else row.nproc
