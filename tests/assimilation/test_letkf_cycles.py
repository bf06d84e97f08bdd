"""LETKF of a small twin: the members come nearer to the truth, the file and the picture say so, wrong settings stop."""

import json
import os
import re
import signal

import netCDF4
import numpy as np
import pytest
from support.small_twin import SMALL
from support.small_weather import weather

import swmodel
from swmodel.assimilation import assimilate, filter, settings
from swmodel.assimilation.experiment import prepare
from swmodel.assimilation.filter import Filter
from swmodel.config import ConfigError
from swmodel.errors import Stopped, UsageError
from swmodel.model.resolve import resolve
from swmodel.plotting import plot

pytestmark = pytest.mark.slow

#: Settings of the filter; errors of the first guess as large as they are.
LETKF = {
    "assimilation.method": "letkf",
    "assimilation.cycle_steps": 6,
    "assimilation.localisation": 8e5,
    "assimilation.sigma_eta": 10.0,
    "ensemble.members": 24,
}


def small(**more):
    return resolve(swmodel.load("double_gyre_twin", SMALL | LETKF | more, environ={}))


@pytest.fixture(scope="module")
def experiment(tmp_path_factory):
    return prepare(small(), tmp_path_factory.mktemp("twin"), None, derivatives=False)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_members_start_from_the_first_guess_and_its_errors(dtype, tmp_path, monkeypatch):
    """Their mean is the first guess, their spread sigma; the numbers depend on the seed, and on nothing else."""
    config = small(**{"run.dtype": dtype, "ensemble.members": 60, "assimilation.length": 3e5})
    experiment = prepare(config, tmp_path, None, derivatives=False)
    filter_ = Filter(config, experiment)
    fields = filter_.fields()
    size = np.abs(np.asarray(experiment.base["eta"])).max()
    rounding = 4 * np.finfo(dtype).eps * float(filter_.depth.max() + size)
    for name in settings.STATE:
        np.testing.assert_allclose(fields[name].mean(axis=0), experiment.base[name], rtol=0, atol=rounding)
    spread = filter_.moments(fields["eta"]).spread
    assert 0.8 < np.sqrt(np.mean(spread**2)) / 10.0 < 1.2
    assert (fields["u"][..., -1] == 0).all()  # closed faces in the east
    monkeypatch.setattr(filter, "GATHERED", 60 * 7)  # in strips of seven points
    again = Filter(config, experiment)
    for name, values in again.fields().items():
        np.testing.assert_array_equal(values, fields[name])
    other = small(**{"run.dtype": dtype, "ensemble.members": 60, "assimilation.length": 3e5, "ensemble.seed": 1})
    assert (Filter(other, experiment).fields()["eta"] != fields["eta"]).all()


def test_an_analysis_changes_no_bit_far_from_observations(experiment):
    config = small(**{"assimilation.localisation": 2.5e5})
    filter_ = Filter(config, experiment)
    before = filter_.fields()
    for sample in range(3):
        filter_.observe(sample)
    chosen = np.flatnonzero(filter_.operator.sample == 0)[:1]
    filter_.analyse(chosen)
    x, y = (axis[chosen] for axis in (experiment.observations.x, experiment.observations.y))
    columns, rows = 100e3 * (np.arange(10) + 0.5), 100e3 * (np.arange(12) + 0.5)
    after = filter_.fields()
    for name, (north, east) in (("eta", (0, 0)), ("u", (0, 0.5)), ("v", (0.5, 0))):
        apart = np.hypot(columns + east * 100e3 - x, (rows + north * 100e3 - y)[:, None])
        changed = (after[name] != before[name]).any(axis=0)
        assert not changed[apart >= 2.5e5].any()
        assert changed[apart < 1e5].any()


@pytest.mark.night
def test_a_corrected_member_runs_as_the_run_with_its_corrections_and_observations_change_them(tmp_path):
    """Corrections at records a day apart, linear in time between them; steps of a record's interval and a part."""
    winds = {"assimilation.controls": ("eta", "u", "v", "wind_x_correction", "wind_y_correction")}
    winds |= {"assimilation.correction_every": 43200.0, "assimilation.correction_length": 3e5}
    winds |= {"assimilation.sigma_wind_correction": 0.1, "assimilation.correlation_time": 86400.0, "grid.nx": 11}
    config = resolve(swmodel.load("double_gyre_winds", SMALL | LETKF | winds | {"ensemble.members": 3}, environ={}))
    experiment = prepare(config, tmp_path, None, derivatives=False)
    filter_ = Filter(config, experiment)
    filter_.members.take_steps(0)
    x = {name: values[1] for name, values in filter_.fields().items()}
    assert x["wind_x_correction"].std() > 0.05
    *_, expected = experiment.problem.states(x, 30)
    for step in (6, 12, 17, 30):
        filter_.members.take_steps(step - filter_.members.step)
    for field, known in zip(filter_.members.state, expected, strict=True):
        np.testing.assert_allclose(field[1], known, rtol=0, atol=1e-11 * np.abs(known).max())
    filter_ = Filter(config, experiment)
    before = {name: values.copy() for name, values in filter_.corrections.items()}
    filter_.members.take_steps(15)
    filter_.observe(5)
    filter_.analyse(np.flatnonzero(filter_.operator.sample == 5))
    for name, values in filter_.corrections.items():
        changed = (values != before[name]).any(axis=(0, 2, 3))
        assert changed.tolist() == [False, True, True, True], name  # records at 0, 0.5, 1 and 1.5 days; now 0.625 days


def test_an_analysis_corrects_the_water_outside_near_observations(tmp_path):
    """Also in the outermost cells of open sides, which are not of the sea."""
    sides = {"open_sides.sides": ("west", "south"), "assimilation.controls": ("eta", "outside_level_correction")}
    options = {"assimilation.sigma_outside_level_correction": 1e-3, "assimilation.localisation": 4.5e5}
    config = weather(**LETKF | sides | options | {"assimilation.cycle_steps": 0, "ensemble.members": 4})
    filter_ = Filter(config, prepare(config, tmp_path, None, derivatives=False))
    before = filter_.fields()["outside_level_correction"].copy()
    filter_.members.take_steps(5)
    filter_.observe(1)
    chosen = np.flatnonzero(filter_.operator.sample == 1)
    filter_.analyse(chosen)
    changed = (filter_.corrections["outside_level_correction"] != before).any(axis=(0, 1))
    x, y = (axis[chosen, None, None] for axis in (filter_.observations.x, filter_.observations.y))
    columns, rows = 120e3 * (np.arange(7) + 0.5), 120e3 * (np.arange(9) + 0.5)
    np.testing.assert_array_equal(changed, (np.hypot(columns - x, rows[:, None] - y) < 4.5e5).any(axis=0))
    assert changed[:, 0].any()
    assert changed[0].any()


def test_the_members_come_nearer_to_the_truth(tmp_path):
    said = []
    assimilate.compute(small(), tmp_path, {}, lambda event: said.append(event["words"]), "", lambda function: None)
    results = json.loads((tmp_path / "assimilation.json").read_text(), parse_constant=pytest.fail)
    assert [round(row["day"], 3) for row in results["cycles"]] == [0.25, 0.5, 0.75, 1, 1.25]
    assert sum(row["observations"] for row in results["cycles"]) == results["observations"]
    assert len([words for words in said if "misfit" in words]) == 5
    eta = results["twin"]["forecast"]["eta"]
    for day in (1, -1):
        assert eta["analysis"]["everywhere"][day] < 0.5 * eta["background"]["everywhere"][day]
    assert eta["spread"]["everywhere"][1] < 0.5 * eta["spread"]["everywhere"][0]
    with netCDF4.Dataset(tmp_path / "analysis.nc") as file:
        assert (file["eta_spread"][:] > 0).all()
        increment = file["eta_analysis"][:] - file["eta_background"][:]
        np.testing.assert_array_equal(file["eta_increment"][:], increment)
        misfits = file["departure_analysis"][:] / file["observation_error"][:]
        np.testing.assert_allclose(np.sqrt(np.mean(misfits**2)), results["misfit"]["analysis"])
        assert file["cycle_day"][:].size == 5
    assert (tmp_path / "assimilation.png").stat().st_size > 10000
    assert plot(tmp_path) == tmp_path / "assimilation.png"
    assert re.search(r"5 analyses with 24 members.*misfit of \d+ observations", assimilate.summary(tmp_path))


@pytest.mark.parametrize(("dtype", "stepper"), [("float32", "ab2"), ("float64", "gfb")])
def test_stopped_after_an_analysis_and_continued_a_filter_has_the_same_bits(dtype, stepper, tmp_path):
    """One with another number of members is refused."""
    more = {"run.dtype": dtype, "time.stepper": stepper, "time.dt": 1800.0, "run.steps": 18, "ensemble.members": 5}

    def run(folder, resume=False, report=lambda event: None, **other):
        (tmp_path / folder).mkdir(exist_ok=True)
        options = {"resume": resume}
        assimilate.compute(small(**more | other), tmp_path / folder, options, report, "", lambda function: None)

    def stop_after_two(event):
        if event["step"] == 2:
            os.kill(os.getpid(), signal.SIGTERM)

    run("one")
    with pytest.raises(Stopped, match="2 cycles"):
        run("two", report=stop_after_two)
    with pytest.raises(UsageError, match=r"ensemble\.members"):
        run("two", resume=True, **{"ensemble.members": 4})
    said = []
    run("two", resume=True, report=lambda event: said.append(event["step"]))
    assert said == [3]
    with netCDF4.Dataset(tmp_path / "one/analysis.nc") as ours, netCDF4.Dataset(tmp_path / "two/analysis.nc") as theirs:
        for name in ours.variables:
            np.testing.assert_array_equal(theirs[name][:], ours[name][:], err_msg=name)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"assimilation.cycle_steps": 7}, "assimilation.cycle_steps: 7 "),
        ({"assimilation.cycle_steps": 5}, "assimilation.cycle_steps: 5 .*every_steps"),
        ({"assimilation.localisation": 0.0}, "assimilation.localisation"),
        (
            {"assimilation.controls": ("eta", "u", "v", "viscosity"), "assimilation.sigma_viscosity": 1.0},
            "assimilation.controls: .*viscosity",
        ),
        ({"ensemble.initial_eta": 1.0, "ensemble.initial_eta_length": 3e5}, "ensemble.initial_eta"),
        ({"ensemble.viscosity": 30.0}, "ensemble.viscosity"),
        ({"run.executor": "reference"}, "executor"),
        ({"run.devices": 2}, "run.devices"),
    ],
)
def test_what_is_wrong_is_said(changes, message):
    with pytest.raises((ConfigError, UsageError), match=f"(?s){message}"):
        settings.check_assimilation(small(**changes))


@pytest.mark.parametrize("changes", [{"ensemble.members": 1}, {"assimilation.inflation": 0.9}])
def test_settings_without_meaning_are_refused(changes):
    with pytest.raises(ConfigError, match=next(iter(changes))):
        small(**changes)
