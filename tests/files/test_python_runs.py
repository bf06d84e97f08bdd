"""A run with a user's case or fields continues from its files; terms and functions of time must be passed again."""

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

SMALL_RUN = {"grid.nx": 12, "grid.ny": 8, "grid.periodic_x": False, "time.dt": 20.0, "run.executor": "reference"}
SMALL_RUN |= {"run.steps": 6, "restart.every_steps": 3}
PLANE = {"grid.dx": 1e4, "grid.dy": 1e4}
#: A rotated-pole grid, where each component of a vector along the axes depends on both given components.
SPHERE = {"grid.kind": "latlon", "grid.west": 0.0, "grid.east": 60.0, "grid.south": 10.0, "grid.north": 50.0}
SPHERE |= {"grid.pole": [-42.0, 76.0]}
DEPTH = 100.0 + np.random.default_rng(5).random((8, 12))
FIELDS = {"depth": DEPTH, "wind_x": lambda at: 0.1 * np.sin(at.y / 3e4) + 0.0 * at.x, "eta": 0.01}


def simulation(fields=FIELDS, terms=(), grid=PLANE, **options):
    options = {name.replace("__", "."): value for name, value in options.items()}
    return swmodel.Simulation(swmodel.Case, SMALL_RUN | grid | options, fields=fields, terms=terms)


def resume(folder, steps=9):
    return invoke_swmodel("resume", folder, "--steps", steps, "--quiet")


@pytest.mark.parametrize(("format", "last_steps"), [("netcdf", (9, 15)), *night_params(("zarr", (15,)))])
def test_run_with_python_fields_continues_any_number_of_times(tmp_path, format, last_steps):
    """A run with drifters even continues after the restart files from which it has read the fields were removed."""
    run, whole_run = tmp_path / "run", tmp_path / "whole"
    drifters = {"output__drifters": [[30e3, 20e3]], "restart__every_steps": 6}
    simulation(restart__format=format, **drifters).run(run)
    for steps in last_steps:
        result = resume(run, steps)
        assert (result.exit_code, result.stderr) == (0, "")
    simulation(run__steps=15, **drifters).run(whole_run)
    assert_same_data(restart_path(run, 15, format), restart_path(whole_run, 15))
    assert_same_data(run, whole_run, "output.nc", "diagnostics.nc", "drifters.nc")


@pytest.mark.fault("a damaged field in a restart file")
def test_restart_file_holds_all_python_fields(tmp_path):
    """If a field is damaged, the older restart file is used."""
    folder, whole_run = tmp_path / "run", simulation()
    whole_run.run(folder)
    with h5py.File(restart_path(folder, 6), "r+") as file:
        file["python_depth"][3, 4] += 1e-9
    result = resume(folder)
    assert result.exit_code == 0
    assert "damaged: variable python_depth; the run continues from step-0000000003.nc" in result.stderr
    moved_file = restart_path(folder, 9).rename(tmp_path / "alone.nc")
    with h5py.File(moved_file) as file:
        np.testing.assert_array_equal(file["python_depth"][:], DEPTH)
        assert file["python_wind_x"].attrs["units"] == b"Pa"
    model = swmodel.Simulation.from_restart(moved_file)
    assert (model.step, model.config.python.names) == (9, ["depth", "wind_x", "eta"])
    whole_run.advance(3)
    assert has_same_bits(model.state, whole_run.state)


def test_vector_components_are_rotated_again_on_resume(tmp_path):
    """Python gives both components of the current, but only one of the wind stress."""

    def wave(factor):
        return lambda at: factor * np.sin(np.radians(at.lat + factor * at.lon))

    fields = {"u": wave(1), "v": wave(2), "wind_y": wave(3)}
    simulation(fields, grid=SPHERE).run(tmp_path / "run")
    assert resume(tmp_path / "run").exit_code == 0
    whole_run = simulation(fields, grid=SPHERE, run__steps=9)
    whole_run.run(tmp_path / "whole")
    assert_same_run(tmp_path / "run", tmp_path / "whole", 9)
    new_config = swmodel.Simulation.from_restart(restart_path(tmp_path / "run", 9)).config
    for name in ("u", "v", "wind_x", "wind_y"):
        ours, theirs = (evaluate(each, name, np.arange(8), np.arange(12)) for each in (new_config, whole_run.config))
        np.testing.assert_array_equal(ours, theirs)
        assert np.abs(ours).max() > 0.1


def drag(state, grid, t, roughness, factor=1):
    return {"u": -factor * swmodel.operators.mx_f(roughness) * state.u}


def gusts(at, t, size=0.1):
    return size * np.sin(at.y / 3e4 + t / 50) + 0.0 * at.x


def rename_function(function, name, **options):
    variant = partial(function, **options)
    variant.__name__ = name
    return variant


@pytest.mark.fault("a term or class differs when a run continues")
@pytest.mark.fault("a run continues with another function of time, or without it")
@pytest.mark.parametrize(
    ("inputs", "functions", "others", "exit_code", "name", "options"),
    [
        ({"terms": [drag], "fields": {"roughness": 1e-4}}, {"terms": [drag]},
         {"terms": [rename_function(drag, "drag", factor=2)]}, 2, "drag",
         {"run__executor": "xla", "run__reproducible": True}),
        ({"fields": FIELDS | {"wind_x": gusts}}, {"fields": {"wind_x": gusts}},
         {"fields": {"wind_x": rename_function(gusts, "gusts", size=0.2)}}, 5, "wind_x", {"forcing__every": 50.0}),
    ],
    ids=["term", "function of time"],
)  # fmt: skip
def test_resume_needs_the_same_terms_and_time_functions(tmp_path, inputs, functions, others, exit_code, name, options):
    folder = tmp_path / "run"
    simulation(**inputs, **options).run(folder)
    result = resume(folder)
    assert (result.exit_code, name in result.stderr) == (exit_code, True), result.stderr
    assert "swmodel.Simulation.resume" in result.stderr
    with pytest.raises(swmodel.ConfigError, match=rf"python\.{name}: SHA-256 \w+\.\.\. before, SHA-256 \w+\.\.\. now"):
        swmodel.Simulation.resume(folder, {"run.steps": 9}, **others).run(folder)
    swmodel.Simulation.resume(folder, {"run.steps": 9}, **functions).run(folder)
    simulation(**inputs, **options, run__steps=9).run(tmp_path / "whole")
    assert_same_run(folder, tmp_path / "whole", 9)


#: The file of a case that counts how often it is executed.
COUNTING_CASE = "import os\nos.environ['EXECUTED'] = str(int(os.environ.get('EXECUTED', 0)) + 1)\n" + BUMP_CODE


@pytest.fixture
def bump_run(tmp_path):
    """Six steps of the example of docs/cases.md, with restart files at steps 3 and 6; its case file is removed."""
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
    restart_file = shutil.copy(restart_path(bump_run, 3), tmp_path / "alone.nc")
    original_run = swmodel.Simulation.from_restart(bump_run)
    shutil.rmtree(bump_run)
    new_run = swmodel.Simulation.from_restart(restart_file)
    assert (new_run.step, new_run.config) == (3, original_run.config)
    new_run.advance(3)
    assert has_same_bits(new_run.state, original_run.state)


@pytest.mark.fault("the case file of a run has changed, or is gone")
def test_resume_refuses_another_case(bump_run):
    before = (bump_run / "output.nc").read_bytes()
    config = (bump_run / "config.toml").read_text()
    config_without_checksum = "".join(line for line in config.splitlines(True) if not line.startswith("sha256"))
    changed_case, paths = BUMP_CODE + "# as before\n", (f"{bump_run}/config.toml:3:", f"{bump_run}/case.py")
    for case, text, words in (
        (changed_case, config, (*paths, "SHA-256")),
        (changed_case, config_without_checksum, ("another run", "SHA-256")),
        (None, config_without_checksum, (*paths, "case.py: there is no such file")),
    ):
        (bump_run / "case.py").write_text(case) if case else (bump_run / "case.py").unlink()
        (bump_run / "config.toml").write_text(text)
        result = resume(bump_run)
        assert result.exit_code == 2
        assert all(each in result.stderr for each in ("case.file: ", *words)), result.stderr
    assert (bump_run / "output.nc").read_bytes() == before


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
        result = invoke_swmodel("info", "--verify", folder)
        assert result.exit_code == (0 if verdict == "intact" else 5)
        assert f"case.py: {verdict}" in result.stdout
    assert os.environ["EXECUTED"] == "1"


class Bump(swmodel.Case):
    height: float = swmodel.option(0.5, "m", "height")

    def eta(self, config, at):
        return self.height * (at.i > 3)


@pytest.mark.fault("a term or class differs when a run continues")
def test_run_of_a_class_continues_unless_its_fields_change(tmp_path, monkeypatch):
    """It continues because its files contain the fields."""
    options, folder = SHORT_RUN_OPTIONS | {"case.height": 0.2, "time.dt": 10.0}, tmp_path / "run"
    swmodel.Simulation(swmodel.load(Bump, options, {})).run(folder)
    assert not (folder / "case.py").exists()
    for case in (None, Bump):
        simulation = swmodel.Simulation.from_restart(folder, case=case)
        assert (simulation.step, simulation.config.case.height) == (6, 0.2)
    result = resume(folder)
    assert (result.exit_code, result.stderr) == (0, "")
    swmodel.Simulation(swmodel.load(Bump, options | {"run.steps": 9}, {})).run(tmp_path / "whole")
    assert_same_run(folder, tmp_path / "whole", 9)
    monkeypatch.setattr(Bump, "eta", lambda self, config, at: 0.3 * (at.i > 3))
    changed_config = swmodel.load(Bump, options | {"run.steps": 15}, {})
    with pytest.raises(swmodel.ConfigError, match=r"python\.eta: SHA-256 .* before, SHA-256 .* now"):
        swmodel.Simulation(changed_config, restart=restart_path(folder, 9)).run(folder)
