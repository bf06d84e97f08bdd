"""Runs that cannot work are refused with every reason at once, before any process starts."""

import netCDF4
import numpy as np
import pytest
from support.made_cases import changed

from swmodel import load
from swmodel.cases.jet import Jet
from swmodel.config import ConfigError
from swmodel.model.resolve import resolve
from swmodel.model.validate import check_config, floor
from swmodel.setup.checks.extremes import survey
from swmodel.setup.setup import setup_of

SMALL = {"grid.nx": 12, "grid.ny": 9}


def problems(overrides, case=Jet):
    """The lines of the ConfigError that `check` raises."""
    with pytest.raises(ConfigError) as caught:
        check_config(load(case, {**SMALL, **overrides}, {}))
    return list(caught.value.problems)


def test_a_sound_configuration_comes_back_resolved():
    config = load("jet", SMALL, {})
    assert check_config(config) == resolve(config)
    assert check_config(check_config(config)) == check_config(config)


SQUARE = {"grid.nx": 6, "grid.ny": 6}


@pytest.mark.parametrize(
    ("overrides", "key", "words"),
    [
        ({"run.nproc": 50} | SQUARE, "run.nproc", "the largest number that fits below it is 36"),
        ({"run.devices": 50} | SQUARE, "run.devices", "the largest number that fits below it is 36"),
        ({"run.nproc": 4, "run.layout": "2x3"}, "run.layout", "2x3 has 6 blocks, but there are 4 processes"),
        ({"run.devices": 4, "run.layout": "2x3"}, "run.layout", "2x3 has 6 blocks, but there are 4 devices"),
        (
            {"run.nproc": 9, "run.layout": "9x1", "scheme.vorticity_flux": "arakawa_lamb"},
            "run.layout",
            "blocks of 1 x 12 cells of a grid of 9 x 12; they need at least 2 each way",
        ),
        ({"run.nproc": 2, "run.executor": "reference"}, "run.executor", "on one process, not on 2; use xla"),
        ({"run.transport": "sharded", "run.executor": "reference"}, "run.executor", "not on devices of JAX; use xla"),
        ({"run.devices": 4, "run.executor": "reference"}, "run.executor", "not on devices of JAX; use xla"),
        ({"run.devices": 4, "run.transport": "mpi"}, "run.devices", "not 4; use sharded"),
        ({"run.nproc": 2, "run.transport": "serial"}, "run.transport", "one process, not 2; use mpi"),
        ({"physics.full_gravity": 3.7}, "physics.full_gravity", "no effect unless physics.reduced_gravity"),
        ({"sponge.width": 5e4}, "sponge.rate", "must be above 0 s-1"),
        ({"run.days": 1e9}, "run.days", "more than 2147483647 steps of 19.9547 s"),
    ],
)
def test_what_contradicts_itself(overrides, key, words):
    """More of it, for all that make a run, is in test_door.py."""
    (line,) = problems(overrides)
    assert line.startswith(f"{key}: ")
    assert words in line


def test_everything_at_once():
    wrong = {"run.nproc": 200, "grid.periodic_y": True, "sponge.rate": 1e-4, "time.dt": 500.0, "run.days": None}
    assert [line.split(":")[0] for line in problems(wrong)] == [
        "run.nproc",
        "physics.beta",
        "sponge.width",
        "run.days",
        "time.dt",
    ]


REST = {"case.speed": 0.0, "case.perturbation": 0.0, "physics.viscosity": 0.0}


@pytest.mark.parametrize(
    ("overrides", "key", "words"),
    [
        ({"time.dt": 40.0}, "time.dt", "of ab2 with ab2_epsilon = 0.1, 28.36 s (gravity waves and advection)"),
        ({"time.dt": "1 h", "time.stepper": "rk4"}, "time.dt", "of rk4, 159.6 s (gravity waves and advection)"),
        ({"time.cfl": 1.5, "time.stepper": "rk4"}, "time.cfl", "168.75 s is above the largest stable time step of rk4"),
        ({"time.dt": 20.0, "physics.viscosity": 2e6}, "time.dt", "1.419 s (friction, drag and sponge)"),
    ],
)
def test_the_largest_time_step_is_named(overrides, key, words):
    (line,) = problems({**REST, **overrides})
    assert line.startswith(f"{key}: ")
    assert words in line


def test_the_time_step_that_is_named_can_be_used():
    named = float(problems({"time.dt": 40.0})[0].split(", ")[1].split()[0])
    assert check_config(load("jet", {**SMALL, "time.dt": named}, {})).time.dt == named
    problems({"time.dt": named * 1.001})


@pytest.mark.parametrize(("value", "text"), [(24.7465, "24.74"), (0.0123456, "0.01234"), (123456.0, "1.234e+05")])
def test_time_steps_are_rounded_down(value, text):
    assert floor(value) == text


def test_a_grid_that_memory_cannot_hold_says_what_it_needs():
    with pytest.raises(ConfigError, match=r"need at least 4.8e\+10 GB; this machine has"):
        check_config(load("jet", {"grid.nx": 10**9, "grid.ny": 10**9}, {}))


def test_published_jet_runs_with_its_time_step():
    assert check_config(load("jet", {"grid.nx": 3600, "grid.ny": 1800, "run.days": 0.1}, {})).run.steps == 433


def at(row, column, value, otherwise):
    """A field of the case that is `value` in one cell."""
    return lambda config, at: np.where((at.j == row) & (at.i == column), value, otherwise)


@pytest.mark.parametrize(
    ("field", "value", "otherwise", "words"),
    [
        ("depth", -5.0, 100.0, "(depth): must be above 0 m on water, but is -5 m"),
        ("depth", 0.0, 100.0, "(depth): must be above 0 m on water, but is 0 m"),
        ("depth", np.nan, 1e2, "(depth): must be above 0 m on water, but is missing"),
        ("eta", np.nan, 0.0, "(eta): must be finite on water, but is missing"),
        ("eta", -100.0, 0.0, "h = depth + eta: must be above 0 m on water, but is 0 m"),
        ("u", np.inf, 0.0, "(u): must be finite on water, but is inf m s-1"),
        ("v", np.nan, 0.0, "(v): must be finite on water, but is missing"),
        ("wind_x", np.nan, 0.0, "(wind_x): must be finite on water, but is missing"),
        ("linear_drag", -1e-6, 0.0, "(linear_drag): must be at least 0 s-1 on water, but is -1e-06 s-1"),
    ],
)
@pytest.mark.parametrize("cells", [12, 10**6], ids=["band by band", "at once"])
def test_a_field_that_cannot_be_used_is_reported_with_its_place(monkeypatch, field, value, otherwise, words, cells):
    monkeypatch.setattr("swmodel.setup.fields.CELLS", cells)
    case = changed(Jet, **{field: at(7, 3, value, otherwise)})
    (line,) = problems({}, case)
    assert line.endswith(f"{words} at row 7, column 3")
    if field not in ("u", "v"):
        check_config(load(changed(case, mask=at(7, 3, 0.0, 1.0)), {**SMALL, "physics.quadratic_drag": 1e-3}, {}))


def test_velocity_on_closed_faces_does_not_matter():
    case = changed(
        Jet,
        u=lambda config, at: np.where(at.i == 11, np.nan, 0.0),
        v=lambda config, at: np.where((at.j == 8) | (at.j == 3), np.nan, 0.0),
    )
    walled = changed(case, mask=lambda config, at: (at.j != 4) * 1.0)
    check_config(load(walled, {**SMALL, "grid.periodic_x": False}, {}))
    assert [line[:13] for line in problems({"grid.periodic_x": False}, case)] == ["velocity in y"]


def test_a_domain_without_water():
    assert problems({}, changed(Jet, mask=lambda config, at: np.zeros((1, 1)))) == [
        "the domain has no water: the mask is 0 everywhere"
    ]


def test_bands_of_rows_and_the_whole_grid_have_the_same_extremes(monkeypatch):
    land = {"mask": lambda config, at: ((at.i + 3 * at.j) % 7 > 0) * 1.0}
    case = changed(Jet, wind_x=lambda config, at: 0.1 * at.i + 0.01 * at.j, **land)
    config = load(case, {**SMALL, "physics.quadratic_drag": 1e-3}, {})
    found = []
    for cells in (1, 25, 10**6):
        monkeypatch.setattr("swmodel.setup.fields.CELLS", cells)
        found.append(survey(setup_of(config)))
    assert found[0] == found[1] == found[2]
    # The corners (0, 0) and (8, 11) are land: what is left lies between rows 1 and 7 of their columns.
    assert found[0].ranges["wind_x"] == pytest.approx((0.01, 1.17))


def test_no_band_is_larger_than_it_should_be():
    shapes = []
    case = changed(Jet, wind_x=lambda config, at: shapes.append(at.i.size * at.j.size) or at.x * at.y)
    survey(setup_of(load(case, {"grid.nx": 1000, "grid.ny": 1000}, {})))
    assert sum(shapes) == 10**6
    assert max(shapes) <= 2**17


def test_all_input_files_are_checked_at_once(tmp_path):
    path = tmp_path / "ocean.nc"
    with netCDF4.Dataset(path, "w") as dataset:
        for axis, size in (("y", 9), ("x", 12), ("z", 2)):
            dataset.createDimension(axis, size)
        dataset.createVariable("deep", "f8", ("y", "x")).units = "km"
        dataset.createVariable("wind", "f8", ("y", "z")).units = "Pa"
    wrong = {"input.depth": f"{path}:deep", "input.wind_x": f"{path}:wind", "input.mask": str(tmp_path / "none.nc")}
    assert problems({**wrong, "sponge.rate": 1.0}) == [
        "sponge.width: must be above 0 m for a sponge of rate 1 s-1",
        f'input.depth: deep in {path} is in "km"; convert it to "m"',
        f"input.mask: there is no file {tmp_path}/none.nc",
        f"input.wind_x: wind in {path} has shape (9, 2), the grid needs (9, 12) (ny, nx)",
    ]


@pytest.mark.parametrize("options", [{"grid.dx": 1e-20}, {"grid.dy": 1e20}, {"grid.lx": 1e-5, "grid.nx": 1000}])
def test_cells_of_absurd_sizes_are_refused(options):
    """Rather than run, or be told to take a time step of zero."""
    with pytest.raises(ConfigError, match=rf"^{next(iter(options))}: cells of .* must be of"):
        load("rest", options, environ={})
