"""Known answers of coasts that flood and dry: exact solutions, and the benchmarks of run-up of the NTHMP."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...cases import (
    beach,
    conical_island,
    dam_break_dry,
    dam_break_wet,
    monai,
    thacker_curved,
    thacker_planar,
    tidal_flat,
)
from ...model.simulation import Simulation
from .answer import Answer, known, largest, order, refined, root_mean_square, simulate, whole

#: Thickness from which a cell counts as wet, m.
WET = 1e-3


def exact(simulation: Simulation, name: str, location: str = "centre") -> np.ndarray:
    """A field of the case's theory at the time of a Simulation, on the whole grid."""
    config = simulation.config
    found = config.case.theory(config, whole(config, location), simulation.time)[name]
    return np.broadcast_to(found, (config.grid.ny, config.grid.nx))


@known("Thacker (1981), J. Fluid Mech. 107, 499-508", quick=False)
def thacker_bowls() -> Iterator[Answer]:
    """Water that swings round, or heaves, in a bowl is where it was after three periods."""
    ratio = 1 / 0.8**2
    for name, period, extent, tolerance in (
        ("thacker_planar", thacker_planar.PERIOD, 4 * 0.5 * 0.1, 0.02),  # at the shore of rest
        ("thacker_curved", thacker_curved.PERIOD, 0.1 * (ratio - 1 / ratio), 0.07),  # in the middle
    ):
        errors = []
        for factor in (1, 2):
            grid = {"nx": 50, "ny": 50, "dx": 0.08, "dy": 0.08}
            simulation = simulate(name, refined(grid, factor), 3 * period)
            expected = exact(simulation, "h")
            errors.append(root_mean_square((simulation.field("h") - expected)[expected > 0]) / extent)
        yield Answer(f"{name}: error of the level where it is wet, of its range", errors[1], 0.0, tolerance)
        yield Answer(f"{name}: order of the error", order(*errors), 1.5, 0.5)


@known("Sampson, Easton and Singh (2006), ANZIAM J. 47, C373-C387", quick=False)
def parabolic_canal() -> Iterator[Answer]:
    """A slosh in a canal with linear drag has the level and the transport of theory."""
    simulation = simulate("sampson")
    left, size = np.zeros(2), np.zeros(2)
    for minutes in range(5, 100, 5):
        simulation.advance(until=60.0 * minutes)
        h, level, expected = simulation.field("h"), exact(simulation, "eta"), exact(simulation, "h")
        flow = exact(simulation, "h", "u") * exact(simulation, "u", "u")
        found = 0.5 * (h + np.roll(h, -1, axis=1)) * simulation.field("u")
        left += ((h - expected) ** 2).sum(), ((found - flow) ** 2).sum()
        size += (level[expected > 0] ** 2).sum(), (flow**2).sum()
    level, transport = left / size
    yield Answer("squared error of sea level, of its square", level, 0.0, 0.006)
    yield Answer("squared error of the transport, of its square", transport, 0.0, 0.01)


def broken(name: str, seconds: float) -> Iterator[Answer | Simulation]:
    """The Simulation of a dam break with 400 cells, and Answers on its thickness from that with 100 cells on."""
    errors = []
    for nx in (100, 400):
        simulation = simulate(name, {"grid.nx": nx, "grid.dx": 25.0 / nx, "grid.dy": 25.0 / nx}, seconds)
        config, now = simulation.config, exact(simulation, "h")
        moved = np.abs(now - config.case.theory(config, whole(config), 0.0)["h"]).sum() / 2
        errors.append(np.abs(simulation.field("h") - now).sum() / moved)
    yield simulation
    yield Answer("error of the thickness, of the water that passed the dam", errors[1], 0.0, 0.035)
    yield Answer("order of the error", order(*errors) / 2, 0.8, 0.25)


@known("Ritter (1892), Z. Ver. Dtsch. Ing. 36, 947-954", quick=False)
def dam_break_on_dry_ground() -> Iterator[Answer]:
    """The water of a broken dam spreads over dry ground in Ritter's fan."""
    simulation, *answers = broken("dam_break_dry", 1.5)
    yield from answers
    x = dam_break_dry.from_dam(simulation.config, whole(simulation.config))[0]
    found, expected = (x[h[1] > 0.01].max() for h in (simulation.field("h"), exact(simulation, "h")))
    yield Answer("distance of the front of 1 cm from the dam, m", found, expected, 0.1 * expected)


@known("Stoker (1957), Water Waves, section 10.8", quick=False)
def dam_break_into_a_lake() -> Iterator[Answer]:
    """The bore of a broken dam has the speed that conserves mass and momentum."""
    simulation, *answers = broken("dam_break_wet", 2.0)
    yield from answers
    config, h = simulation.config, simulation.field("h")[1]
    between, _, bore = dam_break_wet.middle(config)
    half = 0.5 * (between + config.case.ahead * config.physics.depth)
    last = np.flatnonzero(h > half)[-1]
    crossing = last + (h[last] - half) / (h[last] - h[last + 1])
    x = dam_break_dry.from_dam(config, whole(config))[0]
    front = np.interp(crossing, np.arange(x.size), x)
    yield Answer("speed of the bore, m s-1", front / simulation.time, bore, 0.01 * bore)


@known("Synolakis (1987), J. Fluid Mech. 185, 523-545: NTHMP benchmark 1")
def run_up_of_a_solitary_wave() -> Iterator[Answer]:
    """A solitary wave that does not break runs up a plane beach as in the analytical solution."""
    simulation, found = simulate("beach"), beach.solution()
    config, at = simulation.config, whole(simulation.config)
    x, tau = beach.offshore(config, at)[0], np.sqrt(config.physics.depth / config.physics.gravity)
    depth = config.case.depth(config, at)[0]
    times, series, profiles, highest = [], [], [], 0.0
    for n in range(1, 4 * 110):
        simulation.advance(until=0.25 * n * tau)
        h = simulation.field("h")[1]
        level = h - depth
        times.append(simulation.time / tau)
        series.append(np.interp((beach.NEAR, beach.FAR), x, level))
        wet = h > WET
        highest = max(highest, level[wet][0])
        if 0.25 * n in found["times"]:
            expected = found["profiles"][list(found["times"]).index(0.25 * n)]
            there = np.isfinite(expected) & (found["x"] >= x[wet][0])
            error = root_mean_square((np.interp(found["x"], x[wet], level[wet]) - expected)[there])
            profiles.append(error / np.ptp(expected[there]))
    for name, level in zip(("near", "far"), np.transpose(series), strict=True):
        time, expected = found[name]
        there = np.isfinite(expected) & (time < times[-1]) & ((name == "far") | (time < 66.0) | (time > 84.0))
        error = np.abs(np.interp(time, times, level) - expected)[there].mean() / np.ptp(expected[there])
        yield Answer(f"error of the {name} series, of its range", error, 0.0, 0.01)
    yield Answer("mean error of the profiles, of their ranges", np.mean(profiles), 0.0, 0.01)
    top = np.nanmax(found["profiles"])
    yield Answer("highest water, m", highest, top, 0.1 * top)


@known("Briggs et al. (1995), Pure Appl. Geophys. 144, 569-593: NTHMP benchmark 6", quick=False)
def run_up_around_an_island() -> Iterator[Answer]:
    """A solitary wave wraps round a conical island as in the laboratory."""
    for wave in "ABC":
        simulation, record = (
            simulate("conical_island", {"case.wave": wave, "run.dtype": "float32"}),
            conical_island.recorded(wave),
        )
        times, series, top = watched(simulation, conical_island.GAUGES, 12.0, 0.04)
        there = (record.time > 0) & (record.time < times[-1])
        crests = [series[name].max() / level[there].max() for name, level in record.levels.items()]
        errors = [
            np.abs(np.interp(record.time, times, series[name]) - level)[there].mean() / np.ptp(level[there])
            for name, level in record.levels.items()
        ]
        highest = conical_island.highest(simulation.config, whole(simulation.config), top)
        yield Answer(f"{wave}: error of crests at the gauges, mean", np.abs(np.array(crests) - 1).mean(), 0.0, 0.2)
        yield Answer(f"{wave}: error of the gauges, of their range, mean", np.mean(errors), 0.0, 0.1)
        yield Answer(f"{wave}: highest water, of that measured", highest.max() / record.highest.max(), 1.0, 0.2)


@known("Matsuyama and Tanaka (2001); Synolakis et al. (2007): NTHMP benchmark 7", quick=False)
def run_up_at_monai() -> Iterator[Answer]:
    """The tsunami of Okushiri reaches the gauges and the gully of Monai as in the laboratory."""
    simulation = simulate("monai", {"run.dtype": "float32"})
    at = whole(simulation.config)
    times, series, top = watched(simulation, monai.GAUGES, 22.5, 0.05)
    time, levels = monai.recorded()
    there = (time > 8.0) & (time < times[-1])
    for name, level in levels.items():
        error = np.abs(np.interp(time, times, series[name]) - level)[there].mean() / np.ptp(level[there])
        yield Answer(f"error of gauge {name}, of its range", error, 0.0, 0.1)
    for (x, y), (low, high) in monai.RUN_UP.items():
        found = np.nanmax(np.where(np.hypot(at.x - x, at.y - y) < 0.05, top, np.nan))
        yield Answer(f"highest water within 5 cm of ({x}, {y}), m", found, 0.5 * (low + high), 0.5 * (high - low))


def cell(simulation: Simulation, x: float, y: float) -> tuple[int, int]:
    """Row and column of the cell with its centre nearest to a place."""
    at = whole(simulation.config)
    return int(np.abs(at.y[:, 0] - y).argmin()), int(np.abs(at.x[0] - x).argmin())


def watched(simulation: Simulation, gauges: dict, seconds: float, every: float):
    """Times, s, and levels of gauges, m, of a run; and the highest level of each cell, NaN where it was never wet."""
    depth = simulation.config.case.depth(simulation.config, whole(simulation.config))
    cells = {name: cell(simulation, *place) for name, place in gauges.items()}
    times: list[float] = []
    series: dict[str, list] = {name: [] for name in gauges}
    top = np.full(depth.shape, np.nan)
    while simulation.time < seconds:
        simulation.advance(max(1, round(every / simulation.dt)))
        h = simulation.field("h")
        top = np.where(h > WET, np.fmax(top, h - depth), top)
        times.append(simulation.time)
        for name, place in cells.items():
            series[name].append((h - depth)[place])
    return np.array(times), {name: np.array(levels) for name, levels in series.items()}, top


@known("conservation of mass; Friedrichs and Aubrey (1988), Estuar. Coast. Shelf Sci. 27, 521-545", quick=False)
def tide_over_flats() -> Iterator[Answer]:
    """The volume over tidal flats grows by what the open side lets in, and is nearly that at its level.

    At each eighth of a tide over 400 steps, as the inflow of a single one is only known before and after it. It is not
    linear between them where short waves reach the side.
    """
    grid = {"grid.nx": 60, "grid.ny": 40, "grid.dx": 100.0, "grid.dy": 100.0}
    simulation = simulate("tidal_flat", grid | {"run.dtype": "float64"})
    config, at = simulation.config, whole(simulation.config)
    depth, area = config.case.depth(config, at)[:, 1:], config.grid.dx * config.grid.dy
    amplitude, growth, volumes = config.open_sides.amplitude[0], [], []

    def volume() -> float:
        return simulation.field("h")[:, 1:].sum() * area

    for eighth in range(1, 9):
        simulation.advance(until=eighth * tidal_flat.PERIOD / 8)
        before, flows = volume(), [simulation.diagnostics()["inflow_west"]]
        level = amplitude * np.cos(2 * np.pi * eighth / 8)
        volumes.append(before / (np.maximum(0.0, level + depth).sum() * area))
        for _ in range(400):
            simulation.advance(1)
            flows.append(simulation.diagnostics()["inflow_west"])
        growth.append(((volume() - before) / (400 * simulation.dt), np.trapezoid(flows) / 400))
    found, given = np.transpose(growth)
    yield Answer(
        "growth of the volume less the inflow, of the largest", largest(found - given) / largest(given), 0.0, 0.001
    )
    yield Answer("volume on the flood, of that of still water", np.mean(volumes[5:7]), 1.0, 0.15)
