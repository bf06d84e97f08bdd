"""What numbers, tables, comparisons and figures say of samples; measured samples are made up here."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from support.bench_record import make_record

from swmodel.bench import results
from swmodel.bench.compare import report, verdict
from swmodel.bench.device import STEPS, parse
from swmodel.bench.figures import draw
from swmodel.bench.machine import busy_ticks, share_of_others
from swmodel.bench.numbers import numbers
from swmodel.bench.tables import report as tables
from swmodel.cli import main

pytestmark = pytest.mark.slow

CELLS = 3600 * 1800
NOISE = (0.98, 1.0, 1.03)


def test_efficiency_is_the_time_on_one_core_over_cores_and_time():
    record = make_record(cores=4, times={"reference": 8.0, "xla-t1": 4.0, 1: 1.25, 2: 1.5, 4: 1.0})
    reference, one_core, shared, two, four = numbers(record)
    assert (one_core.cores, shared.cores, two.cores, four.cores) == (1, 4, 4, 4)
    assert one_core.efficiency == 1
    assert four.efficiency == pytest.approx(4.0 / (4 * 1.0))
    assert shared.efficiency == pytest.approx(4.0 / (4 * 1.25))
    assert two.speedup == pytest.approx(8.0 / 1.5)
    assert math.isnan(reference.efficiency)
    weak = make_record(sweep="weak", cores=4, times={1: 1.0, 2: 1.1, 4: 1.25})
    assert [one.efficiency for one in numbers(weak)] == pytest.approx([1.0, 1 / 1.1, 1 / 1.25])


def test_rates_and_bandwidth_follow_from_the_time_of_a_step():
    one = numbers(make_record(cores=1, times={"reference": 1.0, 1: 0.1}, bandwidth=10.0))[-1]
    assert one.rate == pytest.approx(CELLS / 0.1)
    assert one.gigabytes_per_second == pytest.approx(48 * CELLS / 0.1 / 1e9)
    assert one.share == pytest.approx(one.gigabytes_per_second / 10)


@pytest.mark.parametrize(
    ("change", "same"), [({}, True), ({"dtype": "float64"}, False), ({"fields": True}, False), ({"nx": 360}, False)]
)
def test_only_the_same_problem_is_compared_with_numpy_and_with_the_published_table(change, same):
    record = make_record(cores=1, times={"reference": 1.0, 1: 0.1})
    record["rows"][1]["row"] |= change
    one = numbers(record)[1]
    assert math.isnan(one.speedup) != same
    assert (one.published["seconds"] == 112) == same


def test_a_table_has_published_numbers_beside_rows_of_as_many_processes():
    times = {"reference": 0.276, "xla-t1": 0.1, 1: 0.057, 2: 0.06}
    text = tables([make_record(cores=2, times=times, steps={"reference": 60})])
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.split("\n\n")[1].splitlines()]
    seconds, ours = lines[0].index("published s"), lines[0].index("s for 500 steps")
    assert [line[seconds] for line in lines[2:]] == ["770", "", "112", "90"]
    assert [line[ours] for line in lines[2:]] == ["138*", "50", "28.5", "30"]
    assert "1800 (60)" in text


def test_a_wrong_answer_is_a_failed_row_without_a_number(tmp_path):
    record = make_record(cores=1, times={"reference": 1.0, 1: 0.1}, wrong=("reference", 1))
    assert tables([record]).count("FAILED, wrong answer") == 2
    assert numbers(record) == draw([record], tmp_path) == []


def test_messages_are_counted_in_the_log_of_mpi4jax():
    sendrecv = (
        "r0 | 4fca0000 | MPI_Sendrecv <- 1 (tag 7, 108 items) / -> 1 (tag 7, 108 items)\n"
        "r0 | 4fca0000 | MPI_Sendrecv done with code 0 (1.2e-05s)\n"
    )
    assert parse(sendrecv * 2 * STEPS, itemsize=4) == {"messages": 2, "bytes": 2 * 108 * 4}


@pytest.mark.parametrize(("samples", "most"), [(3, 0.05), (5, 0.004)])
def test_chance_alone_seldom_counts(samples, most):
    """The rates of false alarms that the documentation gives, for normal samples."""
    rng, trials = np.random.default_rng(0), 4000
    found = [verdict(*(tuple(row) for row in rng.normal(size=(2, samples)))) for _ in range(trials)]
    alarms = trials - found.count("within noise")
    assert alarms / trials < most


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ((1.0, 1.01, 1.02), (1.1, 1.11, 1.12), "slower"),
        ((1.1, 1.11, 1.12), (1.0, 1.01, 1.02), "faster"),
        ((1.0, 1.01, 1.02), (1.015, 1.02, 1.03), "within noise"),
        ((1.0, 1.0), (9.0, 9.0), "too few samples"),
    ],
)
def test_verdicts(old, new, found):
    assert verdict(old, new) == found


def test_rows_are_matched_and_those_of_one_result_alone_are_named():
    old = make_record(cores=2, times={"reference": 1.0, 1: 0.1, 2: 0.1}, noise=NOISE)
    new = make_record("strong", cores=2, times={1: 0.2}, noise=NOISE)
    text = report(old, new)
    assert "100 |     200 |     2.000" in text
    assert text.count("slower") == 1
    assert sum("xla, 2 processes, 3600 x 1800" in line and "|" not in line for line in text.splitlines()) == 1
    assert "table and strong" in text


@pytest.mark.fault("results of an earlier version cannot be read")
def test_results_that_are_kept_with_the_program_can_be_compared_and_reported():
    for path in Path(__file__).parents[2].glob("benchmarks/results/*/*/results.json"):
        record = results.read(path)
        assert report(record, record).count("within noise") == len(record["rows"])
        assert len(numbers(record)) == len(record["rows"])


@pytest.mark.night
def test_report_and_compare_from_the_command_line(tmp_path):
    for name, seconds in (("old", 0.1), ("new", 0.05)):
        (tmp_path / name).mkdir()
        record = make_record(cores=2, times={"reference": 1.0, "xla-t1": 0.15, 1: seconds, 2: seconds}, noise=NOISE)
        results.write(record | {"label": f"Machine {name}"}, tmp_path / name)
    run, old, new = CliRunner().invoke, str(tmp_path / "old"), str(tmp_path / "new" / "results.json")
    compared = run(main, ["bench", "compare", old, new])
    assert (compared.exit_code, compared.stdout.count("faster")) == (0, 2)
    out = tmp_path / "report"
    reported = run(main, ["bench", "report", old, new, "--output", str(out)])
    assert reported.exit_code == 0, reported.stderr
    figures = {f"{name}.{kind}" for name in ("speedup", "roofline") for kind in ("png", "pdf")}
    assert {path.name for path in out.iterdir()} == {"report.md"} | figures
    text = (out / "report.md").read_text()
    assert text.count("| Machine old") == text.count("| Machine new") == 2 * 4
    twice = run(main, ["bench", "report", old, f"{old}/results.json"])
    assert "Machine old" not in twice.stdout
    missing = run(main, ["bench", "report", str(tmp_path / "nowhere.json")])
    assert (missing.exit_code, "nowhere.json" in missing.stderr) == (5, True)


def test_what_others_take_is_the_time_of_our_cores_that_is_not_our_own():
    text = "cpu  700 0 500 9000 10 20 30 40\ncpu0 100 10 200 4000 5 6 7 8\ncpu1 600 20 300 5000 5 14 23 32\ncpu10 9 9"
    assert busy_ticks(text, {0, 1}) == 318 + 600 + 20 + 300 + 32
    assert share_of_others((100.0, 7.0, 5.0), (110.0, 27.0, 17.0), cores=2) == pytest.approx(0.4)
    assert share_of_others((100.0, 7.0, 5.0), (110.0, 10.0, 8.1), cores=2) == 0


@pytest.mark.parametrize(
    ("taken", "words"), [((0.0, 0.3, 0.01), ""), ((0.0, 0.3, 0.4), "do not quote"), ((0.0, None, 0.0), "not recorded")]
)
def test_a_row_of_which_most_samples_were_disturbed_is_not_to_be_quoted(taken, words):
    record = make_record(times={1: 0.1}, noise=(1.0, 1.0, 1.0))
    for sample, part in zip(record["rows"][0]["samples"], taken, strict=True):
        sample["others"] = part
    text = tables([record])
    assert [key for key in ("do not quote", "not recorded") if key in text] == [words][: bool(words)]
