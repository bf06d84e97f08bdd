"""Equatorial waves keep their shape and go round with the frequency of their branch (Matsuno 1966)."""

import numpy as np
import pytest
from support.known_answers import order, refined, simulate, whole

import swmodel
from swmodel.cases import equatorial

GRID = {"nx": 40, "ny": 36, "dx": 1e5, "dy": 1e5}
WAVES = ["kelvin", "rossby", "mixed", "gravity"]


def quarter(wave, factor, overrides=()):
    """(simulation, exact solution for eta, u and v) after a quarter of the wave's period."""
    overrides = {**refined(GRID, factor), "case.wave": wave, "case.amplitude": 1e-5, **dict(overrides)}
    config = swmodel.load("equatorial", overrides, environ={})
    simulation = simulate("equatorial", overrides, np.pi / 2 / abs(equatorial.frequency(config)))
    points = (whole(config, location) for location in ("centre", "u", "v"))
    return simulation, [equatorial.solution(config, at, simulation.time)[n] for n, at in enumerate(points)]


@pytest.mark.parametrize("wave", WAVES)
def test_error_is_of_second_order(wave):
    errors = []
    for factor in (1, 2):
        simulation, exact = quarter(wave, factor)
        fields = simulation.fields(["eta", "u", "v"])
        scale = np.abs(exact[0]).max(), *(2 * [np.hypot(np.abs(exact[1]).max(), np.abs(exact[2]).max())])
        errors.append(
            max(np.abs(field - true).max() / s for field, true, s in zip(fields.values(), exact, scale, strict=True))
        )

    assert order(*errors) == pytest.approx(2, abs=0.15)
