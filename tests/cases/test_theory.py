"""Waves, vortices and gyres follow their theory, where `swmodel verify` has no such answer; twins are twins."""

import numpy as np
import pytest

import swmodel
from swmodel.assimilation.experiment import believed
from swmodel.bench.known_answers.answer import order, refined, simulate, whole
from swmodel.cases import inertial, munk, seamount, seiche
from swmodel.setup import fields

pytestmark = pytest.mark.slow

DAY = 86400.0
#: The double gyre on few cells, and on those of the twin experiments.
COARSE = {"grid.nx": 25, "grid.ny": 50, "grid.dx": 40e3, "grid.dy": 40e3}
FINE = {"grid.nx": 50, "grid.ny": 100, "grid.dx": 20e3, "grid.dy": 20e3}


@pytest.mark.promise("tides are those of the Moon and the Sun")
@pytest.mark.parametrize("nodes", [{}, {"case.nodes_x": 3, "case.nodes_y": 2, "physics.gravity": 1.0}])
def test_seiche_has_frequency_of_its_mode_on_the_c_grid(nodes):
    """Self-attraction slows it by the root of 1 - beta; the C-grid slows it by (k dx)²/24."""
    basin = {"grid.nx": 25, "grid.ny": 17, "grid.dx": 4e3, "grid.dy": 3e3, "physics.self_attraction": 0.09, **nodes}
    basin |= {"case.amplitude": 1e-6, "time.cfl": 0.2, "run.executor": "reference"}
    simulation = simulate("seiche", basin)
    config = simulation.config
    # A quarter past three periods sea level goes through zero, where it tells the phase best.
    simulation.advance(round(3.25 * 2 * np.pi / seiche.frequency(config) / simulation.dt))
    shape, eta = seiche.shape(config, whole(config)), simulation.field("eta")
    part = (eta * shape).sum() / (shape**2).sum()
    turns = round(seiche.grid_frequency(config) * simulation.time / (2 * np.pi) - 0.25) + 0.25
    measured = (2 * np.pi * turns + np.arcsin(-part / config.case.amplitude)) / simulation.time

    assert measured == pytest.approx(seiche.grid_frequency(config), rel=1e-6)
    assert np.abs(eta - part * shape).max() < 1e-6 * config.case.amplitude
    if not nodes:
        slower = (np.pi / (25 * 4e3) * config.grid.dx) ** 2 / 24
        period = 2 * 25 * 4e3 / np.sqrt(config.physics.gravity * config.physics.depth * (1 - 0.09))
        assert 2 * np.pi / seiche.frequency(config) == pytest.approx(period, rel=1e-14)
        assert 1 - seiche.grid_frequency(config) / seiche.frequency(config) == pytest.approx(slower, rel=0.01)


@pytest.mark.parametrize(
    "forces",
    [
        {"physics.linear_drag": 2e-5, "physics.quadratic_drag": 0.02, "physics.f0": -1e-4},
        {"physics.linear_drag": 3e-5, "case.wind": 0.2, "physics.gravity": 1.0},
    ],
)
def test_inertial_current_obeys_drag_and_wind(forces):
    grid = {"grid.nx": 5, "grid.ny": 3, "grid.dx": 1e6, "grid.dy": 1e6, "time.dt": inertial.PERIOD / 100}
    simulation = simulate("inertial", grid | forces | {"run.executor": "reference"}, inertial.PERIOD)
    expected, config = inertial.velocity(simulation.config, simulation.time), simulation.config
    for current, known in zip(simulation.state[1:], expected, strict=True):
        assert np.abs(current - known).max() < 1e-6 * config.case.speed
    assert np.abs(simulation.field("eta")).max() < 1e-12 * config.physics.depth


@pytest.mark.parametrize("flux", ["enstrophy", "arakawa_lamb"])
def test_vortex_is_steady_to_second_order_with_other_fluxes(flux):
    errors = []
    for factor in (1, 2):
        options = refined({"nx": 48, "ny": 48, "dx": 13e3, "dy": 13e3}, factor) | {"scheme.vorticity_flux": flux}
        options |= {"case.speed": -1.5, "physics.gravity": 1.0, "physics.depth": 400.0, "run.executor": "reference"}
        simulation = simulate("vortex", options)
        before = simulation.fields(["eta", "u", "v"])
        simulation.advance(round(DAY / 2 / simulation.dt))
        after = simulation.fields(["eta", "u", "v"])
        errors.append([np.abs(after[name] - field).max() / np.abs(field).max() for name, field in before.items()])
    assert max(errors[1]) < 0.01
    assert [order(*pair) for pair in zip(*errors, strict=True)] == pytest.approx([2, 2, 2], abs=0.2)


def test_munk_solution_has_his_limit_and_does_not_slip():
    """In a wide basin the maximum lies where Munk (1950) has it; psi and its slope vanish at both walls."""
    config = swmodel.load("munk", {"grid.nx": 4000, "grid.ny": 4000, "grid.dx": 20e3, "grid.dy": 20e3}, environ={})
    width = munk.boundary_layer_width(config)
    x = np.linspace(0, 10 * width, 100001)
    psi = munk.streamfunction(config, x, config.grid.ny * config.grid.dy / 2)
    assert width >= 2.999 * config.grid.dx
    assert x[psi.argmax()] == pytest.approx(2 * np.pi * width / np.sqrt(3), rel=2e-3)
    config = swmodel.load("munk", environ={})
    Lx, step = config.grid.nx * config.grid.dx, 1e-4 * munk.boundary_layer_width(config)
    psi = munk.streamfunction(config, np.array([0, step, Lx / 2, Lx - step, Lx]), config.grid.ny * config.grid.dy / 2)
    assert np.abs(psi[[0, -1]]).max() < 1e-10 * psi[2]
    assert np.abs(psi[[1, -2]]).max() < 1e-7 * psi[2]


@pytest.mark.night
def test_potential_vorticity_is_kept_over_a_seamount():
    """After seven days it is that upstream where the seamount is higher than a third; the cyclone drifts away."""
    deep = {"physics.gravity": 1.0, "physics.depth": 5e3, "case.height": 0.03, "scheme.vorticity_flux": "enstrophy"}
    simulation = simulate("seamount", {"grid.nx": 96, "grid.ny": 48, "grid.dx": 10e3, "grid.dy": 10e3, **deep}, 7 * DAY)
    config, corners, zeta = simulation.config, whole(simulation.config, "corner"), simulation.field("zeta")
    summit = seamount.seamount(config, corners) > config.case.height / 3
    squeezed = seamount.squeezed_vorticity(config, corners)
    anomaly = simulation.field("q") * config.physics.depth / config.physics.f0 - 1
    cyclonic, strongest = np.sign(config.physics.f0) * zeta, np.abs(squeezed).max()
    away = corners.x[0, np.unravel_index(cyclonic.argmax(), cyclonic.shape)[1]] + config.grid.nx * config.grid.dx / 6
    assert np.abs(anomaly[summit]).max() < 0.02 * config.case.height
    np.testing.assert_allclose(zeta[summit], squeezed[summit], rtol=0, atol=0.05 * strongest)
    assert cyclonic.max() == pytest.approx(strongest, rel=0.1)
    assert away == pytest.approx(config.case.speed * 7 * DAY, rel=0.25)


def power(simulation):
    """Work of the wind and losses to drag and friction, W: the products of velocity and force in the energy's sums."""
    config, (h, u, v) = simulation.config, simulation.state
    grid, physics = config.grid, config.physics

    def between(a, axis):
        return 0.5 * (a + np.roll(a, -1, axis))

    inner = np.ones((grid.ny, grid.nx))
    inner[:, -1], inner[-1] = 0, 0  # free slip: no tangential stress at the walls
    wind = config.case.wind_x(config, whole(config)) * u
    drag = -physics.linear_drag * physics.density * (between(h, 1) * u**2 + between(h, 0) * v**2)
    along = [(a - np.roll(a, 1, axis)) / d for a, axis, d in ((u, 1, grid.dx), (v, 0, grid.dy))]
    across = [inner * (np.roll(a, -1, axis) - a) / d for a, axis, d in ((u, 0, grid.dy), (v, 1, grid.dx))]
    friction_u = (np.roll(along[0], -1, 1) - along[0]) / grid.dx + (across[0] - np.roll(across[0], 1, 0)) / grid.dy
    friction_v = (across[1] - np.roll(across[1], 1, 1)) / grid.dx + (np.roll(along[1], -1, 0) - along[1]) / grid.dy
    friction = physics.viscosity * physics.density * (between(h, 1) * u * friction_u + between(h, 0) * v * friction_v)
    return np.array([field.sum() * grid.dx * grid.dy for field in (wind, drag, friction)])


@pytest.mark.night
def test_wind_work_goes_into_energy_drag_and_friction():
    options = COARSE | {"physics.viscosity": 1300.0, "time.stepper": "rk4", "time.cfl": 0.1}
    simulation = simulate("double_gyre", options, 50 * DAY)
    before, powers, pairs = simulation.diagnostics()["energy"], [power(simulation)], 50
    for _ in range(2 * pairs):
        simulation.advance(1)
        powers.append(power(simulation))
    simpson = np.tile([2.0, 4.0], pairs + 1)[: 2 * pairs + 1]
    simpson[[0, -1]] = 1.0
    wind, drag, friction = simpson @ np.array(powers) * simulation.dt / 3
    gained = simulation.diagnostics()["energy"] - before
    assert wind > 0 > max(drag, friction)
    assert gained == pytest.approx(wind + drag + friction, abs=1e-9 * wind)


def everything(config, name):
    grid = config.grid
    return np.broadcast_to(fields.evaluate(config, name, range(grid.ny), range(grid.nx)), (grid.ny, grid.nx))


@pytest.mark.parametrize("case", ["double_gyre_twin", "double_gyre_drag"])
def test_twins_believe_in_the_ocean_of_the_double_gyre(case):
    config, plain = believed(swmodel.load(case, environ={})), swmodel.load("double_gyre", FINE, environ={})
    for name in ("depth", "mask", "wind_x", "wind_y", "linear_drag", "eta", "u", "v"):
        np.testing.assert_array_equal(everything(config, name), everything(plain, name))
    run = swmodel.resolve(swmodel.load(case, environ={}))  # observations are compared with states at their times
    assert (run.run.steps % 20, 86400 % run.time.dt) == (0, 0)
    without = {"viscosity": 0.0}
    assert config.physics.model_copy(update=without) == plain.physics.model_copy(update=without)


def test_drag_patch_is_gaussian_on_any_grid():
    for cells in ({}, COARSE):
        config = swmodel.load("double_gyre_drag", {"case.patch": 4e-6, **cells}, environ={})
        at = whole(config)
        distance = np.hypot(at.x - 0.3 * at.length_x, at.y - 0.5 * at.length_y)
        expected = 5e-8 + 4e-6 * np.exp(-((distance / 200e3) ** 2))
        np.testing.assert_allclose(everything(config, "linear_drag"), expected, rtol=1e-12)


def test_unknown_winds_are_gaussian_and_correlated_in_time():
    config = swmodel.load("double_gyre_winds", environ={})
    case, at, steady = config.case, whole(config), swmodel.load("double_gyre", COARSE, environ={})
    np.testing.assert_array_equal(believed(config).case.wind_x(config, at, 5e5), everything(steady, "wind_x"))
    assert not believed(config).case.wind_y(config, at, 5e5).any()
    seeds, times = (case.model_copy(update={"seed": seed}) for seed in range(300)), (0, 5, 5 * 86400)
    now, later, days = np.array([[each.unknown(at, t, "x")[25, 12] for t in times] for each in seeds]).T
    np.testing.assert_allclose(np.std(now), 0.15, rtol=0.15)
    np.testing.assert_allclose(later, now, atol=0.01)
    assert abs(np.corrcoef(now, days)[0, 1] - np.exp(-0.5)) < 0.15
