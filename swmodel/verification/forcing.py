"""Verification tests of forcing: wind, air pressure, tides, earthquakes, rain, rivers and infiltration."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..cases import chile2010, gulf_tide
from ..config import Case, Config
from ..forcing.kajiura import kajiura_filter
from ..forcing.okada import Fault, displacement
from ..ocean.constituents import constituents_at
from ..ocean.terms.tide import EQUILIBRIUM
from ..ocean.terms.weather import drag_law_params, stress_per_wind
from .comparison import (
    Comparison,
    convergence_order,
    grid_points,
    max_abs,
    simulate,
    simulate_flat_bottom,
    verification_test,
)

DENSITY, GRAVITY, DEPTH = 1025.0, 9.81, 20.0
COMMON_OPTIONS: dict[str, Any] = {"physics__gravity": GRAVITY, "physics__density": DENSITY, "physics__depth": DEPTH}
COMMON_OPTIONS |= {"time__stepper": "rk4"}


@verification_test("Dean and Dalrymple (1991), section 5.7: (H + eta)² = C + 2 tau x / (rho g)", quick=False)
def wind_set_up() -> Iterator[Comparison]:
    """The slope of the surface balances a steady wind stress, so that nothing moves."""
    tau = 2.0
    fields = {
        "wind_x": lambda at: tau + 0 * at.x,
        "eta": lambda at: np.sqrt(DEPTH**2 + 2 * tau * at.x / (DENSITY * GRAVITY)) - DEPTH + 0 * at.y,
    }
    simulation = simulate_flat_bottom(20, 3, 1e3, fields, 1000.0, grid__periodic_x=False, **COMMON_OPTIONS)
    yield Comparison("largest current, m s-1", max_abs(simulation.field("u")), 0.0, 1e-13)
    yield Comparison("rise over 19 km, m", np.ptp(simulation.field("eta")), 0.18803, 1.88e-5)


@verification_test("hydrostatics: 1 hPa / (rho g)", quick=False)
def inverse_barometer() -> Iterator[Comparison]:
    """Sea level that is 9.95 mm lower per hPa of air pressure is in balance, so that nothing moves."""
    fields = {
        "air_pressure": lambda at: 101300.0 + 500.0 * np.sin(at.x / 3e3) + 0 * at.y,
        "eta": lambda at: -500.0 * np.sin(at.x / 3e3) / (DENSITY * GRAVITY) + 0 * at.y,
    }
    simulation = simulate_flat_bottom(20, 3, 1e3, fields, 1000.0, grid__periodic_x=False, **COMMON_OPTIONS)
    yield Comparison("largest current, m s-1", max_abs(simulation.field("u")), 0.0, 1e-13)
    yield Comparison("sea level per hPa, mm", max_abs(simulation.field("eta")) / 5.0 * 1e3, 9.95, 0.0995)
    simulation = simulate("hurricane", {"case.speed": 0.0, "case.wind": 1e-6}, 21600.0)
    yield Comparison("standing storm: largest current, m s-1", max_abs(simulation.field("speed")), 0.0, 1e-12)


@verification_test("Pugh and Woodworth (2014), Sea-Level Science, section 7.3: steady set-up", quick=False)
def surge_of_a_slow_storm() -> Iterator[Comparison]:
    """The surge of a storm that moves slowly is the set-up by its wind and pressure in steady balance."""
    landfall = 2 * 86400.0
    simulation = simulate(
        "hurricane", {"physics.f0": 0.0, "case.speed": 2.0, "case.landfall": landfall}, landfall - 20e3
    )
    config, at, max_level, max_set_up = simulation.config, grid_points(simulation.config), 0.0, 0.0
    depth, drag_law = config.case.depth(config, at)[:, 0], drag_law_params(config, None, None)
    while simulation.time < landfall + 20e3:
        simulation.advance(10)
        max_level = max(max_level, simulation.field("eta")[-1].max())
    for time in np.arange(landfall - 20e3, landfall + 20e3, 1000.0):
        u10, v10 = config.case.u10(config, at, time), config.case.v10(config, at, time)
        tau_y = stress_per_wind(np.hypot(u10, v10), drag_law) * v10
        column = tau_y[-1].argmax()
        pressure = config.case.air_pressure(config, at, time)[:, column]
        max_set_up = max(max_set_up, steady_set_up(config, depth, tau_y[:, column], pressure))
    yield Comparison("highest level at the coast / steady set-up", max_level / max_set_up, 1.0, 0.02)


def steady_set_up(config: Config, depth, tau_y, pressure) -> float:
    """Sea level, m, at the last point of a northward line, in steady balance with wind stress and pressure.

    g d eta/dy = tau_y / (density (H + eta)) - d/dy (p / density), with eta = 0 at the first point. The depth H, m, and
    the stress tau_y and pressure p, Pa, are arrays of all points.
    """
    physics, eta = config.physics, 0.0
    for n in range(1, len(depth)):
        stress_per_depth = 0.5 * (tau_y[n] + tau_y[n - 1]) / (0.5 * (depth[n] + depth[n - 1]) + eta)
        rho_g_d_eta = stress_per_depth * config.grid.dy - (pressure[n] - pressure[n - 1])
        eta += rho_g_d_eta / (physics.density * physics.gravity)
    return eta


@verification_test("Proudman (1929), Geophys. J. Int. 2, 197-209", quick=False)
def moving_pressure() -> Iterator[Comparison]:
    """Under air pressure that moves at U, sea level is the inverse barometer / (1 - U²/(g H)), to second order."""
    wavelength, speed, errors = 100e3, 6.0, []
    k, amplification = 2 * np.pi / wavelength, 1 / (1 - speed**2 / (GRAVITY * DEPTH))
    period = wavelength / speed

    def level(at):
        return -np.cos(k * at.x) * amplification / (DENSITY * GRAVITY) + 0 * at.y

    fields = {
        "air_pressure": lambda at, t: np.cos(k * (at.x - speed * t)) + 0 * at.y,
        "eta": level,
        "u": lambda at: speed * level(at) / DEPTH,
    }
    for nx in (16, 32):
        intervals = {"time__dt": period / (8 * nx), "forcing__every": period / nx}
        simulation = simulate_flat_bottom(nx, 3, wavelength / nx, fields, period, **COMMON_OPTIONS, **intervals)
        exact = level(grid_points(simulation.config))
        errors.append(max_abs(simulation.field("eta") - exact) / max_abs(exact))
    yield Comparison("largest error after one period / amplitude", errors[1], 0.0, 0.02)
    yield Comparison("order of the error", convergence_order(*errors), 2.0, 0.15)


@verification_test("Airy (1845); Gill (1982), section 9.8: eta / eta_eq = 1 / (1 - beta - (w/k)² / (g H))", quick=False)
def canal_tide() -> Iterator[Comparison]:
    """The M2 tide in a canal around the equator is Airy's forced wave, with low water under the Moon."""
    radius, depth, date, factor, beta = 6371e3, 4000.0, "2012-03-01", 1e-3, 0.09
    (tide,) = constituents_at(("M2",), date)
    w, errors = 2 * np.pi * tide.frequency, []
    response = 1 / (1 - beta - (w * radius / 2) ** 2 / (GRAVITY * depth))
    height = response * factor * tide.nodal_factor * EQUILIBRIUM["M2"].height

    def wave(at):
        return height * np.cos(tide.phase + 2 * np.radians(at.lon)) + 0 * at.lat

    fields = {"eta": wave, "u": lambda at: -w * radius / (2 * depth) * wave(at)}
    for nx in (24, 48):
        options = {
            "grid.kind": "latlon", "grid.nx": nx, "grid.ny": 1, "grid.south": -0.5, "grid.north": 0.5,
            "grid.radius": radius, "grid.rotation": 0.0, "physics.depth": depth, "physics.self_attraction": beta,
            "tide.constituents": ("M2",), "tide.factor": factor, "time.stepper": "rk4", "time.start": date,
            "time.dt": tide.period / 4 / (2 * nx),
        }  # fmt: skip
        simulation = simulate(Case, options, tide.period / 4, fields)
        lon = np.radians(grid_points(simulation.config).lon)
        exact = height * np.cos(tide.phase + 2 * lon + w * simulation.time)
        errors.append(max_abs(simulation.field("eta") - exact) / abs(height))
    yield Comparison("largest error after a quarter of a period / amplitude", errors[1], 0.0, 0.03)
    yield Comparison("order of the error", convergence_order(*errors), 2.0, 0.2)


@verification_test("Lynch and Gray (1978), J. Hydraul. Div. ASCE 104, 1409-1428")
def gulf_tide_solution() -> Iterator[Comparison]:
    """The tide in a gulf whose depth grows quadratically towards its mouth converges to theory with second order."""
    errors = []
    for cells in (21, 41):
        spacing = 237e3 / (cells - 1)
        grid = {"grid.nx": cells, "grid.ny": 3, "grid.dx": spacing, "grid.dy": spacing, "case.amplitude": 1e-5}
        w = gulf_tide.m2_frequency()
        simulation = simulate("gulf_tide", grid, 5 * 2 * np.pi / w)
        config = simulation.config
        level = gulf_tide.solution(config, grid_points(config).x[0, :-1])[0]
        exact = (level * np.exp(1j * w * simulation.time)).real
        errors.append(max_abs(simulation.field("eta")[1, :-1] - exact) / max_abs(level))
    yield Comparison("largest error of sea level after five periods", errors[1], 0.0, 4e-4)
    yield Comparison("order of the error", convergence_order(*errors), 2.0, 0.3)


@verification_test("Meeus (1998), Astronomical Algorithms, chapters 22, 25 and 47; Schureman (1958)")
def tidal_arguments() -> Iterator[Comparison]:
    """Phases and nodal factors of tidal constituents agree with the positions of Moon and Sun."""
    sun, moon = 280.46646, 218.3164477  # mean longitudes at noon of 1 January 2000, degrees
    (m2, s2, k1) = constituents_at(("M2", "S2", "K1"), "2000-01-01T12:00", nodal=False)
    for tide, expected in ((m2, 360 + 2 * (sun - moon)), (s2, 0.0), (k1, sun - 90)):
        difference = (math.degrees(tide.phase) - expected + 180) % 360 - 180
        yield Comparison(
            f"argument V of {tide.name} at noon of 1 January 2000, error in degrees", difference, 0.0, 0.05
        )
    factors = [constituents_at(("M2",), f"{year}-07-02")[0].nodal_factor for year in range(1997, 2016)]
    yield Comparison("smallest nodal factor of M2 in 19 years", min(factors), 0.963, 0.003)
    yield Comparison("largest nodal factor of M2 in 19 years", max(factors), 1.038, 0.003)
    yield Comparison("period of M2, hours", m2.period / 3600, 12.4206012, 1e-6)


@verification_test("Okada (1985), Bull. Seismol. Soc. Am. 75, 1135-1154, table 2")
def okada_table() -> Iterator[Comparison]:
    """The displacement of the surface by a fault agrees with Okada's table."""
    table = {
        "strike_slip": (-8.689e-3, -4.298e-3, -2.747e-3),
        "dip_slip": (-4.682e-3, -3.527e-2, -3.564e-2),
        "opening": (-2.660e-4, 1.056e-2, 3.214e-3),
    }
    for motion, expected in table.items():
        components = displacement(Fault(4.0, math.radians(70.0), 3.0, 2.0, **{motion: 1.0}), 2.0, 3.0)
        for axis, value, expected_value in zip("xyz", components, expected, strict=True):
            last_digit = 10.0 ** (math.floor(math.log10(abs(expected_value))) - 3)
            quantity = f"case 2, {motion.replace('_', ' ')}, {axis}"
            yield Comparison(quantity, float(value), expected_value, 0.5 * last_digit)


@verification_test("Hammack (1973), J. Fluid Mech. 60, 769-799, in long waves; Kajiura (1963): 1 / cosh(k h)")
def rising_sea_floor() -> Iterator[Comparison]:
    """A sea floor that rises steadily for a time T lifts the water as in theory, and deep water smooths the uplift.

    After the rise U cos(k x), eta = U cos(k x) (sin(w t) - sin(w (t - T))) / (w T), where w² = g H k².
    """
    amplitude, wavelength, errors = 1e-4, 40e3, []
    k = 2 * np.pi / wavelength
    w = k * math.sqrt(GRAVITY * DEPTH)
    rise_time, end = 1.0 / w, 2.0 / w
    for cells in (32, 64):
        dt = end / (2 * cells)
        fields = {"uplift": lambda at, t: amplitude * np.cos(k * at.x) * np.minimum(t / rise_time, 1.0) + 0 * at.y}
        intervals = {"time__dt": dt, "forcing__every": dt}
        simulation = simulate_flat_bottom(cells, 3, wavelength / cells, fields, end, **COMMON_OPTIONS, **intervals)
        t, x = simulation.time, grid_points(simulation.config).x
        exact = amplitude * np.cos(k * x) * (math.sin(w * t) - math.sin(w * (t - rise_time))) / (w * rise_time)
        errors.append(max_abs(simulation.field("eta") - exact) / amplitude)
    yield Comparison("largest error / uplift", errors[1], 0.0, 2e-3)
    yield Comparison("order of the error", convergence_order(*errors), 2.0, 0.1)
    x, depth = (np.arange(50) + 0.5) * 1e3, 4e3
    mode = np.cos(6 * np.pi * x / 50e3) + np.zeros((2, 1))
    surface, attenuation = kajiura_filter(mode, depth, 1e3, 1e3), 1 / math.cosh(6 * np.pi / 50e3 * depth)
    yield Comparison("surface / uplift of a mode in 4 km of water", surface[0, 0] / mode[0, 0], attenuation, 1e-12)
    yield Comparison("largest difference at all points / uplift", max_abs(surface - attenuation * mode), 0.0, 1e-12)


@verification_test("NOAA National Data Buoy Center, DART 32412, 27 February 2010", quick=False)
def chile_2010() -> Iterator[Comparison]:
    """The Chilean tsunami of 2010 reaches a buoy 2400 km away at the observed time."""
    simulation = simulate("chile2010", {"output.maxima": (), "output.arrival": None})
    station, at = (-86.392, -17.975), grid_points(simulation.config)
    row, column = int(np.argmin(np.abs(at.lat - station[1]))), int(np.argmin(np.abs(at.lon - station[0])))
    series = []
    while simulation.time < 3.6 * 3600:
        simulation.advance(2)
        series.append((simulation.time, simulation.field("eta")[row, column]))

    def find_half_crest_time(time, level):
        """The time at which the first wave rose to half of its crest, s."""
        is_first_wave = (time >= 2.5 * 3600) & (time <= 3.6 * 3600)
        time, level = time[is_first_wave], level[is_first_wave]
        crest = int(np.argmax(level))
        last_below = np.flatnonzero(level[:crest] < level[crest] / 2)[-1]
        return float(np.interp(level[crest] / 2, level[last_below : last_below + 2], time[last_below : last_below + 2]))

    measured, expected = find_half_crest_time(*np.array(series).T), find_half_crest_time(*chile2010.load_record())
    quantity = "time at which the level reaches half of the first crest, minutes after the earthquake"
    yield Comparison(quantity, measured / 60, expected / 60, 0.01 * expected / 60)


@verification_test("conservation: d(volume)/dt = area (rain - evaporation), d(salt)/dt = 0")
def rain_in_a_bathtub() -> Iterator[Comparison]:
    """Rain fills a basin, also over its dry banks, and evaporation leaves the salt in the water."""
    rain, evaporation, hour = 20e-3 / 3600.0, 5e-3 / 3600.0, 3600.0
    fields = {"rain": lambda at: rain + 0 * at.x, "evaporation": lambda at: evaporation + 0 * at.x}
    salt = {"physics__tracers": ({"name": "salt", "initial": 35.0},)}
    simulation = simulate_flat_bottom(8, 5, 100.0, fields, hour, **COMMON_OPTIONS | {"time__stepper": "gfb"}, **salt)
    h, seconds = simulation.field("h"), simulation.time
    yield Comparison("rise, mm", 1e3 * (h.mean() - DEPTH), 1e3 * (rain - evaporation) * seconds, 1e-9)
    yield Comparison("salt per area, m", (h * simulation.field("salt")).mean(), 35.0 * DEPTH, 35.0 * DEPTH * 1e-9)
    cone = {
        "depth": lambda at: 1.0 - 2.0 * np.hypot(at.x / 1e3 - 1.0, at.y / 1e3 - 1.0),
        "eta": lambda at: -0.5 + 0 * at.x,
        "rain": fields["rain"],
    }
    basin: dict[str, Any] = {"drying__active": True, "grid__periodic_x": False, "time__stepper": "gfb"}
    simulation = simulate_flat_bottom(20, 20, 100.0, cone, **basin)
    initial_thickness = simulation.field("h").mean()
    simulation.advance(until=hour)
    gain = simulation.field("h").mean() - initial_thickness
    yield Comparison("rain on water and banks, mm", 1e3 * gain, 1e3 * rain * simulation.time, 1e-9)


@verification_test("conservation: d(volume)/dt = Q, d(content)/dt = c Q")
def river_in_a_bathtub() -> Iterator[Comparison]:
    """A river fills the deep half of a basin and then floods the shelf, and no water or dye is lost."""
    discharge, spacing, cells = 90.0, 50.0, 20
    river = {"name": "river", "x": 225.0, "y": 325.0, "discharge": discharge, "radius": 60.0, "tracers": {"dye": 2.0}}
    fields = {"depth": lambda at: np.where(at.x < 500.0, 1.0, 0.0) + 0 * at.y, "eta": lambda at: -0.5 + 0 * at.x}
    options = {"drying__active": True, "grid__periodic_x": False, "time__stepper": "gfb", "physics__linear_drag": 1e-2}
    options |= {"forcing__rivers": (river,), "physics__tracers": ({"name": "dye"},)}
    simulation = simulate_flat_bottom(cells, cells, spacing, fields, 1800.0, **options)
    rise, area = simulation.field("eta")[:, : cells // 2].mean() + 0.5, (cells * spacing) ** 2
    yield Comparison("rise of the level, mm", 1e3 * rise, 1e3 * discharge * simulation.time / (area / 2), 1e-9)
    simulation.advance(until=4200.0)
    h, inflow_per_area = simulation.field("h"), discharge * simulation.time / area
    yield Comparison("water per area, with the shelf, m", h.mean(), 0.25 + inflow_per_area, 1e-12)
    yield Comparison("dye per area, m", (h * simulation.field("dye")).mean(), 2.0 * inflow_per_area, 1e-12)


@verification_test("Henderson (1966), Open Channel Flow, chapter 2: head over a sill 3/2 (q²/g)^(1/3)", quick=False)
def river_over_a_sill() -> Iterator[Comparison]:
    """A steady river passes a sill with critical flow: the upstream level stays that of Bernoulli's equation."""
    q, sill_x, spacing, cells = 1.0, 300.0, 5.0, 120  # m2 s-1, m, m
    critical_depth = (q**2 / GRAVITY) ** (1 / 3)

    def depth(x):
        return 2.0 * (1 - np.exp(-(((x - sill_x) / 100.0) ** 2)))

    def thickness(x):
        """The larger (upstream of the sill) or smaller h > 0 with h + q²/(2 g h²) = 3/2 critical_depth + depth."""
        roots = [np.sort(np.roots([1, -1.5 * critical_depth - H, 0, critical_depth**3 / 2]).real) for H in depth(x)]
        return np.where(x < sill_x, [large for _, _, large in roots], [small for _, small, _ in roots])

    fields = {
        "depth": lambda at: depth(at.x) + 0 * at.y,
        "eta": lambda at: np.where(at.x < 450.0, thickness(at.x[0]) - depth(at.x), -1.0) + 0 * at.y,
        "u": lambda at: q / np.where(at.x < 450.0, thickness(at.x[0]), 1.0) + 0 * at.y,
    }
    options = {"drying__active": True, "grid__periodic_x": False, "time__stepper": "gfb", "time__cfl": 0.4}
    options |= {"open_boundaries__sides": ("east",), "open_boundaries__level": -1.0}
    options["forcing__rivers"] = tuple(
        {"name": f"row {row}", "x": spacing / 2, "y": (row + 0.5) * spacing, "discharge": q * spacing}
        for row in range(5)
    )
    simulation = simulate_flat_bottom(cells, 5, spacing, fields, 300.0, **options)
    x, volumes_per_width = grid_points(simulation.config).x[0], []
    for until in (300.0, 600.0):
        simulation.advance(until=until)
        volumes_per_width.append(simulation.field("h")[2, x < sill_x].sum() * spacing)
    level, exact = simulation.field("eta")[2, cells // 4], (thickness(x) - depth(x))[cells // 4]
    yield Comparison("level above the crest upstream, m", level, exact, 0.01 * exact)
    discharge_ratio = 1 - (volumes_per_width[1] - volumes_per_width[0]) / (q * 300.0)
    yield Comparison("discharge over the sill / discharge of the river", discharge_ratio, 1.0, 0.01)


@verification_test(
    "Green and Ampt (1911): F - S ln(1 + F/S) = (1 - d) K t, S = (psi + h) d/(1 - d) with h at the start"
)
def ponded_column() -> Iterator[Comparison]:
    """Ponded water infiltrates, fast at first, and no water is lost.

    F is the infiltrated depth after a time t, h the thickness of the water, K the hydraulic conductivity, psi the
    suction at the wetting front, and d the moisture deficit.
    """
    K, suction, deficit, depth, errors = 1e-5, 0.1, 0.3, 0.2, []
    options = {"drying__active": True, "drying__thickness": 1e-3, "time__stepper": "gfb"}
    options |= {"physics__hydraulic_conductivity": K, "physics__wetting_front_suction": suction}
    options |= {"physics__moisture_deficit": deficit, "physics__depth": depth}
    for dt in (60.0, 30.0):
        simulation = simulate_flat_bottom(6, 6, 1e3, {}, 3600.0, time__dt=dt, **options)
        F, S = simulation.field("infiltrated_depth").mean(), (suction + depth) * deficit / (1 - deficit)
        errors.append(abs((F - S * math.log(1 + F / S)) / ((1 - deficit) * K * simulation.time) - 1))
    yield Comparison("relative error of the time after an hour", errors[1], 0.0, 2e-4)
    yield Comparison("order of the error", convergence_order(*errors), 1.5, 0.2)
    yield Comparison("water on and in the ground, m", simulation.field("h").mean() + F, depth, 1e-14)
