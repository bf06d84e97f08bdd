"""Settings of an assimilation: what is refused before the start, and a first choice that suits each case."""

import pytest
from support.small_twin import LETKF, twin
from support.small_weather import weather

import swmodel
from swmodel.assimilation import settings
from swmodel.assimilation.experiment import problem_of
from swmodel.config import ConfigError
from swmodel.errors import UsageError
from swmodel.model.resolve import resolve


def jet(**changes):
    return resolve(swmodel.load("jet", {"assimilation.controls": ["eta"]} | changes, environ={}))


def letkf(**changes):
    return twin(**LETKF | changes)


#: The configuration, what is changed in it, and what the message must name.
REFUSED = [
    (jet, {}, "assimilation.observations"),
    (twin, {"assimilation.sigma_eta": 0.0}, "assimilation.sigma_eta"),
    (twin, {"assimilation.sigma_velocity": 0.0}, "assimilation.sigma_velocity: .* u and v"),
    (twin, {"assimilation.length": 0.0}, "assimilation.length"),
    (twin, {"assimilation.controls": ("eta", "eta")}, "assimilation.controls"),
    (twin, {"assimilation.controls": ()}, "assimilation.controls"),
    (twin, {"assimilation.controls": ("eta",)}, "assimilation.balanced: .*eta, u and v"),
    (twin, {"assimilation.observations": "/none.nc"}, "/none.nc"),
    (twin, {"assimilation.every_steps": 7}, "assimilation.every_steps: 7 .*30"),
    (twin, {"case.moorings": 0, "case.repeat": 1e6}, "case: no observation"),
    (twin, {"run.executor": "reference"}, "executor reference"),
    (twin, {"run.devices": 2}, "run.devices"),
    (weather, {"assimilation.correction_every": "1 min"}, "correction_every: .*7200 s"),
    (weather, {"assimilation.correction_every": "3 days"}, "correction_every: .*144000 s, not 259200 s"),
    (weather, {"assimilation.sigma_wind_correction": 0.0}, "wind_x_correction and wind_y_correction"),
    (weather, {"assimilation.length": 0.0}, "assimilation.length: .*eta, u, v$"),
    (weather, {"assimilation.correction_length": 0.0, "assimilation.length": 0.0}, "eta, u, v, wind_x_correction"),
    *((weather, {"assimilation.impact": of}, f"^assimilation.impact {of}") for of in ("speed", "eta:no", "eta:-1e9,0")),
    (letkf, {"assimilation.cycle_steps": 7}, "assimilation.cycle_steps: 7 "),
    (letkf, {"assimilation.cycle_steps": 5}, "assimilation.cycle_steps: 5 .*every_steps"),
    (letkf, {"assimilation.localisation": 0.0}, "assimilation.localisation"),
    (letkf, {"assimilation.controls": ("eta", "gravity"), "assimilation.balanced": False}, "controls: .*gravity"),
    (letkf, {"assimilation.inflation": 0.9}, "assimilation.inflation"),
    (letkf, {"ensemble.members": 1}, "ensemble.members"),
    (letkf, {"ensemble.initial_eta": 1.0, "ensemble.initial_eta_length": 3e5}, "ensemble.initial_eta"),
    (letkf, {"ensemble.viscosity": 30.0}, "ensemble.viscosity"),
    (letkf, {"run.executor": "reference"}, "executor"),
]


@pytest.mark.parametrize(("config", "changes", "words"), REFUSED)
def test_settings_are_refused_by_name(config, changes, words):
    with pytest.raises((ConfigError, UsageError), match=f"(?sm){words}"):
        settings.check_assimilation(config(**changes))


def test_correction_needs_its_forcing():
    with pytest.raises(UsageError, match="outside_level_correction"):
        problem_of(weather(), ["outside_level_correction"], 5, lambda *_: None)


@pytest.mark.parametrize("case", ["jet", "double_gyre", "seamount"])
def test_first_choice_suits_the_case(case):
    config = resolve(swmodel.load(case, environ={}))
    values = settings.template_of(config) | {"controls": ("eta",), "observations": "there.nc"}
    options = config.assimilation.model_copy(update=values)
    assert list(settings.problems(config.model_copy(update={"assimilation": options}))) == []
