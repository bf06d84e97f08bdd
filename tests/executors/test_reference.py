"""The NumPy reference conserves what its schemes promise to conserve, and has the symmetries of the equations."""

import numpy as np
import pytest
from support.small_domain import EVERYTHING, FLUXES, NX, NY, RINGS, build, e, everything, n, random_state, s, seabed, w

from swmodel.ocean.state import State


def closes(*terms, bound=1e-14):
    """The sum of all elements of all terms is zero, relative to the sum of their absolute values."""
    total, scale = sum(term.sum() for term in terms), sum(np.abs(term).sum() for term in terms)
    assert scale > 0
    assert abs(total) <= bound * scale


@pytest.mark.parametrize("ring", RINGS)
@pytest.mark.parametrize("flux", FLUXES)
def test_mass_is_conserved_with_everything_but_the_sponge(ring, flux):
    rng = np.random.default_rng(1)
    physics = EVERYTHING | {"beta": 0.2}
    reference = build(everything(rng), grid=ring, physics=physics, scheme={"vorticity_flux": flux})
    closes(reference.tendency(random_state(rng)).h)


@pytest.mark.parametrize("ring", RINGS)
@pytest.mark.parametrize("slip", ["free", "no"])
@pytest.mark.parametrize("flux", ["energy", "arakawa_lamb"])
def test_energy_is_conserved(ring, slip, flux):
    rng = np.random.default_rng(2)
    fields, gravity = seabed(rng), 2.0
    physics = {"gravity": gravity, "f0": 1.3, "beta": 0.2, "slip": slip}
    reference = build(fields, grid=ring, physics=physics, scheme={"vorticity_flux": flux})
    h, u, v = state = reference.start(random_state(rng)).state
    dh, du, dv = reference.tendency(state)
    closes(
        gravity * (h - fields["depth"]) * dh,
        0.5 * (h + e(h)) * u * du,
        0.5 * (h + n(h)) * v * dv,
        0.25 * u**2 * (dh + e(dh)),
        0.25 * v**2 * (dh + n(dh)),
    )


def corner_quantities(grid, physics, state, tendency, mask):
    """q, d zeta/dt and d h_q/dt at interior corners (f constant), and which corners are interior."""
    interior = (mask * e(mask) * n(mask) * n(e(mask))) == 1

    def curl(u, v):
        return (e(v) - v) / grid["dx"] - (n(u) - u) / grid["dy"]

    def corner(h):
        return 0.25 * (h + e(h) + n(h) + e(n(h)))

    q = (physics["f0"] + curl(state.u, state.v)) / corner(state.h)
    return q, curl(tendency.u, tendency.v), corner(tendency.h), interior


GRID, ROTATING = {"dy": 0.7, "dx": 0.9}, {"gravity": 2.0, "f0": 1.3}


@pytest.mark.parametrize("flux", ["enstrophy", "arakawa_lamb"])
def test_potential_enstrophy_is_conserved_on_a_doubly_periodic_domain(flux):
    rng = np.random.default_rng(3)
    grid = GRID | {"periodic_y": True}
    reference = build(seabed(rng, False), grid=grid, physics=ROTATING, scheme={"vorticity_flux": flux})
    state = random_state(rng)
    q, dzeta, dh_q, _ = corner_quantities(grid, ROTATING, state, reference.tendency(state), np.ones((NY, NX)))
    closes(q * dzeta, -0.5 * q**2 * dh_q)


@pytest.mark.parametrize("slip", ["free", "no"])
def test_potential_enstrophy_of_interior_corners_changes_only_through_the_coast(slip):
    """With M = (U^y)^x, (V^x)^y between two corners a and b, `enstrophy` moves q_a q_b M / 2 from one to the other.

    Land rows and columns make this a closed basin with islands; q on the coast is that of boundary corners.
    """
    rng = np.random.default_rng(4)
    fields, grid = seabed(rng), GRID | {"periodic_y": True}
    fields["mask"][0] = fields["mask"][:, 0] = 0
    reference = build(fields, grid=grid, physics=ROTATING | {"slip": slip}, scheme={"vorticity_flux": "enstrophy"})
    h, u, v = state = reference.start(random_state(rng)).state
    q, dzeta, dh_q, inside = corner_quantities(grid, ROTATING, state, reference.tendency(state), fields["mask"])
    mask = fields["mask"]
    wet_cells = mask + e(mask) + n(mask) + n(e(mask))
    h_coast = sum(a * b for a, b in ((mask, h), (e(mask), e(h)), (n(mask), n(h)), (n(e(mask)), n(e(h)))))
    slip_factor = 2 if slip == "no" else 0
    zeta_coast = slip_factor * ((e(v) - v) / grid["dx"] - (n(u) - u) / grid["dy"])
    q_coast = (ROTATING["f0"] + zeta_coast) / np.where(wet_cells > 0, h_coast / np.maximum(wet_cells, 1), 1)
    q = np.where(inside, q, q_coast)
    U, V = 0.5 * (h + e(h)) * u, 0.5 * (h + n(h)) * v
    M_x = 0.25 * (U + n(U) + w(U) + n(w(U)))  # from the corner in the west to that in the east of a v face
    M_y = 0.25 * (V + e(V) + s(V) + e(s(V)))
    inflow_x = 0.5 * q * w(q) * M_x * (inside.astype(float) - w(inside)) / grid["dx"]
    inflow_y = 0.5 * q * s(q) * M_y * (inside.astype(float) - s(inside)) / grid["dy"]
    assert np.abs(inflow_x).sum() > 0
    closes((q * dzeta)[inside], -0.5 * (q**2 * dh_q)[inside], -inflow_x, -inflow_y)


BAND = {"kind": "latlon", "west": 20.0, "south": -35.0, "dlat": 11.0, "radius": 5.0, "dx": None, "dy": None}


@pytest.mark.parametrize("ring", [{"periodic_x": True}, {"periodic_x": False, "dlon": 7.0}], ids=["band", "basin"])
@pytest.mark.parametrize("slip", ["free", "no"])
@pytest.mark.parametrize("flux", ["energy", "arakawa_lamb"])
def test_mass_and_energy_are_conserved_on_a_sphere(ring, slip, flux):
    """With exact areas of cells, and those of the kinetic energy at faces the product of their lengths."""
    rng = np.random.default_rng(7)
    fields, gravity = seabed(rng), 2.0
    physics = {"gravity": gravity, "slip": slip}
    reference = build(fields, grid=BAND | {"rotation": 1.3} | ring, physics=physics, scheme={"vorticity_flux": flux})
    dlon, dlat = np.radians(ring.get("dlon", 360 / NX)), np.radians(11.0)
    south = np.radians(-35.0) + dlat * np.arange(NY)[:, None]
    area = 25.0 * dlon * (np.sin(south + dlat) - np.sin(south))
    area_u, area_v = (25.0 * dlon * dlat * np.cos(south + part * dlat) for part in (0.5, 1.0))
    h, u, v = state = reference.start(random_state(rng)).state
    dh, du, dv = reference.tendency(state)
    closes(area * dh)
    closes(
        gravity * area * (h - fields["depth"]) * dh,
        0.5 * area_u * (h + e(h)) * u * du,
        0.5 * area_v * (h + n(h)) * v * dv,
        0.25 * area_u * u**2 * (dh + e(dh)),
        0.25 * area_v * v**2 * (dh + n(dh)),
    )


# Symmetries


@pytest.mark.parametrize("flux", FLUXES)
@pytest.mark.parametrize("slip", ["free", "no"])
def test_a_wall_is_a_row_of_land(flux, slip):
    """Bit for bit, with everything on a closed basin embedded in one more row and column of land."""
    rng = np.random.default_rng(5)
    fields, state = everything(rng), random_state(rng)
    closed, ring = {"periodic_y": False, "periodic_x": False}, {"periodic_y": True, "periodic_x": True}
    options = {"physics": EVERYTHING | {"slip": slip}, "scheme": {"vorticity_flux": flux}}

    def embed(field):
        return np.pad(field, ((0, 1), (0, 1)), constant_values=1.0)

    walls = build(fields, grid=closed, **options).tendency(state)
    land = {name: embed(field) for name, field in fields.items()}
    land["mask"][-1] = land["mask"][:, -1] = 0
    size = {"ny": NY + 1, "nx": NX + 1}
    embedded = build(land, grid=ring | size, **options).tendency(State(*map(embed, state)))
    for ours, theirs in zip(walls, embedded, strict=True):
        np.testing.assert_array_equal(ours, theirs[:-1, :-1])
        assert not theirs[-1].any()
        assert not theirs[:, -1].any()


@pytest.mark.parametrize("flux", FLUXES)
def test_the_ring_has_no_seam(flux):
    rng = np.random.default_rng(7)
    fields, state = everything(rng), random_state(rng)
    options = {"grid": {"periodic_y": True}, "physics": EVERYTHING, "scheme": {"vorticity_flux": flux}}

    def turn(field):
        return np.roll(field, (4, 5), (0, 1))

    here = build(fields, **options).tendency(state)
    there = build({name: turn(field) for name, field in fields.items()}, **options).tendency(State(*map(turn, state)))
    for ours, theirs in zip(here, there, strict=True):
        np.testing.assert_array_equal(turn(ours), theirs)


@pytest.mark.parametrize("flux", FLUXES)
def test_one_column_is_a_domain_that_does_not_vary(flux):
    rng = np.random.default_rng(8)
    state = random_state(rng, (NY, 1))
    options = {"physics": EVERYTHING, "scheme": {"vorticity_flux": flux}}
    one = build(grid={"nx": 1}, **options).tendency(state)
    five = build(grid={"nx": 5}, **options).tendency(State(*(np.repeat(field, 5, 1) for field in state)))
    for ours, theirs in zip(one, five, strict=True):
        np.testing.assert_array_equal(np.repeat(ours, 5, 1), theirs)
