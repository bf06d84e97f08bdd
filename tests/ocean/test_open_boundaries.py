"""Waves leave through open boundaries and enter from boundary data; water enters with its volume and velocity."""

import numpy as np
import pytest
from support.random_case import configuration, random_fields, section
from support.stepping import run_chunks

import swmodel
from swmodel.cases.gulf_tide import M2_PERIOD

G, H = 9.81, 100.0
WAVE_SPEED = np.sqrt(G * H)
#: Options for linear waves.
LINEAR_OPTIONS = section("physics", viscosity=0.0, quadratic_drag=0.0, f0=0.0)
LINEAR_OPTIONS |= {"time__stepper": "rk4", "grid__periodic_x": False}


def state_after(ny, nx, fields, steps, **options):
    """h, u, v after this number of steps of the reference executor."""
    fields = {"depth": np.full((ny, nx), H)} | fields
    return run_chunks("reference", configuration(ny, nx, fields, **LINEAR_OPTIONS | options), steps)[:3]


@pytest.mark.slow
@pytest.mark.fault("the transport of a boundary tide has no effect, or a wrong one")
def test_tide_with_its_transport_enters_unchanged():
    """A progressive wave enters if its level and transport U = c eta are given, but not if its level alone is."""
    ny, nx, spacing, dt = 3, 30, 20e3, 10e3 / WAVE_SPEED
    w, amplitude = 2 * np.pi / M2_PERIOD, 1e-5
    x = (np.arange(nx) - 0.5)[None, :] * spacing + np.zeros((ny, 1))  # of centres, from the open face

    def parts(amplitude, x):
        lag = w * x / WAVE_SPEED
        return np.array([[amplitude * np.cos(lag), amplitude * np.sin(lag)]])

    level, transport = parts(amplitude, x), parts(amplitude * WAVE_SPEED, x + spacing / 2)
    initial_fields = {"eta": level[0, 0], "u": transport[0, 0] / H}
    steps = round(1.6 * M2_PERIOD / dt)
    options = {"grid__dx": spacing, "grid__dy": spacing, "time__dt": dt, "grid__periodic_y": True}
    options |= {"open_boundaries__sides": ("west", "east"), "open_boundaries__constituents": ("M2",)}
    boundary_fields = {"boundary_tide_level": level, "boundary_tide_transport_x": transport}
    eta = amplitude * np.cos(w * (x / WAVE_SPEED - steps * dt))
    h, *_ = state_after(ny, nx, boundary_fields | initial_fields, steps, **options)
    assert np.abs((h - H - eta)[:, 1:-1]).max() < 0.002 * amplitude
    h, *_ = state_after(ny, nx, {"boundary_tide_level": level} | initial_fields, steps, **options)
    assert np.abs((h - H - eta)[:, 1:-1]).max() > 0.1 * amplitude


def test_phases_of_boundary_tide_are_in_degrees():
    """A phase of 360 degrees changes nothing; one of 180 degrees changes the sign of the tide."""
    tide, rest = {"constituents": ("M2",), "sides": ("west",), "amplitude": (1e-3,)}, {"eta": np.zeros((2, 9))}
    options = [section("open_boundaries", **tide, phase=(phase,)) for phase in (0, 360, 180)]
    levels = [state_after(2, 9, rest, 5, **each)[0] - H for each in options]
    assert np.abs(levels[0]).max() > 1e-6
    np.testing.assert_allclose(levels[1], levels[0], atol=1e-9 * np.abs(levels[0]).max() + 1e-13)
    np.testing.assert_allclose(levels[2], -levels[0], atol=1e-3 * np.abs(levels[0]).max())


@pytest.mark.fault("air pressure pumps water through an open boundary")
@pytest.mark.parametrize("pressure_variation", [0.0, 800.0], ids=["calm", "air"])
def test_sea_at_rest_stays_at_rest_with_open_boundaries(pressure_variation):
    """The bed is rough and has islands; sea level balances nonuniform air pressure."""
    options = {"sponge__rate": 1e-3, "sponge__width": 1e4} if pressure_variation else {}
    pressure = 101325.0 + pressure_variation * np.random.default_rng(3).standard_normal((9, 11))
    fields = {name: values for name, values in random_fields(9, 11).items() if name in ("depth", "mask")}
    fields |= {"air_pressure": pressure} if pressure_variation else {}
    fields["eta"] = 0.3 - (pressure - 101325.0) / (1025.0 * G)
    options |= {"open_boundaries__sides": ("west", "east", "south", "north"), "open_boundaries__level": 0.3}
    _, u, v = run_chunks("reference", configuration(9, 11, fields, grid__periodic_x=False, **options), 200)[:3]
    assert max(np.abs(u).max(), np.abs(v).max()) < 1e-13


#: Water enters through all sides, between islands.
SIDES = ("west", "east", "south", "north")
BASIN = section("open_boundaries", sides=SIDES, constituents=("M2",), amplitude=(0.4,), transport_x=3.0, current_y=0.05)
BASIN |= {"grid__periodic_x": False, "grid__periodic_y": False, "run__executor": "reference"}


@pytest.mark.promise("open boundaries let waves in and out")
@pytest.mark.fault("inflow is missing in the series")
@pytest.mark.parametrize("stepper", ["ab2", "gfb"])
def test_volume_changes_by_inflow_of_the_series(stepper):
    """The stepper weights the inflow like other tendencies; with ab2, that in the west also follows from u and eta."""
    fields = random_fields(9, 11, amplitude=0.1)
    model = swmodel.Simulation(configuration(9, 11, fields, **BASIN, time__stepper=stepper))
    density, epsilon, previous_inflow = model.config.physics.density, model.config.time.ab2_epsilon, 0.0
    for step in range(4):
        diagnostics = model.diagnostics()
        inflow = sum(diagnostics[f"inflow_{side}"] for side in SIDES)
        weights = (1.5 + epsilon, -0.5 - epsilon) if step and stepper == "ab2" else (1.0, 0.0)
        model.advance(1)
        volume_change = (model.diagnostics()["mass"] - diagnostics["mass"]) / density
        expected = model.dt * (weights[0] * inflow + weights[1] * previous_inflow)
        assert abs(expected) > 1e5
        assert volume_change == pytest.approx(expected, abs=1e-14 * diagnostics["mass"] / density)
        previous_inflow = inflow
    if stepper == "gfb":
        return
    eta, u, wet = model.field("eta"), model.field("u"), fields["mask"] > 0
    face_depth = 0.5 * (fields["depth"][:, 0] + fields["depth"][:, 1])
    inner = (np.arange(9) > 0) & (np.arange(9) < 8)
    face_level = eta[:, 1] + 0.5 * wet[:, 2] * (eta[:, 1] - eta[:, 2])
    inflow_west = model.config.grid.dy * (u[:, 0] * (face_depth + face_level))[inner & wet[:, 0] & wet[:, 1]]
    assert model.diagnostics()["inflow_west"] == pytest.approx(inflow_west.sum(), rel=1e-12)


@pytest.mark.fault("the current at an open boundary is zero in files, means, ensembles")
def test_current_at_open_boundary_equals_current_inside():
    """With a uniform transport, the speed and its mean are uniform inside, and inflow equals outflow."""
    options = {"open_boundaries__transport_x": 3.0, "grid__periodic_y": True, "run__executor": "reference"}
    fields = {"depth": np.full((4, 12), H), "u": np.full((4, 12), 3.0 / H) * ~np.isin(np.arange(12), (0, 10, 11))}
    config = configuration(4, 12, fields, open_boundaries__sides=("west", "east"), **LINEAR_OPTIONS | options)
    model = swmodel.Simulation(config)
    means = model.means(["speed", "u"])
    for _ in range(3):
        model.advance(1)
        means.add_state(model.carry.state)
    diagnostics, inflow = model.diagnostics(), 3.0 * 4 * config.grid.dy
    assert diagnostics["inflow_west"] == pytest.approx(inflow, rel=1e-12)
    assert diagnostics["inflow_east"] == pytest.approx(-inflow, rel=1e-12)
    assert diagnostics["max_speed"] == pytest.approx(3.0 / H, rel=1e-12)
    for fields in (model.fields(["speed", "u"]), means.values()):
        np.testing.assert_allclose(fields["speed"][:, 1:-1], 3.0 / H, rtol=1e-12)
        np.testing.assert_allclose(fields["u"][:, :-1], 3.0 / H, rtol=1e-12)


@pytest.mark.slow
def test_oblique_waves_are_reflected_as_theory_says():
    """The reflection coefficient is (1 - cos a)/(1 + cos a) at incidence a, but for the error of 16 cells per wave."""
    nx, ny, dx, wavelength, angle = 160, 8, 1e3, 16e3, 45.0
    cos, sin = np.cos(np.radians(angle)), np.sin(np.radians(angle))
    dy, dt, k = wavelength / sin / ny, 0.5 * dx / WAVE_SPEED, 2 * np.pi / wavelength

    def wave(x, y):
        return 1e-6 * np.exp(-0.5 * ((x - 70e3) / 18e3) ** 2) * np.cos(k * (cos * x + sin * y))

    x, y = (np.arange(nx)[None, :] + 0.5) * dx, (np.arange(ny)[:, None] + 0.5) * dy
    u, v = G / WAVE_SPEED * cos * wave(x + dx / 2, y), G / WAVE_SPEED * sin * wave(x, y + dy / 2)
    fields = {"u": u, "v": v, "eta": wave(x, y)}
    grid = {"grid__dx": dx, "grid__dy": dy, "time__dt": dt, "grid__periodic_y": True}
    steps = round(1.7 * (nx * dx - 70e3) / (WAVE_SPEED * cos) / dt)
    h, *_ = state_after(ny, nx, fields, steps, open_boundaries__sides=("east",), **grid)
    reflection = np.sqrt(((h - H) ** 2).sum() / (fields["eta"] ** 2).sum())
    assert reflection == pytest.approx((1 - cos) / (1 + cos), rel=0.1)
