"""The model gives the known answers; `swmodel verify` says so, and what differs."""

import json

import numpy as np
import pytest
from support.command import cli
from support.marks import at_night

from swmodel.bench import known_answers
from swmodel.bench.known_answers import KNOWN, Answer, Known

pytestmark = pytest.mark.slow

QUICK = [name for name in KNOWN if KNOWN[name].quick]


@pytest.mark.promise("the model gives the known answers")
@pytest.mark.parametrize("name", [*QUICK, *at_night(*(name for name in KNOWN if name not in QUICK))])
def test_model_gives_the_known_answer(name, optimised):
    assert [answer for answer in KNOWN[name].compute() if not answer.right] == []


def test_verify_prints_draws_and_records_its_answers(tmp_path):
    done = cli("verify", "okada_table", "tidal_arguments", "-o", tmp_path / "out")
    assert done.exit_code == 0, done.output
    found = json.loads((tmp_path / "out/verify.json").read_text())
    assert {answer["right"] for answers in found.values() for answer in answers} == {True}
    assert (tmp_path / "out/verify.png").stat().st_size > 10_000
    unknown = cli("verify", "kelvin_wav")
    assert (unknown.exit_code, "kelvin_wave" in unknown.stderr) == (2, True)


@pytest.mark.promise("the model gives the known answers")
@pytest.mark.parametrize("measured", [2.0, float("nan"), np.float32(2.0)])
def test_wrong_answer_has_its_exit_code(monkeypatch, tmp_path, measured):
    wrong = Known("wrong", "A wrong answer", "nobody", True, lambda: iter([Answer("a number", measured, 1.0, 0.1)]))
    monkeypatch.setitem(known_answers.KNOWN, "wrong", wrong)
    done = cli("verify", "wrong", "-o", tmp_path)
    assert (done.exit_code, "a number" in done.stderr) == (6, True)
    assert json.loads((tmp_path / "verify.json").read_text())["wrong"][0]["right"] is False
