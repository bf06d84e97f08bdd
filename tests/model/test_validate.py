"""Runs that cannot work are refused with every reason at once, before any process starts."""

import numpy as np
import pytest
from support.made_cases import changed

from swmodel import load
from swmodel.cases.jet import Jet
from swmodel.cases.vortex import Vortex
from swmodel.config import ConfigError
from swmodel.model.resolve import resolve
from swmodel.model.validate import check_config
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
REST = {"case.speed": 0.0, "case.perturbation": 0.0, "physics.viscosity": 0.0}


@pytest.mark.parametrize(
    ("overrides", "key", "words"),
    [
        ({"run.nproc": 50} | SQUARE, "run.nproc", "the largest possible number is 9"),
        ({"run.devices": 4, "run.layout": "2x3"}, "run.layout", "2x3 has 6 blocks, but there are 4 devices"),
        (
            {"run.nproc": 9, "run.layout": "9x1", "scheme.vorticity_flux": "arakawa_lamb"},
            "run.layout",
            "blocks of 1 x 12 cells; they need at least 2 each way",
        ),
        ({"run.nproc": 2, "run.executor": "reference"}, "run.executor", "on one process, not on 2; use xla"),
        ({"run.transport": "sharded", "run.executor": "reference"}, "run.executor", "not on devices of JAX; use xla"),
        ({"run.devices": 4, "run.transport": "mpi"}, "run.devices", "not 4; use sharded"),
        ({"run.nproc": 2, "run.transport": "serial"}, "run.transport", "one process, not 2; use mpi"),
        ({"physics.full_gravity": 3.7}, "physics.full_gravity", "no effect unless physics.reduced_gravity"),
        ({"run.days": 1e9}, "run.days", "more than 2147483647 steps of "),
        (REST | {"time.dt": 40.0, "time.stepper": "ab2"}, "time.dt", "of ab2 with ab2_epsilon = 0.1, 28.36 s (gravity"),
        (REST | {"time.dt": 101.0}, "time.dt", "of gfb, 100.4 s (gravity waves and advection)"),
        (REST | {"time.cfl": 1.5, "time.stepper": "rk4"}, "time.cfl", "168.75 s is above the largest stable time step"),
        (REST | {"time.dt": 20.0, "physics.viscosity": 2e6}, "time.dt", "0.9903 s (friction, drag and sponge)"),
    ],
)
def test_what_contradicts_itself(overrides, key, words):
    """More of it, for all that make a run, is in test_door.py."""
    (line,) = problems(overrides)
    assert line.startswith(f"{key}: ")
    assert words in line


@pytest.mark.parametrize(("cells", "unit"), [({"grid.ny": 1}, "rows"), ({"grid.nx": 1}, "columns")])
def test_a_grid_narrower_than_the_halo_is_refused_with_a_stepper_that_takes_it(cells, unit):
    (line,) = problems(cells, Vortex)
    assert line.startswith(f"{next(iter(cells))}: ")
    assert f"2 {unit}" in line
    assert "time.stepper = ab3" in line
    check_config(load(Vortex, SMALL | cells | {"time.stepper": "ab3"}, {}))


def test_no_stepper_is_offered_where_the_scheme_needs_the_halo():
    (line,) = problems({"grid.ny": 1, "scheme.vorticity_flux": "arakawa_lamb"}, Vortex)
    assert line.startswith("grid.ny: ")
    assert "time.stepper" not in line


def test_everything_at_once():
    wrong = {"run.nproc": 200, "grid.periodic_y": True, "sponge.rate": 1e-4, "time.dt": 500.0, "run.days": None}
    assert [line.split(":")[0] for line in problems(wrong)] == [
        "run.nproc",
        "physics.beta",
        "sponge.width",
        "run.days",
        "time.dt",
    ]


@pytest.mark.fault("the time step is too long at the start")
def test_the_time_step_that_is_named_can_be_used():
    named = float(problems({"time.dt": 200.0})[0].split(", ")[1].split()[0])
    assert check_config(load("jet", {**SMALL, "time.dt": named}, {})).time.dt == named
    problems({"time.dt": named * 1.001})


def test_a_grid_that_memory_cannot_hold_says_what_it_needs():
    with pytest.raises(ConfigError, match=r"need at least 4.8e\+10 GB; this machine has"):
        check_config(load("jet", {"grid.nx": 10**9, "grid.ny": 10**9}, {}))


def at(row, column, value, otherwise):
    """A field of the case that is `value` in one cell."""
    return lambda config, at: np.where((at.j == row) & (at.i == column), value, otherwise)


@pytest.mark.parametrize(
    ("field", "value", "otherwise", "words"),
    [
        ("depth", -5.0, 100.0, "(depth): must be above 0 m on water, but is -5 m"),
        ("depth", np.nan, 1e2, "(depth): must be above 0 m on water, but is missing"),
        ("eta", np.nan, 0.0, "(eta): must be finite on water, but is missing"),
        ("eta", -100.0, 0.0, "h = depth + eta: must be above 0 m on water, but is 0 m"),
        ("u", np.inf, 0.0, "(u): must be finite on water, but is inf m s-1"),
        ("wind_x", np.nan, 0.0, "(wind_x): must be finite on water, but is missing"),
        ("linear_drag", -1e-6, 0.0, "(linear_drag): must be at least 0 s-1 on water, but is -1e-06 s-1"),
    ],
)
def test_a_field_that_cannot_be_used_is_reported_with_its_place(monkeypatch, field, value, otherwise, words):
    monkeypatch.setattr("swmodel.setup.fields.CELLS", 12)  # band by band
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


def test_no_band_is_larger_than_it_should_be():
    shapes = []
    case = changed(Jet, wind_x=lambda config, at: shapes.append(at.i.size * at.j.size) or at.x * at.y)
    survey(setup_of(load(case, {"grid.nx": 1000, "grid.ny": 1000}, {})))
    assert sum(shapes) == 10**6
    assert max(shapes) <= 2**17


@pytest.mark.fault("cell sizes beyond the precision")
@pytest.mark.fault("absurd cell sizes run, or require a time step of zero")
@pytest.mark.parametrize("options", [{"grid.dx": 1e-20}, {"grid.dy": 1e20}, {"grid.lx": 1e-5, "grid.nx": 1000}])
def test_cells_of_absurd_sizes_are_refused(options):
    """Rather than run, or be told to take a time step of zero."""
    with pytest.raises(ConfigError, match=rf"^{next(iter(options))}: cells of .* must be of"):
        load("rest", options, environ={})
