"""The tide of the Salish Sea is lowest near Victoria, and high and late in the strait of Georgia, as it is observed."""

import numpy as np
import pytest

import swmodel

pytestmark = pytest.mark.night

#: Rows and columns near places.
OCEAN, VICTORIA, VANCOUVER = (40, 3), (16, 78), (58, 81)


def test_semidiurnal_tide_has_the_observed_amplitude_and_lag():
    simulation = swmodel.Simulation(swmodel.load("salish_sea", {"open_sides.amplitude": [0.8, 0.0]}, environ={}))
    simulation.advance(round(0.75 * 86400 / simulation.dt))
    levels, times = [], []
    for _ in range(25):
        simulation.advance(round(0.5 * 3600 / simulation.dt))
        eta = simulation.field("eta")
        levels.append([eta[place] for place in (OCEAN, VICTORIA, VANCOUVER)])
        times.append(simulation.time)
    w = 2 * np.pi / 44714.164
    basis = np.stack([np.exp(1j * w * np.array(times)).real, np.exp(1j * w * np.array(times)).imag, np.ones(25)], 1)
    cosine, sine, _ = np.linalg.lstsq(basis, np.array(levels), rcond=None)[0]
    ocean, victoria, vancouver = np.hypot(cosine, sine)
    late = np.degrees(np.arctan2(sine, cosine)) / 360 * 12.42

    assert 0.7 < ocean < 0.9
    assert victoria < 0.6 * ocean
    assert vancouver > 1.5 * victoria
    assert 4 < (late[2] - late[0]) % 12.42 < 7
