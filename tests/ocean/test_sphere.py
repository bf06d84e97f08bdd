"""Grids on a sphere: lengths, areas and distances are those of the sphere, and a small basin is like a plane."""

import numpy as np
import pytest
from support.field_cases import case_with_fields, class_with_fields
from support.random_case import random_fields

from swmodel import Case, Simulation, load
from swmodel.executors.reference import ReferenceModel
from swmodel.ocean.coordinates import distances_from_sides, metrics, points
from swmodel.setup.setup import coriolis

BAND = {"grid.kind": "latlon", "grid.nx": 24, "grid.ny": 16}
BAND |= {"grid.west": -30.0, "grid.south": -50.0, "grid.north": 70.0}
REFERENCE_OPTIONS = {"run.executor": "reference", "run.dtype": "float64"}


def make_grid(**changes):
    return load(Case, BAND | {f"grid.{key}": value for key, value in changes.items()}, environ={}).grid


def great_circle_distance(radius, lon, lat, other_lon, other_lat):
    lon, lat, other_lon, other_lat = map(np.radians, (lon, lat, other_lon, other_lat))
    haversine = np.sin((other_lat - lat) / 2) ** 2
    haversine += np.cos(lat) * np.cos(other_lat) * np.sin((other_lon - lon) / 2) ** 2
    return 2 * radius * np.arcsin(np.sqrt(haversine))


@pytest.mark.promise("the sphere's geometry is exact")
def test_areas_add_up_to_those_of_zones():
    grid = make_grid(radius=3.0)
    area = metrics(grid, range(grid.ny))["area"]
    sines = np.sin(np.radians([-50, 70, -50 + 3.75, 70 + 3.75]))
    zones = 2 * np.pi * 9 * np.diff(sines)[[0, 2]]
    np.testing.assert_allclose(grid.nx * area.centre.sum(), zones[0], rtol=1e-14)
    np.testing.assert_allclose(grid.nx * area.corner.sum(), zones[1], rtol=1e-14)


@pytest.mark.promise("the sphere's geometry is exact")
@pytest.mark.parametrize("location", ["centre", "corner"])
def test_lengths_are_distances_on_sphere(location):
    grid = make_grid(nx=3600, ny=1200)
    rows = range(0, grid.ny, 100)
    at, lengths = points(grid, location, rows, [7]), metrics(grid, rows)
    half_x, half_y = grid.dlon / 2, grid.dlat / 2
    width = great_circle_distance(grid.radius, at.lon - half_x, at.lat, at.lon + half_x, at.lat)
    height = great_circle_distance(grid.radius, at.lon, at.lat - half_y, at.lon, at.lat + half_y)
    np.testing.assert_allclose(getattr(lengths["dx"], location), width, rtol=1e-6)
    np.testing.assert_allclose(np.broadcast_to(getattr(lengths["dy"], location), height.shape), height, rtol=1e-7)


@pytest.mark.parametrize("origin", ["edge", "middle"])
def test_distances_from_sides_are_those_on_sphere(origin):
    grid = make_grid(origin=origin, periodic_x=False, east=90.0)
    at = points(grid, "corner", range(grid.ny), range(grid.nx))
    distances = distances_from_sides(grid, at)
    parallel_radius = grid.radius * np.cos(np.radians(at.lat))
    np.testing.assert_allclose(distances["west"], parallel_radius * np.radians(at.lon + 30), rtol=1e-12)
    np.testing.assert_allclose(distances["east"], parallel_radius * np.radians(90 - at.lon), rtol=1e-12, atol=1e-6)
    np.testing.assert_allclose(distances["south"], great_circle_distance(grid.radius, 0, at.lat, 0, -50), rtol=1e-12)
    to_north = great_circle_distance(grid.radius, 0, at.lat, 0, 70)
    np.testing.assert_allclose(distances["north"], to_north, rtol=1e-12, atol=1e-6)
    middle = {"edge": (-30, -50), "middle": (30, 10)}[origin]
    np.testing.assert_allclose(at.x, parallel_radius * np.radians(at.lon - middle[0]), rtol=1e-12, atol=1e-6)
    np.testing.assert_allclose(at.y, grid.radius * np.radians(at.lat - middle[1]), rtol=1e-12, atol=1e-6)


def test_f_follows_rotation_of_sphere_unless_f0_is_set():
    config = load(Case, BAND | {"grid.rotation": 1e-4}, environ={})
    latitude = -50 + 7.5 * (np.arange(16)[:, None] + 1)
    np.testing.assert_allclose(coriolis(config, range(16), [0]), 2e-4 * np.sin(np.radians(latitude)), rtol=1e-13)
    with_f0 = load(Case, BAND | {"physics.f0": 1e-4, "physics.beta": 2e-11}, environ={})
    northward = with_f0.grid.radius * np.radians(latitude + 50)
    np.testing.assert_allclose(coriolis(with_f0, range(16), [0]), 1e-4 + 2e-11 * northward, rtol=1e-13)


@pytest.mark.promise("the sphere's geometry is exact")
def test_small_basin_at_equator_equals_plane():
    """Random states in the same cells: on a sphere of twice the radius the difference from the plane is a quarter."""
    ny, nx, dx, fields = 6, 8, 1e4, random_fields(6, 8, seed=2)
    common = {"grid.ny": ny, "grid.nx": nx, "grid.periodic_x": False, "time.dt": 50.0} | REFERENCE_OPTIONS

    def difference(width):
        radius, dlat = ny * dx / width, float(np.degrees(width / ny))
        beta = 2e-4 / (ny * dx)
        plane = {"grid.dx": dx, "grid.dy": dx, "grid.origin": "middle", "physics.beta": beta}
        sphere = {"grid.kind": "latlon", "grid.west": 0.0, "grid.south": -ny / 2 * dlat, "grid.dlon": dlat}
        sphere |= {"grid.dlat": dlat, "grid.radius": radius, "grid.rotation": beta * radius / 2}
        states = []
        for options in (plane, sphere):
            simulation = Simulation(load(type(case_with_fields(fields)), common | options, environ={}))
            simulation.advance(5)
            states.append(simulation.state)
        return max(np.abs(a - b).max() / np.abs(a).max() for a, b in zip(*states, strict=True))

    wide, narrow = difference(0.2), difference(0.1)
    assert wide > 1e-5
    assert np.log2(wide / narrow) == pytest.approx(2, abs=0.05)


def test_friction_on_sphere_is_laplacian_of_components():
    """du/dt of u = cos(lat) is - nu cos(2 lat) / (R² cos(lat)), to second order."""

    def error(cells):
        options = {"grid.ny": cells, "grid.nx": 4, "grid.south": -40.0, "grid.north": 40.0, "grid.radius": 2.0}
        options |= {"physics.viscosity": 3.0, "time.dt": 1e-6} | REFERENCE_OPTIONS
        case = class_with_fields(Case, u=lambda config, at: np.cos(np.radians(at.lat)))
        simulation = Simulation(load(case, BAND | options | {"grid.rotation": 1e-30, "run.steps": 1}, environ={}))
        state = simulation.state
        rate = ReferenceModel(simulation.setup).tendency(state).u[cells // 4 : 3 * cells // 4, 0]
        lat = np.radians(points(simulation.config.grid, "u", range(cells), [0]).lat)[cells // 4 : 3 * cells // 4, 0]
        return np.abs(rate + 3 / 4 * np.cos(2 * lat) / np.cos(lat)).max()

    coarse, fine = error(16), error(32)
    assert fine < 2e-3
    assert np.log2(coarse / fine) == pytest.approx(2, abs=0.1)
