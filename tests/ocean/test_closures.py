"""Closures: zero where they should be, and what they conserve: momentum, or energy with what is not resolved."""

import re

import numpy as np
import pytest
import xarray
from support.random_case import CLOSURES, configuration, random_fields
from support.stepping import rates

import swmodel
from swmodel.config import ConfigError
from swmodel.gradients import Problem
from swmodel.model.validate import check_config
from swmodel.ocean.derived import bernoulli_kinetic_energy, shear, tension
from swmodel.ocean.flow import Flow
from swmodel.ocean.operators import mx_f, my_f
from swmodel.ocean.scheme import Scheme
from swmodel.ocean.terms import zanna_bolton

pytestmark = pytest.mark.slow

NY, NX = 9, 11
RINGS = {"grid__periodic_x": True, "grid__periodic_y": True}
ON = {f"physics__{name}": value for name, value in CLOSURES.items()}


def of(fields=None, **options):
    """A configuration with all closures."""
    return configuration(NY, NX, fields, **{"physics__viscosity": 0.0, "physics__quadratic_drag": 0.0} | ON | options)


def alone(config, *names):
    """The tendency of terms without that of the core; the padded state and the grid."""
    with_terms, padded, grid = rates(config, Scheme("energy", names))
    without = rates(config, Scheme("energy"))[0]
    size = (NY, NX)
    found = {name: field.on(size) for name, field in with_terms._asdict().items()}
    return found | {name: found[name] - getattr(without, name).on(size) for name in "huv"}, padded, grid


def linear(along, across):
    """Fields of an endless flow u = along x - across y, v = across x - along y, cut out of the middle of the domain."""
    y, x = np.mgrid[:NY, :NX].astype(float)
    u, v = along * 4e3 * (x + 0.5) - across * 5e3 * y, across * 4e3 * x - along * 5e3 * (y + 0.5)
    return random_fields(NY, NX, land=0.0) | {"depth": np.full((NY, NX), 50.0), "eta": 0 * u, "u": u, "v": v}


@pytest.mark.parametrize("name", [name for name in CLOSURES if name != "backscatter"])
def test_none_acts_in_solid_rotation_and_uniform_flow(name):
    """In the middle, five cells from where the ring closes; Zanna and Bolton's stress is the same everywhere there."""
    for fields in (linear(0.0, 1e-5), linear(0.0, 0.0) | {"u": np.full((NY, NX), 0.7), "v": np.full((NY, NX), 0.2)}):
        found = alone(of(fields, **RINGS), name)[0]
        strained = alone(of(random_fields(NY, NX, land=0.0), **RINGS), name)[0]
        for field in "uv":
            assert abs(found[field][4, 5]) < 1e-10 * np.abs(strained[field]).max(), field


def test_smagorinsky_in_strain_that_varies_is_its_formula():
    """u = a x + b x²/2 has |D| = a + b x: du/dt = d_x ((C Delta)² |D| d_x u) = 2 (C Delta)² b (a + b x)."""
    x = 4e3 * (np.arange(NX) + 1.0)
    u = np.broadcast_to(1e-5 * x + 1e-10 * x * x / 2, (NY, NX))
    found = alone(of(linear(0.0, 0.0) | {"u": u}, **RINGS), "smagorinsky")[0]
    width = 2 / (1 / 4e3**2 + 1 / 5e3**2)
    assert found["u"][4, 5] == pytest.approx(2 * 0.15**2 * width * 1e-10 * (1e-5 + 1e-10 * x[5]), rel=1e-12)


def power(found, padded, grid):
    """A u du/dt and A v dv/dt, the change of the energy per mass."""
    places = {"u": grid.area.u, "v": grid.area.v}
    return [area.on((NY, NX)) * getattr(padded, name).on((NY, NX)) * found[name] for name, area in places.items()]


def test_leith_e_returns_the_energy_that_it_takes():
    """In a current that turns with y and has the same shear everywhere, in part also in x."""
    y, x = np.mgrid[:NY, :NX] * 2 * np.pi / np.array([NY, NX])[:, None, None]
    turning = {"u": np.sin(y + 0.1 * np.sin(x)), "v": np.cos(y + 0.1 * np.sin(x))}
    work = power(*alone(of(random_fields(NY, NX, land=0.0) | turning, **RINGS), "leith_e"))
    assert abs(np.sum(work)) < 1e-11 * np.abs(work).sum()


@pytest.mark.parametrize(("seed", "slip", "sphere"), [(0, "free", False), (1, "no", False), (2, "no", True)])
def test_leith_e_never_adds_energy(seed, slip, sphere):
    """With coasts and the shortest waves, whose anti-viscosity is at its bound."""
    fields = random_fields(NY, NX, seed=seed, land=0.2)
    assert np.sum(power(*alone(of(fields, sphere=sphere, physics__slip=slip), "leith_e"))) < 0


def test_the_energy_of_backscatter_grows_from_zero_in_a_healthy_run(tmp_path):
    options = {"grid.nx": 12, "grid.ny": 16, "grid.dx": 1e5, "grid.dy": 1e5, "output.every_steps": 1}
    options |= {"physics.biharmonic_smagorinsky": 0.06, "physics.backscatter": 0.2}
    options |= {"run.steps": 4, "run.executor": "reference"}
    model = swmodel.Simulation("double_gyre", options | {"output.means": ["subgrid_energy"]})
    model.run(tmp_path / "run")
    assert model.state.subgrid_energy.max() > 0
    with xarray.open_dataset(tmp_path / "run/output.nc") as data:
        np.testing.assert_array_equal(data.subgrid_energy[-1], model.field("subgrid_energy"))
        np.testing.assert_array_equal(data.subgrid_energy_mean[1:], data.subgrid_energy[1:])
        assert data.subgrid_energy.units == "m3 s-2"
    assert "subgrid_energy" not in model.diagnostics()


def test_zanna_bolton_conserves_momentum():
    """The sum of h^x du/dt, whatever the depth."""
    found, padded, _ = alone(of(random_fields(NY, NX, land=0.0), **RINGS), "zanna_bolton")
    for name, h in (("u", mx_f(padded.h)), ("v", my_f(padded.h))):
        force = h.on((NY, NX)) * found[name]
        assert abs(force.sum()) < 1e-14 * np.abs(force).sum()


def test_zanna_bolton_does_no_work_by_its_products_with_vorticity():
    """The sum of A (T_xx - T_yy) D / 2 and of A T_xy S is zero on a torus, before T is smoothed."""
    config = of(random_fields(NY, NX, land=0.0), **RINGS)
    scheme = Scheme("energy", ("zanna_bolton",))
    _, x, grid = rates(config, scheme)
    flow = Flow(x, grid, scheme)
    xx, yy, xy = zanna_bolton.stress(flow, {"zanna_bolton": 1.0})
    work = 0.5 * (xx - yy) * tension(x.u, x.v, grid), xy * shear(x.u, x.v, grid)
    size = (NY, NX)
    assert abs(sum(each.on(size).sum() for each in work)) < 1e-13 * sum(np.abs(each.on(size)).sum() for each in work)


@pytest.mark.parametrize("sphere", [False, True])
@pytest.mark.parametrize("slip", ["free", "no"])
def test_backscatter_conserves_the_sum_of_resolved_and_subgrid_energy(slip, sphere):
    """In a basin with islands, with both sources, and energies of any sign; the flux `energy` adds nothing itself."""
    options = {"physics__biharmonic_viscosity": 1e8, "grid__periodic_x": False, "physics__slip": slip}
    config = of(random_fields(NY, NX, land=0.2), sphere=sphere, **options)
    terms = ("biharmonic_viscosity", "biharmonic_smagorinsky", "backscatter")
    F, x, grid = rates(
        config, Scheme("energy", terms), subgrid_energy=np.random.default_rng(1).standard_normal((NY, NX))
    )

    def at(a, place):
        return np.broadcast_to(a.on((NY, NX)), (NY, NX)) * getattr(grid.area, place).on((NY, NX))

    g = config.physics.gravity
    K = bernoulli_kinetic_energy(x.u, x.v, grid)
    parts = [
        at(mx_f(x.h) * x.u * F.u, "u"),
        at(my_f(x.h) * x.v * F.v, "v"),
        at((g * (x.h - grid.depth) + K) * F.h, "centre"),
        at(F.subgrid_energy, "centre"),
    ]
    assert np.abs(parts[3]).sum() > 1e-3 * np.abs(parts[0]).sum()
    assert abs(np.sum(parts)) < 1e-13 * np.abs(parts).sum()


def test_without_backscatter_there_is_no_energy_to_write():
    for key in ("fields", "means"):
        with pytest.raises(ConfigError, match=f"^output.{key}: this run has no subgrid_energy"):
            swmodel.Simulation("double_gyre", {f"output.{key}": ["subgrid_energy"]})


@pytest.mark.parametrize(("name", "missing"), [("zanna_bolton", "a viscosity"), ("backscatter", "takes; set one")])
def test_what_only_adds_energy_to_eddies_is_refused_without_what_takes_it(name, missing):
    options = {"time.dt": 20.0, f"physics.{name}": 1.0}
    with pytest.raises(ConfigError, match=f"physics.{name}: .*{missing}"):
        check_config(swmodel.load("rest", options, {}))
    check_config(swmodel.load("rest", options | {"physics.biharmonic_smagorinsky": 0.06}, {}))


def test_a_negative_coefficient_is_refused():
    with pytest.raises(ConfigError, match=re.escape("physics.leith: must be at least 0")):
        check_config(swmodel.load("rest", {"time.dt": 20.0, "physics.leith": -1.0}, {}))


def test_derivatives_are_finite_at_rest():
    """All closures have roots and quotients of what is zero there."""
    still = {name: np.zeros((NY, NX)) for name in ("eta", "u", "v")}
    config = of(random_fields(NY, NX) | still, run__steps=2, run__executor="xla")
    problem = Problem(config, ("u", "leith_e"), lambda view, k: view.state.u)
    value, gradient = problem.value_and_gradient(problem.first_guess(), lambda series: (series**2).sum())
    assert all(np.isfinite(np.asarray(each)).all() for each in (value, gradient["u"], gradient["leith_e"]))
