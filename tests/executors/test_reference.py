"""The NumPy reference conserves what its schemes promise to conserve."""

import numpy as np
import pytest
from support.small_domain import (
    NX,
    NY,
    PERIODICITY_OPTIONS,
    east,
    make_reference,
    north,
    random_seabed,
    random_state,
)


def assert_sum_is_zero(*terms, bound=1e-14):
    """The sum of all elements of all terms is zero, relative to the sum of their absolute values."""
    total, scale = sum(term.sum() for term in terms), sum(np.abs(term).sum() for term in terms)
    assert scale > 0
    assert abs(total) <= bound * scale


def changes_of_energy(state, rate, gravity, depth, area, area_u, area_v):
    """The time derivatives of potential and kinetic energy over the density, by the derivatives of h, u and v."""
    (h, u, v), (dh, du, dv) = state, rate
    return (
        area * gravity * (h - depth) * dh,
        area_u * (0.5 * (h + east(h)) * u * du + 0.25 * u**2 * (dh + east(dh))),
        area_v * (0.5 * (h + north(h)) * v * dv + 0.25 * v**2 * (dh + north(dh))),
    )


BAND = {"kind": "latlon", "west": 20.0, "south": -35.0, "dlat": 11.0, "radius": 5.0, "rotation": 1.3}
BAND |= {"dx": None, "dy": None}


def areas_of_band(dlon):
    """The areas of cells, which are exact, and those at east and north faces, which are products of lengths."""
    dlon, dlat = np.radians(dlon), np.radians(11.0)
    south = np.radians(-35.0) + dlat * np.arange(NY)[:, None]
    at_faces = (25.0 * dlon * dlat * np.cos(south + part * dlat) for part in (0.5, 1.0))
    return 25.0 * dlon * (np.sin(south + dlat) - np.sin(south)), *at_faces


#: Grids on a plane and on a sphere, and their areas.
GRIDS = [(ring, (1.0, 1.0, 1.0)) for ring in PERIODICITY_OPTIONS]
GRIDS += [(BAND | {"periodic_x": True}, areas_of_band(360 / NX))]
GRIDS += [(BAND | {"periodic_x": False, "dlon": 7.0}, areas_of_band(7.0))]


@pytest.mark.promise("the sphere's geometry is exact")
@pytest.mark.parametrize(("grid", "areas"), GRIDS)
@pytest.mark.parametrize("slip", ["free", "no"])
@pytest.mark.parametrize("flux", ["energy", "arakawa_lamb"])
def test_mass_and_energy_are_conserved(grid, areas, slip, flux):
    rng, gravity = np.random.default_rng(2), 2.0
    fields, rotation = random_seabed(rng), {} if "kind" in grid else {"f0": 1.3, "beta": 0.2}
    physics = {"gravity": gravity, "slip": slip} | rotation
    reference = make_reference(fields, grid=grid, physics=physics, scheme={"vorticity_flux": flux})
    state = reference.start(random_state(rng)).state
    rate = reference.tendency(state)
    assert_sum_is_zero(areas[0] * rate.h)
    assert_sum_is_zero(*changes_of_energy(state, rate, gravity, fields["depth"], *areas))


@pytest.mark.parametrize("flux", ["enstrophy", "arakawa_lamb", "weno5", "weno7"])
def test_potential_enstrophy_is_conserved_or_dissipated(flux):
    rng, f0, dx, dy = np.random.default_rng(3), 1.3, 0.9, 0.7
    grid, physics = {"dy": dy, "dx": dx, "periodic_y": True}, {"gravity": 2.0, "f0": f0}
    reference = make_reference(random_seabed(rng, False), grid=grid, physics=physics, scheme={"vorticity_flux": flux})
    state = random_state(rng)
    tendency = reference.tendency(state)

    def curl(u, v):
        return (east(v) - v) / dx - (north(u) - u) / dy

    def corner(h):
        return 0.25 * (h + east(h) + north(h) + east(north(h)))

    q = (f0 + curl(state.u, state.v)) / corner(state.h)
    changes = q * curl(tendency.u, tendency.v), -0.5 * q**2 * corner(tendency.h)
    if flux.startswith("weno"):
        assert np.sum(changes) < -0.01 * np.abs(changes).sum()
    else:
        assert_sum_is_zero(*changes)
