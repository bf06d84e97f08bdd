"""Poisson's and Helmholtz's equation hold on the C-grid to round-off; potentials and balance that follow from them."""

import re

import numpy as np
import pytest
from conftest import ROOT
from support.random_case import configuration, random_fields

import swmodel
from swmodel.errors import UsageError
from swmodel.ocean.elliptic import Equation, solve
from swmodel.parallel.decomposition import block
from swmodel.parallel.transport.serial import Serial
from swmodel.plotting import derived
from swmodel.plotting.dataset import open_data

pytestmark = pytest.mark.slow

NY, NX = 9, 12
WALLS = [(True, True), (True, False), (False, True), (False, False)]
SERIAL = Serial(block(0, (1, 1), NY, NX))
FIELDS = random_fields(NY, NX, land=0.0)
LEVEL = {"depth": np.full((NY, NX), 50.0)}
#: (on faces along y, on faces along x)
LOCATIONS = {"centre": (False, False), "u": (False, True), "v": (True, False), "corner": (True, True)}


def sea_of(walls, fields=FIELDS, **options):
    periodic = dict(zip(("grid__periodic_y", "grid__periodic_x"), walls, strict=True))
    return configuration(NY, NX, fields, **{"run__executor": "reference", **periodic, **options})


def around(x, axis, periodic, on_faces):
    """The field with a value more at both ends: across the ring, mirrored about walls at centres, odd about faces."""
    x = np.moveaxis(x, axis, 0)
    if periodic:
        ends = x[-1:], x[:1]
    elif on_faces:
        ends = np.zeros_like(x[:1]), -x[-2:-1]
    else:
        ends = x[:1], x[-1:]
    return np.moveaxis(np.concatenate([ends[0], x, ends[1]]), 0, axis)


def along(x, axis, walls, location):
    return around(x, axis, walls[axis], LOCATIONS[location][axis])


def laplacian(x, walls, location, grid):
    sizes = grid.dy, grid.dx
    return sum(np.diff(along(x, axis, walls, location), 2, axis) / sizes[axis] ** 2 for axis in (0, 1))


def mean_twice(x, walls, location):
    for axis in (0, 1):
        x = along(x, axis, walls, location)
        lower, middle, upper = (np.take(x, range(start, x.shape[axis] - 2 + start), axis) for start in (0, 1, 2))
        x = (lower + 2 * middle + upper) / 4
    return x


def random_source(walls, location):
    """What has a solution: zero on walls where the solution is, without a mean where it is zero nowhere."""
    y = np.random.default_rng(5).standard_normal((NY, NX))
    for axis in (0, 1):
        if not walls[axis] and LOCATIONS[location][axis]:
            y[(slice(None),) * axis + (-1,)] = 0
    return y


@pytest.mark.promise("solutions of Poisson's and Helmholtz's equations are exact")
@pytest.mark.parametrize(("walls", "location"), zip(WALLS, LOCATIONS, strict=True))
def test_the_discrete_equation_holds_to_round_off(walls, location):
    """Helmholtz's and, without the mean that has no solution, Poisson's."""
    grid, y = sea_of(walls).grid, random_source(walls, location)
    for b in (0.0, 2e-8):
        (x,) = solve(Equation(location, grid, b), [y], SERIAL)
        left = laplacian(x, walls, location, grid) - b * mean_twice(x, walls, location)
        zero_somewhere = any(not walls[axis] and LOCATIONS[location][axis] for axis in (0, 1))
        right = y if b or zero_somewhere else y - y.mean()
        inside = tuple(slice(0, -1) if not walls[a] and LOCATIONS[location][a] else slice(None) for a in (0, 1))
        np.testing.assert_allclose(left[inside], right[inside], rtol=0, atol=1e-12 * np.abs(y).max())
        if not (b or zero_somewhere):
            assert abs(x.mean()) < 1e-12 * np.abs(x).max()


@pytest.mark.parametrize("walls", [(True, False), (False, False)])
def test_a_current_is_that_of_its_potentials_and_the_mean(walls):
    """u = - d_y psi + d_x phi + mean u, and so v; the mean along a wall that is a ring, and none across walls."""
    simulation = swmodel.Simulation(sea_of(walls))
    psi, phi = (simulation.fields([name])[name] for name in ("streamfunction", "velocity_potential"))
    grid, (u, v) = simulation.config.grid, simulation.state[1:3]
    inside = slice(0, NY if walls[0] else NY - 1), slice(0, NX if walls[1] else NX - 1)

    of_u = -(psi - np.roll(psi, 1, 0)) / grid.dy + (np.roll(phi, -1, 1) - phi) / grid.dx
    of_v = (psi - np.roll(psi, 1, 1)) / grid.dx + (np.roll(phi, -1, 0) - phi) / grid.dy
    rest_u, rest_v = (u - of_u)[:, inside[1]], (v - of_v)[inside[0]]
    for rest, whole, ring in ((rest_u, u, walls[1]), (rest_v, v, walls[0])):
        np.testing.assert_allclose(rest, whole.mean() if ring else 0.0, rtol=0, atol=1e-12 * np.abs(whole).max())


@pytest.mark.night
def test_potentials_are_written_averaged_and_drawn_as_other_fields_are(tmp_path):
    names = ("streamfunction", "velocity_potential")
    options = {"output__fields": ("u", "v"), "output__means": names, "run__executor": "native", "time__dt": 1.0}
    simulation = swmodel.Simulation(sea_of((False, True), **options))
    simulation.run(tmp_path)
    with open_data(tmp_path / "output.nc") as data:
        for name, field in simulation.fields(names).items():
            drawn, mean = derived.read(data, name), derived.read(data, f"{name}_mean")
            np.testing.assert_allclose(drawn.values, field, rtol=0, atol=1e-10 * np.abs(field).max())
            np.testing.assert_allclose(mean.values, field, rtol=0, atol=1e-12 * np.abs(field).max())


@pytest.mark.fault("spectra or potentials of a sea with land, or on a sphere")
def test_there_are_no_potentials_around_land():
    simulation = swmodel.Simulation(sea_of((True, True), random_fields(NY, NX, land=0.2)))
    for ask in (simulation.fields, simulation.means):
        with pytest.raises(UsageError, match="seas without land only, but this one has some$"):
            ask(["streamfunction"])


@pytest.mark.parametrize("walls", [(True, False), (False, True)])
def test_potential_vorticity_gives_a_balanced_flow_back_and_leaves_waves_out(walls):
    overrides = dict(zip(("grid.periodic_y", "grid.periodic_x"), walls, strict=True))
    overrides |= {"grid.nx": NX, "grid.ny": NY, "case.wavenumber": 2, "run.dtype": "float64"}
    config = swmodel.load("turbulence", overrides | {"run.executor": "reference"}, environ={})
    simulation = swmodel.Simulation(config)
    balanced = {name: simulation.field(name) for name in ("eta", "u", "v")}

    found = simulation.balanced()
    for name, field in balanced.items():
        np.testing.assert_allclose(found[name], field, rtol=0, atol=1e-12 * np.abs(field).max(), err_msg=name)

    # A current with divergence and no vorticity has no part in it.
    phi = np.random.default_rng(2).standard_normal((NY, NX))
    u, v = np.roll(phi, -1, 1) - phi, np.roll(phi, -1, 0) - phi
    u[:, -1] *= walls[1]
    v[-1] *= walls[0]
    state = simulation.state
    waves = state._make((state.h, state.u + u / config.grid.dx, state.v + v / config.grid.dy))
    simulation.carry = simulation.carry._replace(state=waves)
    for name, field in simulation.balanced().items():
        np.testing.assert_allclose(field, balanced[name], rtol=0, atol=1e-10 * np.abs(balanced[name]).max())


def test_there_is_no_balance_where_depth_or_rotation_vary():
    for fields, options in ((FIELDS, {}), (LEVEL, {"physics__beta": 1e-11}), (LEVEL, {"physics__f0": 0.0})):
        simulation = swmodel.Simulation(sea_of((False, True), fields, **options))
        with pytest.raises(UsageError, match="an f plane of uniform depth"):
            simulation.balanced()


@pytest.mark.night
def test_the_program_of_the_page_solves_poissons_equation():
    """Of the source without its mean."""
    page = (ROOT / "docs" / "spectra.md").read_text()
    names = {}
    exec(re.search(r"```python\n(.*?)```", page, re.DOTALL)[1], names)
    (y,), x, grid = names["sources"], names["x"], names["simulation"].config.grid
    np.testing.assert_allclose(laplacian(x, (True, True), "centre", grid), y - y.mean(), atol=1e-9)
