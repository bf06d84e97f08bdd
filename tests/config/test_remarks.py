"""Remarks on valid settings that are probably mistakes appear only where they apply, and their advice works."""

import re

import numpy as np
import pytest

from swmodel import load, resolve
from swmodel.config import remarks, to_toml
from swmodel.config.loading.load import gather_sources
from swmodel.setup.checks.stability import dividing_dt


def remarks_on_domain(source, overrides=(), environ=None):
    return list(remarks.changed_domain_lengths(gather_sources(source, overrides, environ or {})))


def domain_size(source, overrides=()):
    grid = load(source, overrides, {}).grid
    return grid.nx * grid.dx, grid.ny * grid.dy


@pytest.mark.fault("an override changes the size of the domain; sizes of domain and cell contradict each other")
@pytest.mark.parametrize(
    ("overrides", "remedies"),
    [
        (["grid.nx=72", "grid.ny=36"], ["grid.lx=1800000", "grid.ly=900000"]), (["grid.dy=2000"], ["grid.ny=450"]),
        (["grid.dx=7e3"], ["grid.lx=1800000"]), (["grid.nx=360"], []), (["grid.lx=1e6"], []),
        (["grid.nx=72", "grid.dx=1e3"], []),
    ],
)  # fmt: skip
def test_remark_on_changed_domain_size_names_its_remedy(overrides, remedies):
    """There is no remark on an axis if an override gives its length, or both the number and the size of its cells."""
    assert all(words in line for words, line in zip(remedies, remarks_on_domain("jet", overrides), strict=True))
    if remedies:
        mended = [each for each in overrides if each != "grid.dx=7e3"] + remedies  # grid.lx replaces grid.dx=7e3
        assert remarks_on_domain("jet", mended) == []
        assert domain_size("jet", mended) == domain_size("jet")


def test_remark_reports_partial_overrides_of_complete_file(tmp_path):
    file, environ = tmp_path / "my.toml", {"SWMODEL_GRID_NX": "36"}
    file.write_text(to_toml(load("jet", ["grid.nx=72"], {})))
    assert "grid.lx=360000" in remarks_on_domain(file, environ=environ)[0]
    assert remarks_on_domain(file) == remarks_on_domain(file, ["grid.lx=5e5"], environ) == []
    assert remarks_on_domain(file, ["grid.nx=72"], {"SWMODEL_GRID_NX": "many"}) == []  # the override replaces "many"


#: Keys of [grid].
SPHERE = {"kind": "latlon", "west": 0.0, "east": 9.0, "south": 0.0, "north": 6.0}


@pytest.mark.fault("a Coriolis parameter of a plane is given on a sphere")
def test_remark_reports_coriolis_parameter_on_a_sphere(tmp_path):
    """On a sphere, the parameter of a file is used unless the file is for a plane."""
    sphere = {f"grid.{key}": value for key, value in SPHERE.items()} | {"run.executor": "reference"}

    def remarks_with(**physics):
        overrides = sphere | {f"physics.{key}": value for key, value in physics.items()}
        config = resolve(load("rest", overrides, {}))
        return remarks.remarks(config, gather_sources("rest", overrides, {}), writes_records=False)

    assert remarks_with() == []  # because the parameter of the case is for its plane
    assert load("rest", sphere, {}).physics.f0 == 0
    (line,) = remarks_with(f0=1e-4)
    assert line.startswith("physics.f0 = 0.0001 ")

    def coriolis(grid, overrides):
        text = '[case]\nname = "rest"\n[physics]\nf0 = 2e-4\nbeta = 1e-11\n[grid]\n'
        (tmp_path / "my.toml").write_text(text + "".join(f"{key} = {value!r}\n" for key, value in grid.items()))
        physics = load(tmp_path / "my.toml", overrides, {}).physics
        return physics.f0, physics.beta

    assert coriolis(SPHERE, {}) == coriolis(SPHERE, {"grid.kind": "latlon"}) == coriolis({}, {}) == (2e-4, 1e-11)
    assert coriolis({}, sphere) == (0.0, 0.0)


def test_remark_reports_wind_of_one_component():
    wind_x, wind = ({f"input.wind_{name}": f"winds.nc:{name}" for name in names} for names in ("x", "xy"))
    for case, overrides, count in (("rest", wind_x, 1), ("rest", wind, 0), ("double_gyre", {}, 0)):
        lines = remarks.missing_wind_components(load(case, overrides, environ={}))
        assert sum("input.wind_y" in line for line in lines) == count


@pytest.mark.fault("a gauge on ground that is dry at rest has an empty curve without a remark")
def test_remark_names_gauges_on_dry_ground():
    stations = [{"name": "pier", "x": 35e3, "y": 25e3}, {"name": "quay", "x": 75e3, "y": 25e3}]
    grid = {"grid.nx": 10, "grid.ny": 5, "grid.dx": 1e4, "grid.dy": 1e4, "drying.active": True}
    options = grid | {"output.stations": stations, "physics.manning": 0.02}
    config = load("rest", options, environ={}, fields={"depth": lambda at: np.where(at.i < 5, 20.0, -3.0)})
    (line,) = remarks.gauges_above_sea_level(config)
    assert '"quay" by 3 m' in line
    assert "pier" not in line


@pytest.mark.fault("a dike on closed land has no effect without a remark")
def test_remark_names_barrier_on_closed_land():
    lines = [{"name": name, "line": [[x, 0.0], [x, 5e4]], "crest": 1.0} for name, x in (("dike", 2e4), ("wall", 5e4))]
    options = {"grid.nx": 10, "grid.ny": 5, "grid.dx": 1e4, "grid.dy": 1e4, "barriers.lines": lines}
    config = load("rest", options, environ={}, fields={"mask": lambda at: np.where(at.i < 3, 0.0, 1.0)})
    (line,) = remarks.barriers_on_land(config)
    assert '"dike"' in line


@pytest.mark.fault("wind drives thin water without drag at tens of metres per second without a remark")
@pytest.mark.parametrize(("drying", "drag", "count"), [(True, 0.0, 1), (True, 0.02, 0), (False, 0.0, 0)])
def test_remark_reports_wind_on_thin_layers_without_drag(drying, drag, count):
    options = {"drying.active": drying, "physics.manning": drag}
    config = load("rest", options, environ={}, fields={"wind_x": 0.1})
    assert len([*remarks.wind_over_thin_layers(config)]) == count


@pytest.mark.fault("a term from Python cannot tell the times of two steps apart in single precision")
@pytest.mark.parametrize(
    ("dtype", "steps", "count"), [("float32", 40_000_000, 1), ("float32", 4000, 0), ("float64", 40_000_000, 0)]
)
def test_remark_reports_rounded_time_of_user_terms(dtype, steps, count):
    options = {"run.days": None, "run.steps": steps, "run.dtype": dtype, "time.dt": 10.0}
    config = load("rest", options, environ={}, terms=[lambda state, grid, t: {"u": 1e-9 * t}])
    assert len([*remarks.rounded_times(config)]) == count


def test_remark_reports_tide_without_its_forcing_or_boundary_data():
    """There is no remark on a run without any tidal potential, such as that of a small sea."""
    for inside, at_boundaries, expected in (
        (["M2", "K1"], ["K1", "M2"], []), (["M2", "S2"], [], ["tide.constituents: nothing of M2, S2"]),
        (["M2"], ["K1"], ["tide.constituents: nothing of M2", "open_boundaries.constituents: K1 enters"]),
        (["M2", "SSA"], ["M2", "M4"], []),  # boundary data have no SSA, and M4 has no potential
        ([], ["M2"], []),
    ):  # fmt: skip
        tides = {"tide.constituents": inside, "open_boundaries.constituents": at_boundaries}
        tides |= {"open_boundaries.amplitude": [0.1] * len(at_boundaries), "time.start": "2012-03-01"}
        lines = remarks.one_sided_constituents(load("sea", tides | {"open_boundaries.sides": ["south"]}, environ={}))
        assert all(line.startswith(start) for line, start in zip(lines, expected, strict=True))
        assert list(remarks.one_sided_constituents(load("sea", tides, environ={}))) == []


@pytest.mark.fault("an output interval shorter than a time step, or not a multiple of it")
def test_suggested_time_step_divides_the_output_interval_exactly():
    for every, dt in ((86400.0, 19.9547), (2592000.0, 358.85), (10.0, 11.0), (5e8, 0.3)):
        suggested_dt, steps = dividing_dt(every, dt, 1000)
        assert dt / 1.11 < suggested_dt <= dt or steps <= 20
        assert all((k * steps) * suggested_dt == k * every for k in range(1, 1001))
    options = {"time.dt": 18.0, "output.every": 600.0, "run.executor": "reference"}
    (line,) = remarks.late_records(resolve(load("jet", options, {})))
    (suggested_dt,) = re.findall(r"does not divide output.every = 600 s: .*; time.dt=([\d.]+) divides it", line)
    assert list(remarks.late_records(resolve(load("jet", options | {"time.dt": float(suggested_dt)}, {})))) == []
