"""Comparing two results, and combining several into one report with figures."""

from __future__ import annotations

from statistics import median

import numpy as np
import pytest
from click.testing import CliRunner
from support.bench_record import make_record

from swmodel.bench import results
from swmodel.bench.compare import Change, changes, exceeds_noise, report
from swmodel.bench.figures import draw
from swmodel.bench.figures.roofline import spaced
from swmodel.cli import main

NOISE = (0.98, 1.0, 1.03)


def test_the_rule_is_symmetric_and_free_of_units():
    rng = np.random.default_rng(1)
    for _ in range(200):
        old, new = (tuple(rng.normal(10, rng.uniform(0.1, 2), rng.integers(3, 6))) for _ in range(2))
        verdict = exceeds_noise(old, new)
        assert verdict == exceeds_noise(new, old) == exceeds_noise(old[::-1], new)
        assert verdict == exceeds_noise(*(tuple(1e-3 * np.array(samples)) for samples in (old, new)))
        assert not exceeds_noise(old, old)
        far = tuple(sample + 100 for sample in old)
        assert exceeds_noise(old, far)


@pytest.mark.parametrize(("samples", "most"), [(3, 0.05), (5, 0.004)])
def test_chance_alone_seldom_counts(samples, most):
    """The rates of false alarms that the documentation gives, for normal samples."""
    rng = np.random.default_rng(0)
    trials = 4000
    alarms = sum(exceeds_noise(*(tuple(row) for row in rng.normal(size=(2, samples)))) for _ in range(trials))
    assert alarms / trials < most


@pytest.mark.parametrize(
    ("old", "new", "verdict"),
    [
        ((1.0, 1.01, 1.02), (1.1, 1.11, 1.12), "slower"),
        ((1.1, 1.11, 1.12), (1.0, 1.01, 1.02), "faster"),
        ((1.0, 1.01, 1.02), (1.015, 1.02, 1.03), "within noise"),
        ((1.0, 1.01, 1.02), (1.021, 1.022, 1.023), "within noise"),
        ((1.0, 1.0), (9.0, 9.0), "too few samples"),
    ],
)
def test_verdicts(old, new, verdict):
    change = Change("row", old, new)
    assert change.verdict == verdict
    assert change.ratio == median(new) / median(old)


def test_rows_are_matched_and_those_of_one_result_alone_are_named():
    old = make_record(cores=2, times={"reference": 1.0, 1: 0.1, 2: 0.1}, noise=NOISE)
    new = make_record(cores=2, times={"reference": 1.0, 1: 0.2}, noise=NOISE)
    both, alone = changes(old, new)
    assert [change.verdict for change in both] == ["within noise", "slower"]
    assert alone == ["xla, 2 processes, 3600 x 1800"]
    assert "In one of the two alone: xla, 2 processes" in report(old, new)


def test_a_comparison_of_different_sweeps_says_so():
    old, new = make_record(cores=2, times={1: 0.1}), make_record("strong", cores=2, times={1: 0.1})
    assert "Other sweeps: table and strong." in report(old, new)


def test_report_and_compare_from_the_command_line(tmp_path):
    for name, seconds in (("old", 0.1), ("new", 0.05)):
        (tmp_path / name).mkdir()
        record = make_record(cores=2, times={"reference": 1.0, "xla-t1": 0.15, 1: seconds, 2: seconds}, noise=NOISE)
        results.write(record | {"label": f"Machine {name}"}, tmp_path / name)
    run = CliRunner().invoke
    compared = run(main, ["bench", "compare", str(tmp_path / "old"), str(tmp_path / "new" / "results.json")])
    assert compared.exit_code == 0
    assert compared.stdout.count("faster") == 2
    out = tmp_path / "report"
    reported = run(main, ["bench", "report", str(tmp_path / "old"), str(tmp_path / "new"), "--output", str(out)])
    assert reported.exit_code == 0, reported.stderr
    assert {path.name for path in out.iterdir()} == {
        "report.md", "speedup.png", "speedup.pdf", "roofline.png", "roofline.pdf",
    }  # fmt: skip
    text = (out / "report.md").read_text()
    assert text.count("| Machine old") == text.count("| Machine new") == 2 * 4
    twice = run(main, ["bench", "report", str(tmp_path / "old"), str(tmp_path / "old" / "results.json")])
    assert "Machine old" not in twice.stdout
    missing = run(main, ["bench", "report", str(tmp_path / "nowhere.json")])
    assert (missing.exit_code, "nowhere.json cannot be read" in missing.stderr) == (5, True)


def test_rows_without_numbers_draw_nothing(tmp_path):
    assert draw([make_record(cores=1, times={"reference": 1.0, 1: 0.1}, wrong=("reference", 1))], tmp_path) == []


@pytest.mark.parametrize("sweep", ["strong", "weak", "sizes"])
def test_other_sweeps_have_a_figure(tmp_path, sweep):
    record = make_record(sweep, cores=2, times={1: 0.2, 2: 0.1}, noise=NOISE)
    names = {path.name for path in draw([record], tmp_path)}
    assert names == {f"{sweep}.png", f"{sweep}.pdf"}
    assert all((tmp_path / name).stat().st_size > 5000 for name in names)


def test_names_in_a_figure_do_not_touch():
    places = spaced([1.0, 1.01, 1.02, 9.0], factor=1.5)
    assert all(high / low > 1.49 for low, high in zip(places, places[1:], strict=False))
