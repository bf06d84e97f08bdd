"""The model passes its verification tests; `swmodel verify` reports that, or what differs."""

import json

import numpy as np
import pytest
from support.command import invoke_swmodel
from support.marks import night_params

from swmodel import verification
from swmodel.verification import VERIFICATION_TESTS, Comparison, VerificationTest, verify

pytestmark = pytest.mark.slow

#: Quick ones that take the most seconds and whose equations other tests prove.
AT_NIGHT = {"parseval", "ponded_column", "rain_in_a_bathtub", "rising_sea_floor", "river_in_a_bathtub"}
AT_NIGHT |= {"run_up_of_a_solitary_wave", "wave_over_a_step", "green_law", "inertia_gravity_wave", "stommel_gyre"}
QUICK_SOLUTIONS = [name for name in VERIFICATION_TESTS if VERIFICATION_TESTS[name].quick and name not in AT_NIGHT]
OTHER_SOLUTIONS = night_params(*(name for name in VERIFICATION_TESTS if name not in QUICK_SOLUTIONS))


@pytest.mark.promise("the model agrees with analytic and benchmark solutions")
@pytest.mark.parametrize("name", [*QUICK_SOLUTIONS, *OTHER_SOLUTIONS])
def test_model_agrees_with_the_analytic_solution(name, optimised):
    assert [answer for answer in VERIFICATION_TESTS[name].compute() if not answer.passed] == []


def test_verify_prints_draws_and_records_its_results(tmp_path, monkeypatch):
    done = invoke_swmodel("verify", "okada_table", "tidal_arguments", "-o", tmp_path / "out")
    assert done.exit_code == 0, done.output
    found = json.loads((tmp_path / "out/verify.json").read_text())
    assert {answer["passed"] for answers in found.values() for answer in answers} == {True}
    assert (tmp_path / "out/verify.png").stat().st_size > 10_000
    unknown = invoke_swmodel("verify", "kelvin_wav")
    assert (unknown.exit_code, "kelvin_wave" in unknown.stderr) == (2, True)
    monkeypatch.setattr(verify, "missing_package_reason", lambda *_: "needs pyproj")
    assert invoke_swmodel("verify", "projected_grid").exit_code != 0


@pytest.mark.promise("the model agrees with analytic and benchmark solutions")
@pytest.mark.parametrize("measured", [2.0, float("nan"), np.float32(2.0)])
def test_wrong_answer_has_its_exit_code(monkeypatch, tmp_path, measured):
    answers = [Comparison("a number", measured, 1.0, 0.1)]
    wrong = VerificationTest("wrong", "A wrong answer", "nobody", True, "", lambda: iter(answers))
    monkeypatch.setitem(verification.VERIFICATION_TESTS, "wrong", wrong)
    done = invoke_swmodel("verify", "wrong", "-o", tmp_path)
    assert (done.exit_code, "a number" in done.stderr) == (6, True)
    assert json.loads((tmp_path / "verify.json").read_text())["wrong"][0]["passed"] is False
