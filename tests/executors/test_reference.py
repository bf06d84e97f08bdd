"""The NumPy reference conserves what its schemes promise to conserve, and has the symmetries of the equations."""

import numpy as np
import pytest
from support.small_domain import (
    ALL_TERM_OPTIONS,
    FLUXES,
    NX,
    NY,
    PERIODICITY_OPTIONS,
    all_term_fields,
    east,
    make_reference,
    north,
    random_seabed,
    random_state,
)

from swmodel.ocean.state import State


def assert_sum_is_zero(*terms, bound=1e-14):
    """The sum of all elements of all terms is zero, relative to the sum of their absolute values."""
    total, scale = sum(term.sum() for term in terms), sum(np.abs(term).sum() for term in terms)
    assert scale > 0
    assert abs(total) <= bound * scale


@pytest.mark.parametrize("ring", PERIODICITY_OPTIONS)
@pytest.mark.parametrize("flux", FLUXES)
def test_mass_is_conserved(ring, flux):
    rng = np.random.default_rng(1)
    physics = ALL_TERM_OPTIONS | {"beta": 0.2}
    reference = make_reference(all_term_fields(rng), grid=ring, physics=physics, scheme={"vorticity_flux": flux})
    assert_sum_is_zero(reference.tendency(random_state(rng)).h)


def changes_of_energy(state, rate, gravity, depth, area=1.0, area_u=1.0, area_v=1.0):
    """The time derivatives of potential and kinetic energy over the density, by the derivatives of h, u and v."""
    (h, u, v), (dh, du, dv) = state, rate
    return (
        area * gravity * (h - depth) * dh,
        area_u * (0.5 * (h + east(h)) * u * du + 0.25 * u**2 * (dh + east(dh))),
        area_v * (0.5 * (h + north(h)) * v * dv + 0.25 * v**2 * (dh + north(dh))),
    )


@pytest.mark.parametrize("ring", PERIODICITY_OPTIONS)
@pytest.mark.parametrize("slip", ["free", "no"])
@pytest.mark.parametrize("flux", ["energy", "arakawa_lamb"])
def test_energy_is_conserved(ring, slip, flux):
    rng = np.random.default_rng(2)
    fields, gravity = random_seabed(rng), 2.0
    physics = {"gravity": gravity, "f0": 1.3, "beta": 0.2, "slip": slip}
    reference = make_reference(fields, grid=ring, physics=physics, scheme={"vorticity_flux": flux})
    state = reference.start(random_state(rng)).state
    assert_sum_is_zero(*changes_of_energy(state, reference.tendency(state), gravity, fields["depth"]))


@pytest.mark.parametrize("flux", ["enstrophy", "arakawa_lamb"])
def test_potential_enstrophy_is_conserved(flux):
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
    assert_sum_is_zero(q * curl(tendency.u, tendency.v), -0.5 * q**2 * corner(tendency.h))


BAND = {"kind": "latlon", "west": 20.0, "south": -35.0, "dlat": 11.0, "radius": 5.0, "rotation": 1.3}
BAND |= {"dx": None, "dy": None}


@pytest.mark.promise("the sphere's geometry is exact")
@pytest.mark.parametrize("ring", [{"periodic_x": True}, {"periodic_x": False, "dlon": 7.0}], ids=["band", "basin"])
@pytest.mark.parametrize("slip", ["free", "no"])
@pytest.mark.parametrize("flux", ["energy", "arakawa_lamb"])
def test_mass_and_energy_are_conserved_on_a_sphere(ring, slip, flux):
    """The areas of cells are exact; the areas at faces, for the kinetic energy, are products of lengths."""
    rng = np.random.default_rng(7)
    fields, gravity = random_seabed(rng), 2.0
    physics = {"gravity": gravity, "slip": slip}
    reference = make_reference(fields, grid=BAND | ring, physics=physics, scheme={"vorticity_flux": flux})
    dlon, dlat = np.radians(ring.get("dlon", 360 / NX)), np.radians(11.0)
    south = np.radians(-35.0) + dlat * np.arange(NY)[:, None]
    area = 25.0 * dlon * (np.sin(south + dlat) - np.sin(south))
    area_u, area_v = (25.0 * dlon * dlat * np.cos(south + part * dlat) for part in (0.5, 1.0))
    state = reference.start(random_state(rng)).state
    rate = reference.tendency(state)
    assert_sum_is_zero(area * rate.h)
    assert_sum_is_zero(*changes_of_energy(state, rate, gravity, fields["depth"], area, area_u, area_v))


# Symmetries


@pytest.mark.parametrize("flux", FLUXES)
@pytest.mark.parametrize("slip", ["free", "no"])
def test_wall_equals_a_row_of_land(flux, slip):
    """With all terms, a closed basin gives the same bits if embedded in one more row and column of land."""
    rng = np.random.default_rng(5)
    fields, state = all_term_fields(rng), random_state(rng)
    closed, ring = {"periodic_y": False, "periodic_x": False}, {"periodic_y": True, "periodic_x": True}
    options = {"physics": ALL_TERM_OPTIONS | {"slip": slip}, "scheme": {"vorticity_flux": flux}}

    def embed(field):
        return np.pad(field, ((0, 1), (0, 1)), constant_values=1.0)

    walls = make_reference(fields, grid=closed, **options).tendency(state)
    land = {name: embed(field) for name, field in fields.items()}
    land["mask"][-1] = land["mask"][:, -1] = 0
    size = {"ny": NY + 1, "nx": NX + 1}
    embedded = make_reference(land, grid=ring | size, **options).tendency(State(*map(embed, state)))
    for ours, theirs in zip(walls, embedded, strict=True):
        np.testing.assert_array_equal(ours, theirs[:-1, :-1])
        assert not theirs[-1].any()
        assert not theirs[:, -1].any()


@pytest.mark.parametrize("flux", FLUXES)
def test_periodic_domain_has_no_seam(flux):
    rng = np.random.default_rng(7)
    fields, state = all_term_fields(rng), random_state(rng)
    options = {"grid": {"periodic_y": True}, "physics": ALL_TERM_OPTIONS, "scheme": {"vorticity_flux": flux}}

    def turn(field):
        return np.roll(field, (4, 5), (0, 1))

    here = make_reference(fields, **options).tendency(state)
    turned = make_reference({name: turn(field) for name, field in fields.items()}, **options)
    there = turned.tendency(State(*map(turn, state)))
    for ours, theirs in zip(here, there, strict=True):
        np.testing.assert_array_equal(turn(ours), theirs)
