"""The wind-driven gyre with linear drag comes to Stommel's (1948) steady state, also with other scales."""

import pytest

from swmodel.bench.known_answers.flows import stommel_gyre

pytestmark = pytest.mark.night

SCALED = {"grid.ny": 31, "grid.dx": 1e4, "grid.dy": 3e4, "grid.origin": "middle", "physics.linear_drag": 1.2e-6}


def test_streamfunction_is_stommels():
    answers = stommel_gyre({**SCALED, "physics.gravity": 1.0, "physics.depth": 500.0, "case.wind": 1e-3})
    assert [answer for answer in answers if not answer.right] == []
