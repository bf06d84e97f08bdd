"""The model gives the known answers; `swmodel verify` says so, and what differs."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from swmodel.bench import known_answers
from swmodel.bench.known_answers import KNOWN, Answer, Known
from swmodel.cli import main

pytestmark = pytest.mark.slow


@pytest.mark.promise("varying weather does not depend on calls or restarts")
@pytest.mark.promise("the model gives the known answers")
@pytest.mark.parametrize("name", KNOWN)
def test_the_model_gives_the_known_answer(name, optimised):
    wrong = [answer for answer in KNOWN[name].compute() if not answer.right]
    assert wrong == []


def test_there_is_an_answer_for_each_subject():
    assert len(KNOWN) >= 25
    assert all(known.about and known.source for known in KNOWN.values())


def test_the_command_prints_and_draws_what_it_has_computed(tmp_path):
    done = CliRunner().invoke(main, ["verify", "okada_table", "tidal_arguments", "-o", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    found = json.loads((tmp_path / "out/verify.json").read_text())
    assert {answer["right"] for answers in found.values() for answer in answers} == {True}
    assert (tmp_path / "out/verify.png").stat().st_size > 10_000


@pytest.mark.promise("the model gives the known answers")
@pytest.mark.parametrize("measured", [2.0, float("nan"), np.float32(2.0)])
def test_a_wrong_answer_has_an_exit_code_of_its_own(monkeypatch, tmp_path, measured):
    wrong = Known("wrong", "A wrong answer", "nobody", True, lambda: iter([Answer("a number", measured, 1.0, 0.1)]))
    monkeypatch.setitem(known_answers.KNOWN, "wrong", wrong)
    done = CliRunner().invoke(main, ["verify", "wrong", "-o", str(tmp_path)])
    assert done.exit_code == 6
    assert "a number" in done.stderr
    assert json.loads((tmp_path / "verify.json").read_text())["wrong"][0]["right"] is False


def test_an_unknown_name_is_refused():
    done = CliRunner().invoke(main, ["verify", "kelvin_wav"])
    assert done.exit_code == 2
    assert "kelvin_wave" in done.stderr
