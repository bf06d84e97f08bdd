"""What an ensemble may be: `--perturb` in words of the configuration, and what is refused before the start."""

import pytest
from support.small_ensemble import configuration

import swmodel
from swmodel.cli.ensemble import overrides_of_perturbations
from swmodel.cli.options import PERTURBATIONS, as_typed
from swmodel.config import ConfigError
from swmodel.model.ensemble import settings
from swmodel.model.ensemble.settings import CELLS, unresolved

pytestmark = pytest.mark.slow

UNPERTURBED = {f"ensemble__{key}": 0.0 for keys in PERTURBATIONS.values() for key in keys}


def test_words_of_the_command_line_become_keys():
    """Wind without a length is one number, whatever the file says."""
    assert overrides_of_perturbations(["wind=0.1"]) == ["ensemble.wind=0.1", "ensemble.wind_length=0"]
    words = ["initial.eta=0.5,1e5", "wind=0.1,2e5", "viscosity=0.3"]
    assert overrides_of_perturbations(words) == [
        "ensemble.initial_eta=0.5",
        "ensemble.initial_eta_length=1e5",
        "ensemble.wind=0.1",
        "ensemble.wind_length=2e5",
        "ensemble.viscosity=0.3",
    ]


def test_messages_speak_of_the_words_that_were_typed():
    assert as_typed("-s ensemble.wind=-1: must be") == "--perturb wind=-1: must be"
    assert as_typed("-s ensemble.wind_length=x: must be") == "--perturb wind=SIZE,x: must be"


def test_without_a_perturbation_the_sea_level_has_one_that_the_grid_resolves():
    options = configuration(**UNPERTURBED).ensemble
    assert (options.initial_eta, options.initial_eta_length) == (0.05, CELLS * 8e4)
    narrow = configuration(**UNPERTURBED, grid__nx=2, grid__ny=1).ensemble
    assert narrow.initial_eta_length == 2 * 8e4
    assert list(unresolved(configuration(ensemble__initial_eta_length=2.9 * 8e4)))


def test_what_cannot_be_meant_is_refused_together():
    wrong = {"viscosity": 500.0, "initial_eta_length": 1e12, "wind_length": 1.3e6}
    with pytest.raises(ConfigError) as error:
        configuration(
            output__means=("eta",),
            output__diagnostics_every_steps=3,
            **{f"ensemble__{key}": value for key, value in wrong.items()},
        )
    text = "\n".join(error.value.problems)
    assert "ensemble.viscosity: 500 is the standard deviation of the logarithm of a factor, not of" in text
    assert "ensemble.initial_eta_length: 1e+12 m is longer than the domain; at most 1.28e+06 m" in text
    assert "ensemble.wind_length: 1.3e+06 m is longer than the domain" in text
    for key in ("means", "diagnostics_every_steps"):
        assert f"output.{key}: has no effect on an ensemble" in text


def test_options_of_the_case_without_effect_are_left_out():
    assert configuration(case__name="adjustment", time__stepper="rk3", **UNPERTURBED).output.means == ()
    with_gauges = swmodel.load("chile2010", {"run.steps": 3, "ensemble.members": 2})
    assert with_gauges.output.stations
    assert settings.check_ensemble(with_gauges).output.stations == ()


def test_members_must_fit_into_the_memory_of_one_process_not_of_all(monkeypatch):
    monkeypatch.setattr(settings, "total_memory", lambda: 100_000)
    with pytest.raises(ConfigError, match=r"ensemble\.members: 40 members in a process need at least"):
        configuration(ensemble__members=40)
    assert configuration(ensemble__members=40, run__nproc=20).run.nproc == 20
