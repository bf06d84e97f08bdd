"""Verification tests of flooding and drying: analytic solutions, and run-up benchmarks of the NTHMP.

The NTHMP is the National Tsunami Hazard Mitigation Program of the United States.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..cases import (
    beach,
    conical_island,
    dam_break_dry,
    dam_break_wet,
    laboratory_beach,
    monai,
    thacker_curved,
    thacker_planar,
    tidal_flat,
)
from ..model.simulation import Simulation
from .comparison import (
    Comparison,
    convergence_order,
    grid_points,
    max_abs,
    refine_grid,
    root_mean_square,
    simulate,
    verification_test,
)

#: Thickness from which a cell counts as wet, m.
WET_THICKNESS = 1e-3


def analytic_field(simulation: Simulation, name: str, location: str = "centre") -> np.ndarray:
    """A field of the case's analytic solution, [ny, nx], at the time of a Simulation."""
    config = simulation.config
    field = config.case.analytic_solution(config, grid_points(config, location), simulation.time)[name]
    return np.broadcast_to(field, (config.grid.ny, config.grid.nx))


@verification_test("Thacker (1981), J. Fluid Mech. 107, 499-508", quick=False)
def thacker_bowls() -> Iterator[Comparison]:
    """Water that rotates or pulsates in a bowl returns to its initial position after three periods."""
    ratio = 1 / 0.8**2
    for name, period, level_range, tolerance in (
        ("thacker_planar", thacker_planar.DEFAULT_PERIOD, 4 * 0.5 * 0.1, 0.02),  # range at the shore at rest
        ("thacker_curved", thacker_curved.DEFAULT_PERIOD, 0.1 * (ratio - 1 / ratio), 0.07),  # range in the middle
    ):
        errors = []
        for factor in (1, 2):
            grid = {"nx": 50, "ny": 50, "dx": 0.08, "dy": 0.08}
            simulation = simulate(name, refine_grid(grid, factor), 3 * period)
            expected = analytic_field(simulation, "h")
            errors.append(root_mean_square((simulation.field("h") - expected)[expected > 0]) / level_range)
        yield Comparison(f"{name}: error of the level in wet cells / its range", errors[1], 0.0, tolerance)
        yield Comparison(f"{name}: order of the error", convergence_order(*errors), 1.5, 0.5)


@verification_test("Sampson, Easton and Singh (2006), ANZIAM J. 47, C373-C387", quick=False)
def parabolic_canal() -> Iterator[Comparison]:
    """Water that sloshes in a canal with linear drag has the level and transport of the analytic solution."""
    simulation = simulate("sampson")
    squared_error, squared_size = np.zeros(2), np.zeros(2)
    for minutes in range(5, 100, 5):
        simulation.advance(until=60.0 * minutes)
        h, level, expected = simulation.field("h"), analytic_field(simulation, "eta"), analytic_field(simulation, "h")
        exact_transport = analytic_field(simulation, "h", "u") * analytic_field(simulation, "u", "u")
        model_transport = 0.5 * (h + np.roll(h, -1, axis=1)) * simulation.field("u")
        squared_error += ((h - expected) ** 2).sum(), ((model_transport - exact_transport) ** 2).sum()
        squared_size += (level[expected > 0] ** 2).sum(), (exact_transport**2).sum()
    level, transport = squared_error / squared_size
    yield Comparison("squared error of sea level / squared sea level", level, 0.0, 0.006)
    yield Comparison("squared error of the transport / squared transport", transport, 0.0, 0.01)


def simulate_dam_break(name: str, seconds: float) -> tuple[Simulation, list[Comparison]]:
    """The Simulation of a dam break with 400 cells in x, and Comparisons of thickness, transport and order of error."""
    errors = []
    for nx in (100, 400):
        simulation = simulate(name, {"grid.nx": nx, "grid.dx": 25.0 / nx, "grid.dy": 25.0 / nx}, seconds)
        config, exact_h = simulation.config, analytic_field(simulation, "h")
        moved_volume = np.abs(exact_h - config.case.analytic_solution(config, grid_points(config), 0.0)["h"]).sum() / 2
        errors.append(np.abs(simulation.field("h") - exact_h).sum() / moved_volume)
    h, exact_transport = (
        simulation.field("h"),
        analytic_field(simulation, "h", "u") * analytic_field(simulation, "u", "u"),
    )
    transport = 0.5 * (h + np.roll(h, -1, axis=1)) * simulation.field("u")
    error = np.abs(transport - exact_transport).sum() / np.abs(exact_transport).sum()
    return simulation, [
        Comparison("summed error of the thickness / water that passed the dam", errors[1], 0.0, 0.035),
        Comparison("summed error of the transport / summed transport", error, 0.0, 0.025),
        Comparison("order of the error", convergence_order(*errors) / 2, 0.8, 0.25),
    ]


@verification_test("Ritter (1892), Z. Ver. Dtsch. Ing. 36, 947-954", quick=False)
def dam_break_on_dry_ground() -> Iterator[Comparison]:
    """The water behind a broken dam spreads over dry ground as in Ritter's solution."""
    simulation, comparisons = simulate_dam_break("dam_break_dry", 1.5)
    yield from comparisons
    x = dam_break_dry.distance_from_dam(simulation.config, grid_points(simulation.config))[0]
    measured, expected = (x[h[1] > 0.01].max() for h in (simulation.field("h"), analytic_field(simulation, "h")))
    quantity = "distance from the dam to the farthest water thicker than 1 cm, m"
    yield Comparison(quantity, measured, expected, 0.1 * expected)


@verification_test("Stoker (1957), Water Waves, section 10.8", quick=False)
def dam_break_into_a_lake() -> Iterator[Comparison]:
    """The bore from a broken dam moves at the speed that conserves mass and momentum."""
    simulation, comparisons = simulate_dam_break("dam_break_wet", 2.0)
    yield from comparisons
    config, h = simulation.config, simulation.field("h")[1]
    thickness_behind_bore, _, bore_speed = dam_break_wet.middle_state(config)
    mean_thickness = 0.5 * (thickness_behind_bore + config.case.ahead * config.physics.depth)
    last_column = np.flatnonzero(h > mean_thickness)[-1]
    crossing_column = last_column + (h[last_column] - mean_thickness) / (h[last_column] - h[last_column + 1])
    x = dam_break_dry.distance_from_dam(config, grid_points(config))[0]
    bore_x = np.interp(crossing_column, np.arange(x.size), x)
    yield Comparison("speed of the bore, m s-1", bore_x / simulation.time, bore_speed, 0.01 * bore_speed)


@verification_test("Synolakis (1987), J. Fluid Mech. 185, 523-545: NTHMP benchmark 1")
def run_up_of_a_solitary_wave() -> Iterator[Comparison]:
    """A solitary wave that does not break runs up a plane beach as in the analytic solution."""
    simulation, solution = simulate("beach"), beach.load_solution()
    config, at = simulation.config, grid_points(simulation.config)
    x, time_unit = beach.offshore_distance(config, at)[0], np.sqrt(config.physics.depth / config.physics.gravity)
    depth = config.case.depth(config, at)[0]
    times, series, profile_errors, max_level = [], [], [], 0.0
    for n in range(1, 4 * 110):
        simulation.advance(until=0.25 * n * time_unit)
        h = simulation.field("h")[1]
        level = h - depth
        times.append(simulation.time / time_unit)
        series.append(np.interp((beach.NEAR_GAUGE, beach.FAR_GAUGE), x, level))
        is_wet = h > WET_THICKNESS
        max_level = max(max_level, level[is_wet][0])
        if 0.25 * n in solution["times"]:
            expected = solution["profiles"][list(solution["times"]).index(0.25 * n)]
            is_compared = np.isfinite(expected) & (solution["x"] >= x[is_wet][0])
            error = root_mean_square((np.interp(solution["x"], x[is_wet], level[is_wet]) - expected)[is_compared])
            profile_errors.append(error / np.ptp(expected[is_compared]))
    for name, level in zip(("near", "far"), np.transpose(series), strict=True):
        time, expected = solution[name]
        # The near gauge is dry from 67 to 82 sqrt(depth/g).
        is_compared = np.isfinite(expected) & (time < times[-1]) & ((name == "far") | (time < 66.0) | (time > 84.0))
        error = np.abs(np.interp(time, times, level) - expected)[is_compared].mean() / np.ptp(expected[is_compared])
        yield Comparison(f"mean error of the {name} gauge / its range", error, 0.0, 0.01)
    yield Comparison("mean error of the profiles / their ranges", np.mean(profile_errors), 0.0, 0.01)
    expected_max_level = np.nanmax(solution["profiles"])
    yield Comparison("highest water, m", max_level, expected_max_level, 0.1 * expected_max_level)


@verification_test("Synolakis (1987), J. Fluid Mech. 185, 523-545: run-up law of waves that do not break", quick=False)
def run_up_law() -> Iterator[Comparison]:
    """The run-up of solitary waves of four heights follows Synolakis' law."""
    for height in (0.005, 0.01, 0.019, 0.028):
        simulation, max_level = simulate("beach", {"case.height": height}), 0.0
        config = simulation.config
        depth = config.case.depth(config, grid_points(config))[0]
        for n in range(1, 160):
            simulation.advance(until=0.5 * n * beach.TIME_UNIT)
            h = simulation.field("h")[1]
            max_level = max(max_level, (h - depth)[h > WET_THICKNESS][0])
        yield Comparison(f"H/d {height:g}: run-up / law", max_level / beach.max_run_up(config), 1.0, 0.1)


@verification_test("Synolakis (1987), J. Fluid Mech. 185, 523-545: NTHMP benchmark 4", quick=False)
def run_up_in_the_laboratory() -> Iterator[Comparison]:
    """Solitary waves, most of which break, run up a plane beach as in the laboratory."""
    heights, run_up = laboratory_beach.load_run_up()
    for height in (0.0185, 0.039, 0.075, 0.16, 0.3, 0.6):
        simulation = simulate("laboratory_beach", {"case.height": height})
        config, at = simulation.config, grid_points(simulation.config)
        x, time_unit = beach.offshore_distance(config, at)[0], np.sqrt(config.physics.depth / config.physics.gravity)
        depth, max_level = config.case.depth(config, at)[0], 0.0
        profiles = laboratory_beach.load_profiles(height) if height in laboratory_beach.PROFILE_HEIGHTS else {}
        for n in range(1, 2 * laboratory_beach.DURATION + 1):
            simulation.advance(until=0.5 * n * time_unit)
            h = simulation.field("h")[1]
            level, is_wet = (h - depth) / config.physics.depth, h > WET_THICKNESS
            max_level = max(max_level, level[is_wet][0])
            if 0.5 * n in profiles:
                distance, expected = profiles[0.5 * n]
                is_compared = distance >= x[is_wet][0]
                error = np.interp(distance, x[is_wet], level[is_wet]) - expected
                relative_error = root_mean_square(error[is_compared]) / np.ptp(expected)
                quantity = f"H/d {height:g}, profile at {0.5 * n:g} sqrt(d/g): error / its range"
                tolerance = 0.15 if height < laboratory_beach.BREAKING_HEIGHT else 0.25
                yield Comparison(quantity, relative_error, 0.0, tolerance)
        similar = run_up[np.abs(heights / height - 1) < 0.05]
        quantity = f"H/d {height:g}: run-up / mean of {similar.size} measured"
        yield Comparison(quantity, max_level / similar.mean(), 1.0, 0.06)


@verification_test("Briggs et al. (1995), Pure Appl. Geophys. 144, 569-593: NTHMP benchmark 6", quick=False)
def run_up_around_an_island() -> Iterator[Comparison]:
    """A solitary wave wraps around a conical island as in the laboratory."""
    for wave in "ABC":
        simulation = simulate("conical_island", {"case.wave": wave, "run.dtype": "float32"})
        record = conical_island.load_record(wave)
        times, series, max_levels = record_gauges(simulation, conical_island.GAUGES, 12.0, 0.04)
        is_compared = (record.time > 0) & (record.time < times[-1])
        crests = [series[name].max() / level[is_compared].max() for name, level in record.levels.items()]
        errors = [
            np.abs(np.interp(record.time, times, series[name]) - level)[is_compared].mean() / np.ptp(level[is_compared])
            for name, level in record.levels.items()
        ]
        run_up = conical_island.run_up(simulation.config, grid_points(simulation.config), max_levels)
        yield Comparison(f"{wave}: mean error of crests at the gauges", np.abs(np.array(crests) - 1).mean(), 0.0, 0.2)
        yield Comparison(f"{wave}: mean error of the gauges / their range", np.mean(errors), 0.0, 0.1)
        yield Comparison(f"{wave}: highest water / highest measured", run_up.max() / record.run_up.max(), 1.0, 0.2)
        error = np.abs(run_up - record.run_up).mean() / record.run_up.max()
        yield Comparison(f"{wave}: mean error of the highest water round the island / highest", error, 0.0, 0.25)


@verification_test("Matsuyama and Tanaka (2001); Synolakis et al. (2007): NTHMP benchmark 7", quick=False)
def run_up_at_monai() -> Iterator[Comparison]:
    """The Okushiri tsunami reaches the gauges and the gully of Monai as in the laboratory."""
    simulation = simulate("monai", {"run.dtype": "float32"})
    at = grid_points(simulation.config)
    times, series, max_levels = record_gauges(simulation, monai.GAUGES, 22.5, 0.05)
    time, levels = monai.load_records()
    is_compared = (time > 8.0) & (time < times[-1])
    for name, level in levels.items():
        error = np.abs(np.interp(time, times, series[name]) - level)[is_compared].mean() / np.ptp(level[is_compared])
        yield Comparison(f"mean error of gauge {name} / its range", error, 0.0, 0.1)
    for (x, y), (low, high) in monai.RUN_UP_RANGES.items():
        measured = np.nanmax(np.where(np.hypot(at.x - x, at.y - y) < 0.05, max_levels, np.nan))
        quantity = f"highest water within 5 cm of ({x}, {y}), m"
        yield Comparison(quantity, measured, 0.5 * (low + high), 0.5 * (high - low))


def find_cell(simulation: Simulation, x: float, y: float) -> tuple[int, int]:
    """Row and column of the cell whose centre is nearest to x and y, m."""
    at = grid_points(simulation.config)
    return int(np.abs(at.y[:, 0] - y).argmin()), int(np.abs(at.x[0] - x).argmin())


def record_gauges(simulation: Simulation, gauges: dict, seconds: float, interval: float):
    """Run to `seconds` and record the gauges {name: (x, y)} at each `interval`, s.

    Returns the times, s, {name: levels, m}, and the highest level of each cell, m [ny, nx], NaN if it was never wet.
    """
    depth = simulation.config.case.depth(simulation.config, grid_points(simulation.config))
    cells = {name: find_cell(simulation, *position) for name, position in gauges.items()}
    times: list[float] = []
    series: dict[str, list] = {name: [] for name in gauges}
    max_levels = np.full(depth.shape, np.nan)
    while simulation.time < seconds:
        simulation.advance(max(1, round(interval / simulation.dt)))
        h = simulation.field("h")
        max_levels = np.where(h > WET_THICKNESS, np.fmax(max_levels, h - depth), max_levels)
        times.append(simulation.time)
        for name, row_and_column in cells.items():
            series[name].append((h - depth)[row_and_column])
    return np.array(times), {name: np.array(levels) for name, levels in series.items()}, max_levels


@verification_test(
    "conservation of mass; Friedrichs and Aubrey (1988), Estuar. Coast. Shelf Sci. 27, 521-545", quick=False
)
def tide_over_flats() -> Iterator[Comparison]:
    """The volume over tidal flats grows by the inflow through the open boundary, and is nearly that of still water.

    Growth and inflow are compared over 150 steps at each eighth of the tidal period. One step is too short, because the
    inflow is known only at its ends, and does not vary linearly between them if short waves reach the boundary.
    """
    grid = {"grid.nx": 60, "grid.ny": 40, "grid.dx": 100.0, "grid.dy": 100.0}
    simulation = simulate("tidal_flat", grid)
    config, at = simulation.config, grid_points(simulation.config)
    depth, area = config.case.depth(config, at)[:, 1:], config.grid.dx * config.grid.dy
    amplitude, growth_and_inflow, volume_ratios = config.open_boundaries.amplitude[0], [], []
    level_differences = []

    def volume() -> float:
        return simulation.field("h")[:, 1:].sum() * area

    for eighth in range(1, 9):
        simulation.advance(until=eighth * tidal_flat.M2_PERIOD / 8)
        volume_before, inflows = volume(), [simulation.diagnostics()["inflow_west"]]
        level = amplitude * np.cos(2 * np.pi * eighth / 8)
        volume_ratios.append(volume_before / (np.maximum(0.0, level + depth).sum() * area))
        if eighth in (6, 7):
            h = simulation.field("h")[:, 1:]
            level_differences.append(max_abs((h - depth - level)[(h > 0.05) & (depth > -level)]))
        for _ in range(150):
            simulation.advance(1)
            inflows.append(simulation.diagnostics()["inflow_west"])
        growth_and_inflow.append(((volume() - volume_before) / (150 * simulation.dt), np.trapezoid(inflows) / 150))
    growth_rates, mean_inflows = np.transpose(growth_and_inflow)
    error = max_abs(growth_rates - mean_inflows) / max_abs(mean_inflows)
    yield Comparison("(growth of the volume - inflow) / largest inflow", error, 0.0, 0.001)
    yield Comparison("volume during the rising tide / volume of still water", np.mean(volume_ratios[5:7]), 1.0, 0.15)
    quantity = "largest difference of the rising tide from the level at the boundary / amplitude"
    yield Comparison(quantity, max(level_differences) / amplitude, 0.0, 0.3)
