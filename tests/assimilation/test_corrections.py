"""4D-Var with errors of the model: corrections of the wind are found with the state, and need right settings."""

import json

import pytest
from support.small_weather import CONTROLS, weather

from swmodel.assimilation import assimilate, settings
from swmodel.assimilation.experiment import problem_of
from swmodel.config import ConfigError
from swmodel.errors import UsageError

pytestmark = pytest.mark.compiled


def ignore(*_):
    """Tick."""


def errors_at_the_end(folder, **more):
    """Rms errors of eta and current at the end of the window, of first guess and analysis."""
    assimilate.compute(weather(**more), folder.mkdir() or folder, {}, ignore, "", ignore)
    results = json.loads((folder / "assimilation.json").read_text())
    forecast, misfit = results["twin"]["forecast"], results["misfit"]["analysis"]
    number = forecast["days"].index(forecast["window_days"])
    return misfit, *(forecast[name]["analysis"]["everywhere"][number] for name in ("eta", "current"))


def test_without_them_the_analysis_is_worse(tmp_path):
    # Winds of 0.1 mPa move still water by as much as the gauges see.
    certain = {"case.eta_error": 1e-5, "case.velocity_error": 1e-6, "case.separation": 5e5, "case.moorings": 3}
    strong = errors_at_the_end(tmp_path / "strong", **certain, **{"assimilation.controls": CONTROLS[:3]})
    weak = errors_at_the_end(tmp_path / "weak", **certain)
    assert all(ours < 0.5 * theirs for ours, theirs in zip(weak, strong, strict=True))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"assimilation.correction_every": "1 min"}, "correction_every: must be from a time step, 7200 s, to the"),
        ({"assimilation.correction_every": "3 days"}, "correction_every: .*to the window of 144000 s, not 259200 s"),
        ({"assimilation.sigma_wind_correction": 0.0}, "errors of wind_x_correction and wind_y_correction"),
        ({"assimilation.length": 0.0}, "assimilation.length: must be above 0 m, for the errors of eta, u, v$"),
        ({"assimilation.correction_length": 0.0, "assimilation.length": 0.0}, "eta, u, v, wind_x_correction"),
        ({"run.devices": 2}, "run.devices"),
    ],
)
def test_what_is_missing_or_wrong_is_reported(changes, message):
    with pytest.raises((ConfigError, UsageError), match=f"(?m){message}"):
        settings.check_assimilation(weather(**changes))


def test_a_correction_without_its_forcing_is_reported():
    with pytest.raises(UsageError, match="outside_level_correction: no effect in this run"):
        problem_of(weather(), ["outside_level_correction"], 5, ignore)
