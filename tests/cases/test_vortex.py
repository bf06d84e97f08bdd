"""The vortex in cyclogeostrophic balance stays as it is except for an error of second order in the spacing."""

import numpy as np
import pytest

from swmodel.bench.known_answers.answer import order, refined, simulate

pytestmark = pytest.mark.slow

GRID = {"nx": 48, "ny": 48, "dx": 13e3, "dy": 13e3}


def changes(factor, overrides):
    """Largest change of eta, u and v in half a day over the largest value of each."""
    simulation = simulate("vortex", {**refined(GRID, factor), **overrides}, 0.0)
    before = simulation.fields(["eta", "u", "v"])
    simulation.advance(round(43200 / simulation.dt))
    after = simulation.fields(["eta", "u", "v"])
    return [np.abs(after[name] - before[name]).max() / np.abs(before[name]).max() for name in before]


@pytest.mark.parametrize(
    "overrides",
    [
        {},
        {"case.speed": -1.5, "scheme.vorticity_flux": "enstrophy", "physics.gravity": 1.0, "physics.depth": 400.0},
        {"case.speed": 2.0, "scheme.vorticity_flux": "arakawa_lamb", "time.stepper": "rk3"},
    ],
)
def test_error_is_of_second_order(overrides):
    coarse, fine = changes(1, overrides), changes(2, overrides)

    assert max(fine) < 0.01
    assert [order(*pair) for pair in zip(coarse, fine, strict=True)] == pytest.approx([2, 2, 2], abs=0.2)
