"""Verification tests on a sphere: tests of Williamson et al. (1992), Galewsky's jet, a rotated-pole grid."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..config import Case
from .comparison import Comparison, convergence_order, grid_points, root_mean_square, simulate, verification_test

DAY = 86400.0


@verification_test("Williamson et al. (1992), J. Comput. Phys. 102, 211-224, test 2")
def williamson_2() -> Iterator[Comparison]:
    """A steady zonal flow does not change in five days, up to an error of second order."""
    errors_by_field: dict[str, list[float]] = {"h": [], "u": []}
    for degrees in (5.0, 2.5):
        grid = {"grid.nx": round(360 / degrees), "grid.ny": round(160 / degrees), "time.dt": 240 * degrees}
        simulation = simulate("steady_zonal", grid)
        initial_fields, weight = simulation.fields(["h", "u"]), np.cos(np.radians(grid_points(simulation.config).lat))
        simulation.advance(round(5 * DAY / simulation.dt))
        for name, errors in errors_by_field.items():
            change = simulation.field(name) - initial_fields[name]
            errors.append(np.sqrt((weight * change**2).sum() / (weight * initial_fields[name] ** 2).sum()))
    yield Comparison("relative error of the thickness at 2.5 degrees", errors_by_field["h"][1], 0.0, 5e-5)
    yield Comparison("relative error of the velocity at 2.5 degrees", errors_by_field["u"][1], 0.0, 5e-4)
    for name, errors in errors_by_field.items():
        yield Comparison(f"order of the error of {name}", convergence_order(*errors), 2.0, 0.1)


@verification_test("Williamson et al. (1992), test 5: invariants", quick=False)
def williamson_5() -> Iterator[Comparison]:
    """A zonal flow over a mountain keeps its mass to round-off and its energy to 1e-5 for fifteen days."""
    gravity, radius, rotation, speed, mean_depth = 9.80616, 6.37122e6, 7.292e-5, 20.0, 5960.0

    def depth(at):
        """The mountain: 2000 m high at 90 W 30 N, 20 degrees in radius."""
        distance_degrees = np.minimum(20.0, np.hypot((at.lon + 90.0 + 180.0) % 360.0 - 180.0, at.lat - 30.0))
        return mean_depth - 2000.0 * (1 - distance_degrees / 20.0)

    fields = {
        "depth": depth,
        "eta": lambda at: -(radius * rotation * speed + speed**2 / 2) * np.sin(np.radians(at.lat)) ** 2 / gravity,
        "u": lambda at: speed * np.cos(np.radians(at.lat)),
    }
    options = {
        "grid.kind": "latlon", "grid.nx": 144, "grid.ny": 64, "grid.west": -180.0, "grid.south": -80.0,
        "grid.north": 80.0, "grid.radius": radius, "grid.rotation": rotation, "physics.gravity": gravity,
        "time.stepper": "rk4", "time.dt": 300.0,
    }  # fmt: skip
    simulation = simulate(Case, options, 0.0, fields)
    initial_sums = simulation.diagnostics()
    simulation.advance(round(15 * DAY / simulation.dt))
    final_sums = simulation.diagnostics()
    yield Comparison("relative change of the mass", final_sums["mass"] / initial_sums["mass"] - 1, 0.0, 1e-13)
    yield Comparison("relative change of the energy", final_sums["energy"] / initial_sums["energy"] - 1, 0.0, 1e-5)


@verification_test("Galewsky, Scott and Polvani (2004), Tellus A 56, 429-440", quick=False)
def galewsky_jet() -> Iterator[Comparison]:
    """A mid-latitude jet is steady to second order; with a bump of sea level it rolls up by day six."""
    without_bump, errors = {"physics.viscosity": 0.0, "case.bump": 0.0}, []
    for factor in (2, 4):
        grid = {"grid.nx": 60 * factor, "grid.ny": 48 * factor, "time.dt": 360.0 / factor}
        simulation = simulate("galewsky", without_bump | grid)
        initial_u = simulation.field("u").copy()
        simulation.advance(round(DAY / simulation.dt))
        errors.append(root_mean_square(simulation.field("u") - initial_u) / root_mean_square(initial_u))
    yield Comparison("relative change of the jet in a day", errors[1], 0.0, 5e-4)
    yield Comparison("order of the error", convergence_order(*errors), 2.0, 0.15)
    options = {"grid.nx": 180, "grid.ny": 60, "time.dt": 180.0, "run.dtype": "float32"}
    simulation = simulate("galewsky", options, 6 * DAY)
    v, lon = np.abs(simulation.field("v")), grid_points(simulation.config, "v").lon[0]
    yield Comparison("largest v of the eddies at day six, m s-1", v[:, (lon > -150) & (lon < 30)].max(), 55.0, 25.0)


@verification_test("geostrophic and cyclostrophic balance at the geographic latitude", quick=False)
def rotated_pole_grid() -> Iterator[Comparison]:
    """A balanced jet around the Earth is steady on a rotated-pole grid, to second order."""
    gravity, radius, rotation = 9.81, 6371e3, 7.292115e-5
    lat = np.linspace(15, 75, 20001)
    speed, angle = 40 * np.sin(np.pi * (lat - 15) / 60) ** 2, np.radians(lat)
    slope = -(2 * rotation * np.sin(angle) + speed * np.tan(angle) / radius) * speed * radius / gravity
    eta = np.append(0, np.cumsum(0.5 * (slope[1:] + slope[:-1]) * np.diff(angle)))
    fields = {
        "eta": lambda at: np.interp(at.lat, lat, eta),
        "u": lambda at: np.interp(at.lat, lat, speed),
        "v": lambda at: 0 * at.lat,
    }
    errors = []
    for nx in (24, 48):
        options = {
            "grid.kind": "latlon", "grid.nx": nx, "grid.ny": 2 * nx // 3, "grid.west": -180.0, "grid.south": -80.0,
            "grid.north": 80.0, "grid.pole": (30.0, 10.0), "physics.depth": 5000.0, "physics.gravity": gravity,
            "time.stepper": "rk4", "time.cfl": 0.8,
        }  # fmt: skip
        simulation = simulate(Case, options, 0.0, fields)
        initial_velocity = [simulation.field(name).copy() for name in "uv"]
        simulation.advance(round(DAY / 2 / simulation.dt))
        u_change, v_change = (
            simulation.field(name) - field for name, field in zip("uv", initial_velocity, strict=True)
        )
        errors.append(np.hypot(root_mean_square(u_change), root_mean_square(v_change)) / 40)
    yield Comparison("error of the velocity after half a day / jet speed", errors[1], 0.0, 0.015)
    yield Comparison("order of the error", convergence_order(*errors), 2.0, 0.35)
