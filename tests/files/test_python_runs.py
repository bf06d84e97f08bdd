"""A run with a user's case, fields or terms continues from its files alone; what is in no file must be given again."""

import os
import shutil
from functools import partial

import h5py
import netCDF4
import numpy as np
import pytest
from support.command import invoke_swmodel
from support.marks import night_params
from support.restarts import assert_same_data, assert_same_run
from support.stepping import has_same_bits
from support.user_case import BUMP_CODE, SHORT_RUN_OPTIONS, write_bump

import swmodel
from swmodel.files.restart.folder import restart_path
from swmodel.setup.fields import evaluate

pytestmark = pytest.mark.slow

SMALL = {"grid.nx": 12, "grid.ny": 8, "grid.periodic_x": False, "time.dt": 20.0, "run.executor": "reference"}
SMALL |= {"run.steps": 6, "restart.every_steps": 3}
PLANE = {"grid.dx": 1e4, "grid.dy": 1e4}
#: A rotated-pole grid, where each component of a vector along the axes depends on both given components.
SPHERE = {"grid.kind": "latlon", "grid.west": 0.0, "grid.east": 60.0, "grid.south": 10.0, "grid.north": 50.0}
SPHERE |= {"grid.pole": [-42.0, 76.0]}
DEPTH = 100.0 + np.random.default_rng(5).random((8, 12))
FIELDS = {"depth": DEPTH, "wind_x": lambda at: 0.1 * np.sin(at.y / 3e4) + 0.0 * at.x, "eta": 0.01}


def simulation(fields=FIELDS, terms=(), grid=PLANE, **options):
    options = {name.replace("__", "."): value for name, value in options.items()}
    return swmodel.Simulation(swmodel.Case, SMALL | grid | options, fields=fields, terms=terms)


def resume(folder, steps=9):
    return invoke_swmodel("resume", folder, "--steps", steps, "--quiet")


@pytest.mark.parametrize(("format", "ends"), [("netcdf", (9, 15)), *night_params(("zarr", (15,)))])
def test_run_with_python_fields_continues_any_number_of_times(tmp_path, format, ends):
    """Even after the restart files from which it has read the fields have been removed; with drifters."""
    run, whole = tmp_path / "run", tmp_path / "whole"
    drifters = {"output__drifters": [[30e3, 20e3]], "restart__every_steps": 6}
    simulation(restart__format=format, **drifters).run(run)
    for steps in ends:
        done = resume(run, steps)
        assert (done.exit_code, done.stderr) == (0, "")
    simulation(run__steps=15, **drifters).run(whole)
    assert_same_data(restart_path(run, 15, format), restart_path(whole, 15))
    assert_same_data(run, whole, "output.nc", "diagnostics.nc", "drifters.nc")


@pytest.mark.fault("a damaged field in a restart file")
def test_restart_file_holds_all_python_fields(tmp_path):
    """If one is damaged, the older file is used."""
    folder, whole = tmp_path / "run", simulation()
    whole.run(folder)
    with h5py.File(restart_path(folder, 6), "r+") as file:
        file["python_depth"][3, 4] += 1e-9
    done = resume(folder)
    assert done.exit_code == 0
    assert "damaged: variable python_depth; the run continues from step-0000000003.nc" in done.stderr
    alone = restart_path(folder, 9).rename(tmp_path / "alone.nc")
    with h5py.File(alone) as file:
        np.testing.assert_array_equal(file["python_depth"][:], DEPTH)
        assert file["python_wind_x"].attrs["units"] == b"Pa"
    model = swmodel.Simulation.from_restart(alone)
    assert (model.step, model.config.python.names) == (9, ["depth", "wind_x", "eta"])
    whole.advance(3)
    assert has_same_bits(model.state, whole.state)


def test_vector_components_are_rotated_again_on_resume(tmp_path):
    """Both components of a vector, or only one."""

    def wave(by):
        return lambda at: by * np.sin(np.radians(at.lat + by * at.lon))

    fields = {"u": wave(1), "v": wave(2), "wind_y": wave(3)}
    simulation(fields, grid=SPHERE).run(tmp_path / "run")
    assert resume(tmp_path / "run").exit_code == 0
    whole = simulation(fields, grid=SPHERE, run__steps=9)
    whole.run(tmp_path / "whole")
    assert_same_run(tmp_path / "run", tmp_path / "whole", 9)
    kept = swmodel.Simulation.from_restart(restart_path(tmp_path / "run", 9)).config
    for name in ("u", "v", "wind_x", "wind_y"):
        ours, theirs = (evaluate(config, name, np.arange(8), np.arange(12)) for config in (kept, whole.config))
        np.testing.assert_array_equal(ours, theirs)
        assert np.abs(ours).max() > 0.1


def drag(state, grid, t, roughness, factor=1):
    return {"u": -factor * swmodel.operators.mx_f(roughness) * state.u}


def gusts(at, t, size=0.1):
    return size * np.sin(at.y / 3e4 + t / 50) + 0.0 * at.x


def rename_function(function, name, **options):
    changed = partial(function, **options)
    changed.__name__ = name
    return changed


@pytest.mark.fault("the term or class differs when a run continues")
@pytest.mark.fault("a run continues with other values in time, or without them")
@pytest.mark.parametrize(
    ("given", "again", "other", "code", "name", "more"),
    [
        ({"terms": [drag], "fields": {"roughness": 1e-4}}, {"terms": [drag]},
         {"terms": [rename_function(drag, "drag", factor=2)]}, 2, "drag",
         {"run__executor": "xla", "run__reproducible": True}),
        ({"fields": FIELDS | {"wind_x": gusts}}, {"fields": {"wind_x": gusts}},
         {"fields": {"wind_x": rename_function(gusts, "gusts", size=0.2)}}, 5, "wind_x", {"forcing__every": 50.0}),
    ],
    ids=["term", "values in time"],
)  # fmt: skip
def test_resume_needs_the_same_terms_and_time_functions(tmp_path, given, again, other, code, name, more):
    folder = tmp_path / "run"
    simulation(**given, **more).run(folder)
    done = resume(folder)
    assert (done.exit_code, name in done.stderr) == (code, True), done.stderr
    assert "swmodel.Simulation.resume" in done.stderr
    with pytest.raises(swmodel.ConfigError, match=rf"python\.{name}: SHA-256 \w+\.\.\. before, SHA-256 \w+\.\.\. now"):
        swmodel.Simulation.resume(folder, {"run.steps": 9}, **other).run(folder)
    swmodel.Simulation.resume(folder, {"run.steps": 9}, **again).run(folder)
    simulation(**given, **more, run__steps=9).run(tmp_path / "whole")
    assert_same_run(folder, tmp_path / "whole", 9)


#: The file of a case that counts how often it is executed.
COUNTING_CASE = "import os\nos.environ['EXECUTED'] = str(int(os.environ.get('EXECUTED', 0)) + 1)\n" + BUMP_CODE


@pytest.fixture
def bump_run(tmp_path):
    """A run of the example of docs/cases.md, of six steps with restart files at three and six; its file is gone."""
    path = write_bump(tmp_path)
    swmodel.Simulation(swmodel.load(path, SHORT_RUN_OPTIONS, {})).run(tmp_path / "run")
    path.unlink()
    return tmp_path / "run"


@pytest.mark.fault("the case file of a run has changed, or is gone")
def test_files_of_a_run_hold_its_case(bump_run, tmp_path):
    assert (bump_run / "case.py").read_text(encoding="utf-8") == BUMP_CODE
    assert 'name = "bump"\nfile = "case.py"\nsha256 = "' in (bump_run / "config.toml").read_text()
    for path in (bump_run / "output.nc", bump_run / "diagnostics.nc", restart_path(bump_run, 3)):
        with netCDF4.Dataset(path) as data:
            assert data.case_file == BUMP_CODE
            assert "bump" in data.title
    alone = shutil.copy(restart_path(bump_run, 3), tmp_path / "alone.nc")
    whole = swmodel.Simulation.from_restart(bump_run)
    shutil.rmtree(bump_run)
    other = swmodel.Simulation.from_restart(alone)
    assert (other.step, other.config) == (3, whole.config)
    other.advance(3)
    assert has_same_bits(other.state, whole.state)


@pytest.mark.fault("the case file of a run has changed, or is gone")
def test_resume_refuses_another_case(bump_run):
    was = (bump_run / "output.nc").read_bytes()
    config = (bump_run / "config.toml").read_text()
    unsigned = "".join(line for line in config.splitlines(True) if not line.startswith("sha256"))
    changed, place = BUMP_CODE + "# as before\n", (f"{bump_run}/config.toml:3:", f"{bump_run}/case.py")
    for case, text, words in (
        (changed, config, (*place, "SHA-256")),
        (changed, unsigned, ("another run", "SHA-256")),
        (None, unsigned, (*place, "case.py: there is no such file")),
    ):
        (bump_run / "case.py").write_text(case) if case else (bump_run / "case.py").unlink()
        (bump_run / "config.toml").write_text(text)
        done = resume(bump_run)
        assert done.exit_code == 2
        assert all(each in done.stderr for each in ("case.file: ", *words)), done.stderr
    assert (bump_run / "output.nc").read_bytes() == was


@pytest.mark.fault("a folder from someone else holds a case file")
def test_reading_a_run_does_not_execute_its_case(tmp_path, monkeypatch):
    path, folder = write_bump(tmp_path, COUNTING_CASE), tmp_path / "run"
    monkeypatch.setenv("EXECUTED", "0")
    swmodel.Simulation(swmodel.load(path, SHORT_RUN_OPTIONS, {})).run(folder)
    assert os.environ["EXECUTED"] == "1"
    (folder / "case.py").write_text(COUNTING_CASE + "# changed\n")
    assert "bump, case.py\n" in invoke_swmodel("info", folder).stdout
    assert invoke_swmodel("plot", folder, "--output", tmp_path / "plot.png").exit_code == 0
    verdicts = {COUNTING_CASE + "# changed\n": "damaged: ", COUNTING_CASE: "intact", "": "cannot be read: "}
    for text, verdict in verdicts.items():
        (folder / "case.py").write_text(text) if text else (folder / "case.py").unlink()
        told = invoke_swmodel("info", "--verify", folder)
        assert told.exit_code == (0 if verdict == "intact" else 5)
        assert f"case.py: {verdict}" in told.stdout
    assert os.environ["EXECUTED"] == "1"


class Bump(swmodel.Case):
    height: float = swmodel.option(0.5, "m", "height")

    def eta(self, config, at):
        return self.height * (at.i > 3)


@pytest.mark.fault("the term or class differs when a run continues")
def test_run_of_a_class_continues_unless_its_fields_change(tmp_path, monkeypatch):
    """It continues because its files contain the fields."""
    options, folder = SHORT_RUN_OPTIONS | {"case.height": 0.2, "time.dt": 10.0}, tmp_path / "run"
    swmodel.Simulation(swmodel.load(Bump, options, {})).run(folder)
    assert not (folder / "case.py").exists()
    for case in (None, Bump):
        simulation = swmodel.Simulation.from_restart(folder, case=case)
        assert (simulation.step, simulation.config.case.height) == (6, 0.2)
    done = resume(folder)
    assert (done.exit_code, done.stderr) == (0, "")
    swmodel.Simulation(swmodel.load(Bump, options | {"run.steps": 9}, {})).run(tmp_path / "whole")
    assert_same_run(folder, tmp_path / "whole", 9)
    monkeypatch.setattr(Bump, "eta", lambda self, config, at: 0.3 * (at.i > 3))
    changed = swmodel.load(Bump, options | {"run.steps": 15}, {})
    with pytest.raises(swmodel.ConfigError, match=r"python\.eta: SHA-256 .* before, SHA-256 .* now"):
        swmodel.Simulation(changed, restart=restart_path(folder, 9)).run(folder)
