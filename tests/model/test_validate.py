"""Runs that cannot work are refused before any process starts, and all reasons are reported together."""

import numpy as np
import pytest
from support.command import invoke_swmodel
from support.field_cases import class_with_fields

import swmodel
from swmodel import load
from swmodel.assimilation.experiment import prepare_experiment
from swmodel.cases.jet import Jet
from swmodel.cases.vortex import Vortex
from swmodel.config import ConfigError, to_toml
from swmodel.errors import exit_code
from swmodel.gradients import Problem
from swmodel.model.ensemble.settings import check_ensemble
from swmodel.model.validate import check_config
from swmodel.setup.checks.extremes import survey
from swmodel.setup.setup import setup_of

SMALL = {"grid.nx": 12, "grid.ny": 9}


def problems(overrides, case=Jet):
    """The problems in the ConfigError that `check_config` raises."""
    with pytest.raises(ConfigError) as error:
        check_config(load(case, {**SMALL, **overrides}, {}))
    return list(error.value.problems)


STATE_OF_REST = {"case.speed": 0.0, "case.perturbation": 0.0, "physics.viscosity": 0.0}
NARROW_BLOCKS = {"run.nproc": 9, "run.layout": "9x1", "scheme.vorticity_flux": "arakawa_lamb"}
#: (key of the only problem, words in it, options)
CONTRADICTIONS = [
    ("run.nproc", "9", {"run.nproc": 50, "grid.nx": 6, "grid.ny": 6}),
    ("run.layout", "6 blocks, but there are 4 devices", {"run.devices": 4, "run.layout": "2x3"}),
    ("run.layout", "blocks of 1 x 12 cells", NARROW_BLOCKS),
    ("run.executor", "xla", {"run.nproc": 2, "run.executor": "reference"}),
    ("run.executor", "xla", {"run.transport": "sharded", "run.executor": "reference"}),
    ("run.devices", "sharded", {"run.devices": 4, "run.transport": "mpi"}),
    ("run.transport", "mpi", {"run.nproc": 2, "run.transport": "serial"}),
    ("physics.full_gravity", "physics.reduced_gravity", {"physics.full_gravity": 3.7}),
    *(("run.days", f" {2**31 // n - 1} steps", {"run.days": 1e9, "time.max_substeps": n}) for n in (1, 16)),
    ("time.dt", "ab2_epsilon = 0.1, 28.36 s (gravity", STATE_OF_REST | {"time.dt": 40.0, "time.stepper": "ab2"}),
    ("time.dt", "of gfb, 100.4 s (gravity waves and advection)", STATE_OF_REST | {"time.dt": 101.0}),
    ("time.cfl", "168.75 s", STATE_OF_REST | {"time.cfl": 1.5, "time.stepper": "rk4"}),
    ("time.dt", "0.9903 s (friction, drag and sponge)", STATE_OF_REST | {"time.dt": 20.0, "physics.viscosity": 2e6}),
]


@pytest.mark.parametrize(("key", "words", "overrides"), CONTRADICTIONS)
def test_contradictions_are_refused(key, words, overrides):
    (line,) = problems(overrides)
    assert line.startswith(f"{key}: ")
    assert words in line


def test_grid_narrower_than_halo_is_refused_with_remedy():
    """The remedy is a stepper with a narrower halo, unless the vorticity flux needs the halo too."""
    for key, unit in (("grid.ny", "rows"), ("grid.nx", "columns")):
        (line,) = problems({key: 1}, Vortex)
        assert line.startswith(f"{key}: ")
        assert f"2 {unit}" in line
        assert "time.stepper = ab3" in line
        check_config(load(Vortex, SMALL | {key: 1, "time.stepper": "ab3", "run.executor": "reference"}, {}))
        (line,) = problems({key: 1, "scheme.vorticity_flux": "arakawa_lamb"}, Vortex)
        assert "time.stepper" not in line


def test_all_problems_are_reported_at_once():
    overrides = {"run.nproc": 200, "grid.periodic_y": True, "sponge.rate": 1e-4, "time.dt": 500.0, "run.days": None}
    keys = ["run.nproc", "physics.beta", "sponge.width", "run.days", "time.dt"]
    assert [line.split(":")[0] for line in problems(overrides)] == keys


@pytest.mark.fault("the time step is too long at the start")
def test_suggested_time_step_is_accepted():
    suggested_dt = float(problems({"time.dt": 200.0})[0].split(", ")[1].split()[0])
    assert check_config(load("jet", {**SMALL, "time.dt": suggested_dt}, {})).time.dt == suggested_dt
    problems({"time.dt": suggested_dt * 1.001})


def one_cell_field(row, column, value, otherwise):
    """A field of a case that is `value` in one cell and `otherwise` elsewhere."""
    return lambda config, at: np.where((at.j == row) & (at.i == column), value, otherwise)


@pytest.mark.slow
def test_unusable_field_is_reported_with_row_and_column(monkeypatch):
    monkeypatch.setattr("swmodel.setup.fields.MAX_CELLS_PER_BAND", 36)  # several bands
    for field, value, otherwise, words in (
        ("depth", -5.0, 100.0, "but is -5 m"),
        ("eta", np.nan, 0.0, "(eta): must be finite on water, but is missing"),
        ("eta", -100.0, 0.0, "h = depth + eta: must be above 0 m on water, but is 0 m"),
        ("wind_x", np.nan, 0.0, "(wind_x): must be finite on water, but is missing"),
        ("linear_drag", -1e-6, 0.0, "(linear_drag): must be at least 0 s-1 on water, but is -1e-06 s-1"),
    ):
        case = class_with_fields(Jet, **{field: one_cell_field(7, 3, value, otherwise)})
        (line,) = problems({}, case)
        assert line.endswith(f"{words} at row 7, column 3")
        on_land = class_with_fields(case, mask=one_cell_field(7, 3, 0.0, 1.0))
        check_config(load(on_land, {**SMALL, "run.executor": "reference"}, {}))


def test_closed_faces_need_no_velocity_and_domain_needs_water():
    case = class_with_fields(
        Jet,
        u=lambda config, at: np.where(at.i == 11, np.nan, 0.0),
        v=lambda config, at: np.where((at.j == 8) | (at.j == 3), np.nan, 0.0),
    )
    walled = class_with_fields(case, mask=lambda config, at: (at.j != 4) * 1.0)
    check_config(load(walled, {**SMALL, "grid.periodic_x": False}, {}))
    assert [line[:13] for line in problems({"grid.periodic_x": False}, case)] == ["velocity in y"]
    (line,) = problems({}, class_with_fields(Jet, mask=lambda config, at: np.zeros((1, 1))))
    assert "no water" in line


def test_fields_are_checked_in_bands_of_rows():
    sizes = []
    case = class_with_fields(Jet, wind_x=lambda config, at: sizes.append(at.i.size * at.j.size) or at.x * at.y)
    survey(setup_of(load(case, {"grid.nx": 1000, "grid.ny": 1000}, {})))
    assert sum(sizes) == 10**6
    assert max(sizes) <= 2**17


@pytest.mark.fault("cell sizes beyond the precision")
@pytest.mark.fault("absurd cell sizes run, or require a time step of zero")
def test_absurd_sizes_of_cells_and_grids_are_refused():
    """They neither run nor suggest a time step of zero; a message says how much memory a large grid needs."""
    for options in ({"grid.dx": 1e-20}, {"grid.dy": 1e20}, {"grid.lx": 1e-5, "grid.nx": 1000}):
        with pytest.raises(ConfigError, match=rf"^{next(iter(options))}: cells of .* must be of"):
            load("rest", options, environ={})
    with pytest.raises(ConfigError, match=r"4.8e\+10 GB"):
        check_config(load("jet", {"grid.nx": 10**9, "grid.ny": 10**9}, {}))


TWO_DAYS = SMALL | {"run.days": 2.0}
#: Configurations that commands, Python, derivatives, assimilation and ensembles refuse: {words: (case, overrides)}
REFUSED_CONFIGS = {
    "physics.beta": ("jet", {"grid.periodic_y": True}),
    "cannot be separated": ("rest", {"output.harmonics": ["M2", "S2"], "time.start": "2020-01-01"}),
    "largest stable time step": ("rest", {"time.dt": 3600.0}),
    "sponge.width": ("rest", {"sponge.rate": 1e-4}),
    "has no wind_x": ("rest", {"output.fields": ["eta", "wind_x"]}),
    "there is no file": ("rest", {"input.depth": "nowhere.nc"}),
    "run.layout": ("rest", {"run.layout": "2x3"}),
}


def from_file(case, overrides, folder):
    (folder / "run.toml").write_text(to_toml(load(case, overrides)))
    return swmodel.Simulation(folder / "run.toml")


def make_command_entry(name):
    def run_command(case, overrides, folder):
        words = [word for key, value in overrides.items() for word in ("-s", f"{key}={value}".replace("'", '"'))]
        quantity_options = ["--of", "energy", "--wrt", "eta"] if name == "sensitivity" else []
        result = invoke_swmodel(name, case, *words, *quantity_options, "-o", folder / "run")
        assert result.exit_code == 2, result.output
        assert not (folder / "run").exists()
        raise ConfigError(line.removeprefix("Error: ") for line in result.output.splitlines())

    return run_command


def observe(view, k):
    return view.eta


ENTRY_POINTS = {
    "run": make_command_entry("run"),
    "sensitivity": make_command_entry("sensitivity"),
    "Simulation": lambda case, overrides, folder: swmodel.Simulation(case, overrides),
    "Simulation of a file": from_file,
    "Simulation of a Config": lambda case, overrides, folder: swmodel.Simulation(load(case, overrides)),
    "functional": lambda case, overrides, folder: swmodel.functional(case, overrides),
    "Problem": lambda case, overrides, folder: Problem(load(case, overrides), "eta", observe),
    "assimilation": lambda case, overrides, folder: prepare_experiment(load(case, overrides), folder, None),
    "ensemble": lambda case, overrides, folder: check_ensemble(load(case, overrides)),
}

#: Entry points that accept a configuration because they do not analyse tides, or have another message about a layout.
EXEMPT_ENTRY_POINTS = {"cannot be separated": {"ensemble", "sensitivity"}, "run.layout": {"ensemble"}}


@pytest.mark.slow
@pytest.mark.fault("Python, derivatives, ensembles or assimilation accept a configuration that the command refuses")
@pytest.mark.parametrize("words", REFUSED_CONFIGS)
def test_all_entry_points_refuse_a_bad_configuration(tmp_path, words):
    (case, overrides), messages = REFUSED_CONFIGS[words], {}
    for name in ENTRY_POINTS.keys() - EXEMPT_ENTRY_POINTS.get(words, set()):
        with pytest.raises(ConfigError) as error:
            ENTRY_POINTS[name](case, TWO_DAYS | overrides, tmp_path)
        assert exit_code(error.value) == 2
        messages[name] = [line for line in error.value.problems if words in line]
    assert all(len(lines) == 1 and lines == messages["run"] for lines in messages.values()), messages


@pytest.mark.slow
@pytest.mark.fault("Python, derivatives, ensembles or assimilation accept a configuration that the command refuses")
def test_run_to_its_end_needs_a_length(tmp_path):
    overrides = SMALL | {"run.days": None}
    model = swmodel.Simulation("jet", overrides)
    model.advance(2)
    for start_run in (lambda: model.run(tmp_path / "run"), lambda: Problem(load("jet", overrides), "eta", observe)):
        with pytest.raises(ConfigError, match=r"run\.days"):
            start_run()
    assert not (tmp_path / "run").exists()
