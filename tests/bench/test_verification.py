"""The model passes its verification tests; `swmodel verify` reports this, or the differences."""

import json

import numpy as np
import pytest
from support.command import invoke_swmodel
from support.marks import night_params

from swmodel import verification
from swmodel.verification import VERIFICATION_TESTS, Comparison, VerificationTest, verify

pytestmark = pytest.mark.slow

#: Those of the quick verification tests that take longest, and whose equations other tests also check.
SLOW_SOLUTIONS = {"parseval", "ponded_column", "rain_in_a_bathtub", "rising_sea_floor", "river_in_a_bathtub"}
SLOW_SOLUTIONS |= {"run_up_of_a_solitary_wave", "wave_over_a_step", "green_law", "inertia_gravity_wave", "stommel_gyre"}
QUICK_SOLUTIONS = [name for name in VERIFICATION_TESTS if VERIFICATION_TESTS[name].quick and name not in SLOW_SOLUTIONS]
OTHER_SOLUTIONS = night_params(*(name for name in VERIFICATION_TESTS if name not in QUICK_SOLUTIONS))


@pytest.mark.promise("the model agrees with analytic and benchmark solutions")
@pytest.mark.parametrize("name", [*QUICK_SOLUTIONS, *OTHER_SOLUTIONS])
def test_model_agrees_with_the_analytic_solution(name, optimised_steps):
    assert [comparison for comparison in VERIFICATION_TESTS[name].compute() if not comparison.passed] == []


def test_verify_prints_draws_and_records_its_results(tmp_path, monkeypatch):
    result = invoke_swmodel("verify", "okada_table", "tidal_arguments", "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    recorded = json.loads((tmp_path / "out/verify.json").read_text())
    assert {comparison["passed"] for comparisons in recorded.values() for comparison in comparisons} == {True}
    assert (tmp_path / "out/verify.png").stat().st_size > 10_000
    misspelt = invoke_swmodel("verify", "kelvin_wav")
    assert (misspelt.exit_code, "kelvin_wave" in misspelt.stderr) == (2, True)
    monkeypatch.setattr(verify, "missing_package_reason", lambda *_: "needs pyproj")
    assert invoke_swmodel("verify", "projected_grid").exit_code != 0


@pytest.mark.promise("the model agrees with analytic and benchmark solutions")
@pytest.mark.parametrize("measured", [2.0, float("nan"), np.float32(2.0)])
def test_wrong_answer_has_its_exit_code(monkeypatch, tmp_path, measured):
    comparisons = [Comparison("a number", measured, 1.0, 0.1)]
    wrong_test = VerificationTest("wrong", "A wrong answer", "nobody", True, "", lambda: iter(comparisons))
    monkeypatch.setitem(verification.VERIFICATION_TESTS, "wrong", wrong_test)
    result = invoke_swmodel("verify", "wrong", "-o", tmp_path)
    assert (result.exit_code, "a number" in result.stderr) == (6, True)
    assert json.loads((tmp_path / "verify.json").read_text())["wrong"][0]["passed"] is False
