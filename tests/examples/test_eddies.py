"""The pictures of eddies without viscosity, of a day on few cells."""

import re

import pytest
from support.example import example

pytestmark = pytest.mark.night


@pytest.mark.slow
def test_the_pictures_are_drawn_and_turbulence_gains_nothing(tmp_path, monkeypatch):
    eddies, told = example("eddies"), []
    for name, value in {"FOLDER": tmp_path, "DAYS_OF_JET": 1, "DAYS": 0.5, "FRICTION": {40: 5e11}}.items():
        monkeypatch.setattr(eddies, name, value)
    eddies.draw_jet(told.append)
    eddies.draw_spectra(told.append)
    assert {path.name for path in tmp_path.iterdir()} == {"jet_fluxes.png", "eddies_spectra.png"}
    left = [float(number) for words in told[2:] for number in re.findall(r"\d\.\d+", words)]
    assert len(left) == 4
    assert 0 < min(left) <= max(left) <= 1
