"""Waves leave through open sides, and come in by sea level and current given outside; at rest nothing happens."""

import numpy as np
import pytest
import xarray
from support.open_sides import LINEAR, C, G, H
from support.random_case import configuration, random_fields
from support.stepping import after

import swmodel
from swmodel.bench.known_answers.answer import order
from swmodel.cases.gulf_tide import PERIOD

pytestmark = pytest.mark.slow


def stepped(ny, nx, fields, steps, **options):
    """h, u, v after so many steps of the reference."""
    fields = {"depth": np.full((ny, nx), H)} | fields
    return after("reference", configuration(ny, nx, fields, **LINEAR | options), steps)[:3]


def energy(h, u, v):
    """Of g eta²/2 + H (u² + v²)/2 in all cells."""
    return (0.5 * G * (h - H) ** 2 + 0.5 * H * (u**2 + v**2)).sum()


def left_of_a_pulse(nx, axis):
    """The part of the energy of a pulse that is left once it has gone through both sides."""
    spacing, length = 200e3 / nx, 200e3
    across = (np.arange(nx) + 0.5) * spacing
    pulse = np.broadcast_to(1e-5 * np.exp(-0.5 * ((across - length / 2) / 8e3) ** 2), (3, nx))
    ring = {"x": {"grid__periodic_y": True, "grid__periodic_x": False}, "y": {"grid__periodic_x": True}}[axis]
    sides = ("west", "east") if axis == "x" else ("south", "north")
    eta, shape = (pulse, (3, nx)) if axis == "x" else (pulse.T, (nx, 3))
    dt = 0.5 * spacing / C
    size = {"grid__dx": spacing, "grid__dy": spacing, "time__dt": dt, "open_sides__sides": sides}
    now = stepped(*shape, {"eta": eta}, round(0.8 * length / C / dt), **ring | size)
    return energy(*now) / (0.5 * G * (eta**2).sum())


@pytest.mark.parametrize("axis", ["x", "y"])
def test_a_pulse_leaves_to_fourth_order(axis):
    """Of energy; its width is 8 cells at the finer spacing: 6e-6 are left."""
    coarse, fine = left_of_a_pulse(100, axis), left_of_a_pulse(200, axis)
    assert fine < 7e-6
    assert order(coarse, fine) == pytest.approx(4, abs=0.15)


@pytest.mark.night
def test_oblique_waves_are_reflected_as_the_law_says():
    """(1 - cos)/(1 + cos) of their amplitude, except for what 16 cells in a wavelength resolve."""
    nx, ny, dx, length, degrees = 160, 8, 1e3, 16e3, 45.0
    cos, sin = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    dy, dt, k = length / sin / ny, 0.5 * dx / C, 2 * np.pi / length

    def wave(x, y):
        return 1e-6 * np.exp(-0.5 * ((x - 70e3) / 18e3) ** 2) * np.cos(k * (cos * x + sin * y))

    x, y = (np.arange(nx)[None, :] + 0.5) * dx, (np.arange(ny)[:, None] + 0.5) * dy
    fields = {"u": G / C * cos * wave(x + dx / 2, y), "v": G / C * sin * wave(x, y + dy / 2), "eta": wave(x, y)}
    size = {"grid__dx": dx, "grid__dy": dy, "time__dt": dt, "grid__periodic_y": True}
    steps = round(1.7 * (nx * dx - 70e3) / (C * cos) / dt)
    h, *_ = stepped(ny, nx, fields, steps, open_sides__sides=("east",), **size)
    amplitude = np.sqrt(((h - H) ** 2).sum() / (fields["eta"] ** 2).sum())
    assert amplitude == pytest.approx((1 - cos) / (1 + cos), rel=0.1)


def test_a_kelvin_wave_comes_in_and_leaves():
    """With twice its level outside, at rest: against its formula after two periods, over its amplitude."""
    ny, nx, spacing, f = 6, 20, 30e3, 1e-4
    w, amplitude = 2 * np.pi / PERIOD, 1e-5
    y, x = (np.arange(ny)[:, None] + 0.5) * spacing, (np.arange(nx)[None, :] - 0.5) * spacing  # x from the open face
    cosine = 2 * amplitude * np.exp(-y * f / C) * (x < 3 * spacing)
    fields = {"outside_tide_level": np.array([[cosine, 0 * cosine]])}
    dt = 0.5 * spacing / C
    size = {"grid__dx": spacing, "grid__dy": spacing, "time__dt": dt, "physics__f0": f}
    steps = round(2 * PERIOD / dt)
    sides = {"open_sides__sides": ("west", "east"), "open_sides__constituents": ("M2",)}
    h, _, v = stepped(ny, nx, fields, steps, **sides, **size)
    eta = amplitude * np.exp(-y * f / C) * np.cos(w * (x / C - steps * dt))
    assert np.abs((h - H - eta)[:, 1:-1]).max() < 0.01 * amplitude
    assert np.abs(v).max() < 0.01 * amplitude * G / C


@pytest.mark.fault("the transport of an outside tide has no effect, or a wrong one")
def test_a_tide_given_with_its_transport_comes_in_as_it_is():
    """A progressive wave, whose level and transport U = c eta an atlas has, and not the wave that comes in alone."""
    ny, nx, spacing = 3, 30, 20e3
    w, amplitude = 2 * np.pi / PERIOD, 1e-5
    x = (np.arange(nx) - 0.5)[None, :] * spacing + np.zeros((ny, 1))  # of centres, from the open face

    def parts(size, place):
        lag = w * place / C
        return np.array([[size * np.cos(lag), size * np.sin(lag)]])

    level, transport = parts(amplitude, x), parts(amplitude * C, x + spacing / 2)
    start = {"eta": level[0, 0], "u": transport[0, 0] / H}
    size = {"grid__dx": spacing, "grid__dy": spacing, "time__dt": 0.5 * spacing / C, "grid__periodic_y": True}
    steps = round(1.6 * PERIOD / size["time__dt"])
    sides = {"open_sides__sides": ("west", "east"), "open_sides__constituents": ("M2",)}
    given = {"outside_tide_level": level, "outside_tide_transport_x": transport}
    eta = amplitude * np.cos(w * (x / C - steps * size["time__dt"]))
    h, *_ = stepped(ny, nx, given | start, steps, **sides, **size)
    assert np.abs((h - H - eta)[:, 1:-1]).max() < 0.002 * amplitude
    h, *_ = stepped(ny, nx, {"outside_tide_level": level} | start, steps, **sides, **size)
    assert np.abs((h - H - eta)[:, 1:-1]).max() > 0.1 * amplitude


FLAT = {"depth": lambda at: 50.0 + 0 * at.lat, "mask": lambda at: 1.0 + 0 * at.lat, "eta": lambda at: 0 * at.lat}


@pytest.mark.night
def test_a_run_lies_within_another_one(tmp_path):
    """One way: it has sea level and current at its sides from the file of the other, and the same wave passes."""
    kind = {"kind": "latlon", "dlon": 0.05, "dlat": 0.05, "rotation": 0.0, "periodic_x": False}
    common = {"time.stepper": "rk3", "time.dt": 60.0, "run.executor": "reference", "run.dtype": "float64"}
    outer = {f"grid.{key}": value for key, value in (kind | {"west": 0.0, "south": -0.2, "nx": 80, "ny": 8}).items()}
    inner = {f"grid.{key}": value for key, value in (kind | {"west": 1.5, "south": -0.2, "nx": 40, "ny": 8}).items()}
    files = {"output.every_steps": 6, "run.steps": 108, "time.start": "2000-01-01"}

    def pulse(at):
        return 1e-3 * np.exp(-0.5 * ((at.lon - 0.8) / 0.2) ** 2) + 0 * at.lat

    whole = swmodel.Simulation(swmodel.load("rest", outer | common | files, environ={}), fields=FLAT | {"eta": pulse})
    whole.run(tmp_path / "outer")
    path = f"{tmp_path}/outer/output.nc"
    given = {"input.outside_level": f"{path}:eta", "input.outside_current_x": f"{path}:u"}
    options = inner | common | given | {"open_sides.sides": ["west", "east"], "time.start": "2000-01-01"}
    part = swmodel.Simulation(swmodel.load("rest", options | {"run.steps": 108}, environ={}), fields=FLAT)
    part.advance(102)
    with xarray.open_dataset(path) as data:
        there = data["eta"][17].values[:, 30:70]
    assert np.abs(there).max() > 2e-4
    assert np.abs(part.field("eta") - there)[:, 1:-1].max() < 0.03 * np.abs(there).max()


@pytest.mark.fault("air pressure pumps water through an open side")
@pytest.mark.parametrize("more", [{}, {"air": 800.0, "sponge__rate": 1e-3, "sponge__width": 1e4}], ids=["calm", "air"])
def test_at_rest_nothing_happens(more):
    """Over rough ground, with islands; under air that differs from place to place sea level is as by a barometer."""
    options = dict(more)
    pressure = 101325.0 + options.pop("air", 0.0) * np.random.default_rng(3).standard_normal((9, 11))
    fields = {name: values for name, values in random_fields(9, 11).items() if name in ("depth", "mask")}
    fields |= {"air_pressure": pressure} if more else {}
    fields["eta"] = 0.3 - (pressure - 101325.0) / (1025.0 * G)
    options |= {"open_sides__sides": ("west", "east", "south", "north"), "open_sides__level": 0.3}
    _, u, v = after("reference", configuration(9, 11, fields, grid__periodic_x=False, **options), 200)[:3]
    assert max(np.abs(u).max(), np.abs(v).max()) < 1e-13


def after_a_storm(speed, pressure):
    """Sea level over that of a barometer with a moving storm, where a low has come in through a side by a half.

    Largest difference over the height of the storm's sea level; it is 1/(1 - speed²/gH) of a barometer's inside.
    """
    nx, dx, width, low, deep = 40, 15e3, 80e3, -3000.0, 1000.0

    class Storm(swmodel.Case):
        def air_pressure(self, config, at, t):
            away = (at.x + 3.5 * width - speed * t) / width
            return 101325.0 + low * np.exp(-0.5 * away**2)

    options = {
        **{"grid.nx": nx, "grid.ny": 3, "grid.dx": dx, "grid.dy": dx, "grid.periodic_x": False},
        **{"grid.periodic_y": True, "physics.depth": deep, "time.stepper": "rk4", "time.dt": 100.0},
        **{"open_sides.sides": ["west", "east"], "open_sides.pressure": pressure, "forcing.every": 600.0},
        **{"run.steps": round(4 * width / speed / 100.0), "run.executor": "reference", "run.dtype": "float64"},
    }
    simulation = swmodel.Simulation(swmodel.load(Storm, options, environ={}))
    simulation.advance(simulation.config.run.steps)
    x = (np.arange(nx) + 0.5) * dx
    away = (x + 3.5 * width - speed * simulation.time) / width
    height = -low / (1025.0 * G)
    expected = height * np.exp(-0.5 * away**2) / (1 - speed**2 / (G * deep))
    return np.abs(simulation.field("eta")[1] - expected)[1:-1].max() / height


@pytest.mark.fault("air pressure pumps water through an open side")
@pytest.mark.night
def test_a_storm_that_crosses_a_side_pumps_no_water():
    """But for F/(1 - F)/2 of its height, F = speed/sqrt(gH), as the current under it is not given outside."""
    for speed in (10.0, 20.0):
        froude = speed / np.sqrt(G * 1000.0)
        assert after_a_storm(speed, 101325.0) == pytest.approx(froude / (1 - froude) / 2, rel=0.05)
    assert after_a_storm(20.0, "none") > 0.4
