"""The predicted time of a step follows from the times of steps without messages and of exchanges alone."""

import math

import pytest
from support.bench_record import MACHINE

from swmodel.bench import paper, results, scaling
from swmodel.bench.figures import draw
from swmodel.bench.numbers import numbers
from swmodel.bench.plan import make_rows
from swmodel.bench.sweeps import definition
from swmodel.bench.tables import report
from swmodel.errors import UsageError

pytestmark = pytest.mark.slow

LATENCY, SECONDS_PER_BYTE, CORES = 2e-5, 1e-9, 2


def kernel(cells, together):
    """Slower where processes share the memory."""
    return 1e-9 * cells**0.9 * (1.3 if together > 1 else 1.0)


def record_of():
    """A record whose samples obey the model exactly."""
    sweep = definition("scaling", executors=("native",))
    rows, skipped = make_rows(sweep, CORES, oversubscribe=True)
    more = {"quick": False, "label": "Test", "gpu_bandwidth": None}
    record = results.new(sweep, rows, skipped, MACHINE | {"cores": CORES}, "swmodel bench", **more)
    record["bandwidth"], record["peak"] = [], None
    for entry, row in zip(record["rows"], rows, strict=True):
        sent = 8.0 * (row.nx + row.ny)
        exchange = row.nproc * LATENCY + sent * SECONDS_PER_BYTE
        seconds = {
            "ensemble": kernel(row.nx * row.ny, row.nproc),
            "halo": exchange,
            "model": kernel(row.nx * row.ny / row.nproc, min(row.nproc, CORES)) * max(1, row.nproc / CORES)
            + exchange * (row.nproc > 1),
        }[row.measure]
        entry["samples"] = [{"steps": 10, "seconds": 10 * seconds, "memory_bytes": 5e8, "others": 0.0}]
        entry |= {"state": results.OK, "traffic": {"messages": 4.0, "bytes": sent}}
    return record


def runs_of(record):
    """The rows that are predicted."""
    return [one for one in numbers(record) if one.row.measure == "model" and one.row.nproc > 1]


def test_more_processes_than_cores_are_measured_on_request_and_several_executors_are_refused():
    counts = {row.nproc for row in make_rows(definition("scaling", executors=("native",)), CORES)[0]}
    assert counts == {1, 2}
    with pytest.raises(UsageError, match="--executor once"):
        make_rows(definition("scaling", executors=("native", "xla")), CORES)


def test_runs_that_obey_the_model_are_predicted_exactly():
    found = runs_of(record_of())
    assert {one.row.nproc for one in found} == {2, 4, 8}
    for one in found:
        assert scaling.predict(one).step == pytest.approx(one.step, rel=1e-9)
        assert scaling.predict(one).exchange == pytest.approx(one.row.nproc * LATENCY, rel=0.5)


@pytest.mark.parametrize("missing", ["halo", "ensemble"])
def test_a_run_whose_constants_are_missing_is_not_predicted(missing):
    record = record_of()
    for entry in record["rows"]:
        if entry["row"]["measure"] == missing:
            entry |= {"state": results.FAILED, "reason": "did not run", "samples": []}
    found = runs_of(record)
    assert len(found) > 3
    assert all(math.isnan(scaling.predict(one).step) for one in found)
    assert bool(paper.predict(record, numbers(record))) == (missing == "ensemble")  # of one process


def test_the_table_has_predictions_beside_runs_and_the_constants_below(tmp_path):
    text = report([record_of()])
    predicted = [line for line in text.splitlines() if line.startswith("| ") and line.count(" 0 % |") == 1]
    assert len(predicted) == len(
        [one for one in numbers(record_of()) if one.row.measure == "model" and one.row.nproc > 1]
    )
    assert [path.name for path in draw([record_of()], tmp_path)] == ["scaling.png", "scaling.pdf"]


def test_on_paper_a_step_is_a_kernel_and_four_messages_and_a_sum_grows_with_the_logarithm(tmp_path):
    record = record_of()
    rows = paper.predict(record, numbers(record))
    assert [one.processes for one in rows] == [128, 1024, 10240]
    smallest = 2 * (360 + 180)  # bytes of the smallest measured message, a quarter of an exchange
    for one in rows:
        message = max(smallest, 12 * math.sqrt(one.cells)) * SECONDS_PER_BYTE + 2 * LATENCY / 4
        assert one.exchange == pytest.approx(4 * (message + paper.NETWORK))
        assert one.kernel == pytest.approx(kernel(4320 * 2160 / one.processes, CORES))
        assert one.sum / rows[0].sum == pytest.approx(math.log(one.processes, 128))
    assert "911*" in paper.table(record, numbers(record))


@pytest.mark.parametrize(("size", "nproc"), [((1, 1), 2), ((2, 2), 8), ((7, 5), 4)])
def test_the_planned_blocks_of_tiny_grids_have_two_cells_a_side(size, nproc):
    rows, _ = make_rows(definition("scaling", executors=("native",), sizes=(size,), nproc=(nproc,)), nproc)
    assert min(min(row.nx, row.ny) for row in rows) >= min(2, *size)


def test_a_sweep_without_a_finished_run_has_no_figure(tmp_path):
    record = record_of()
    for entry in record["rows"]:
        if entry["row"]["measure"] == "model":
            entry |= {"state": results.FAILED, "reason": "did not run", "samples": []}
    assert draw([record], tmp_path) == []
