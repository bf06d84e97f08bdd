"""The NumPy reference: invariants of the schemes, rates of viscosity and sponge, and orders of the steppers."""

import numpy as np
import pytest
from support.field_cases import case_with_fields

from swmodel.config import Config
from swmodel.executors.reference import ReferenceModel
from swmodel.ocean.state import State
from swmodel.setup.setup import setup_of

#: A small domain with odd sizes.
NY, NX = 9, 11


def make_reference(fields=None, **sections):
    """The NumPy reference of a case with these fields (arrays [ny, nx]) and sections of the configuration."""
    sections["grid"] = {"ny": NY, "nx": NX, "dy": 0.7, "dx": 0.9} | sections.get("grid", {})
    config = Config(case=case_with_fields(fields or {}), run={"dtype": "float64"}, **sections)
    return ReferenceModel(setup_of(config))


def random_seabed(rng, islands=True):
    """A rough sea floor, with an island of several cells, one of a single cell, and one across the periodic edges."""
    mask = np.ones((NY, NX))
    if islands:
        mask[3:5, 4:7] = mask[5, 4] = mask[7, 1] = mask[-1, -2:] = mask[0, -1] = mask[0, 0] = 0
    return {"depth": 5 + rng.random((NY, NX)), "mask": mask}


def random_state(rng):
    return State(5 + rng.random((NY, NX)), *rng.standard_normal((2, NY, NX)))


def east(a):
    return np.roll(a, -1, 1)  # the eastern neighbours on a periodic axis


def north(a):
    return np.roll(a, -1, 0)


def assert_sum_is_zero(*terms, bound=1e-14):
    """Assert that the sum of all elements of all terms is at most `bound` times that of their absolute values."""
    total, scale = sum(term.sum() for term in terms), sum(np.abs(term).sum() for term in terms)
    assert scale > 0
    assert abs(total) <= bound * scale


def changes_of_energy(state, rate, gravity, depth, area, area_u, area_v):
    """The time derivatives of potential and kinetic energy over the density, from those of h, u and v (`rate`)."""
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
GRIDS = [({"periodic_y": y, "periodic_x": x}, (1.0, 1.0, 1.0)) for y in (True, False) for x in (True, False)]
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


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("velocity", ["u", "v"])
@pytest.mark.parametrize("boundary", ["periodic", "free", "no"])
def test_viscosity_damps_waves_at_the_discrete_rate(order, velocity, boundary):
    """For u = cos ky (sin ky without slip), du/dt = - nu K² u (or - nu4 K⁴ u) with K = sin(k dy/2) / (dy/2)."""
    cells, dx, nu = 11, 0.7, 0.3
    k = (2 if boundary == "periodic" else 1) * np.pi / (cells * dx)
    profile = (np.sin if boundary == "no" else np.cos)(k * dx * (np.arange(cells) + 0.5))
    physics = {"slip": "no" if boundary == "no" else "free", ("viscosity", "biharmonic_viscosity")[order - 1]: nu}
    grid = {"ny": cells, "nx": cells, "dy": dx, "dx": dx, "periodic_x": True, "periodic_y": True}
    grid["periodic_y" if velocity == "u" else "periodic_x"] = boundary == "periodic"
    field = np.broadcast_to(profile[:, None] if velocity == "u" else profile, (cells, cells))
    zero = np.zeros_like(field)
    state = State(zero + 1, field, zero) if velocity == "u" else State(zero + 1, zero, field)
    tendency = getattr(make_reference(grid=grid, physics=physics).tendency(state), velocity)
    decay_rate = nu * (np.sin(k * dx / 2) / (dx / 2)) ** (2 * order)
    np.testing.assert_allclose(tendency, -decay_rate * field, rtol=0, atol=2e-14)


def test_sponge_rate_depends_on_distance_of_each_point():
    rate, width, dx, dy = 0.3, 2.0, 0.9, 0.7
    sponge = {"rate": rate, "width": width, "sides": ("east", "south")}
    reference = make_reference(grid={"periodic_x": False}, physics={"depth": 100.0, "gravity": 1e-12}, sponge=sponge)
    dh = reference.tendency(State(*(np.full((NY, NX), value) for value in (101.0, 0.0, 0.0)))).h
    from_east, from_south = (np.arange(NX)[::-1] + 0.5) * dx, (np.arange(NY)[:, None] + 0.5) * dy
    expected = rate * (np.clip(1 - from_east / width, 0, 1) ** 2 + np.clip(1 - from_south / width, 0, 1) ** 2)
    np.testing.assert_allclose(dh, -expected, rtol=1e-13)
    x = np.arange(NX)
    state = State(np.full((NY, NX), 100.0), np.where(x == NX - 3, 1.0, 0.0) + np.zeros((NY, 1)), np.zeros((NY, NX)))
    du = reference.tendency(state).u[-1, NX - 3]
    np.testing.assert_allclose(du, -rate * (1 - 2 * dx / width) ** 2, rtol=1e-11)


STEPPER_ORDERS = [(stepper, {}, order) for stepper, order in {"ab3": 2, "rk3": 3, "rk4": 4, "gfb": 2}.items()]
STEPPER_ORDERS += [("ab2", {"ab2_epsilon": 0.0}, 2), ("ab2", {"ab2_epsilon": 0.1}, 1)]
STEPPER_ORDERS += [("leapfrog", {"robert_asselin": 0.0}, 2), ("leapfrog", {"robert_asselin": 0.2}, 1)]


def smooth_flow(stepper, **options):
    """The reference of a nonlinear flow with drag, friction and coasts, smooth in time; and its initial state."""
    rng = np.random.default_rng(11)
    physics = {"gravity": 0.5, "f0": 1.0, "viscosity": 0.05, "quadratic_drag": 0.5}
    return make_reference(random_seabed(rng), physics=physics, time={"stepper": stepper} | options), random_state(rng)


@pytest.mark.parametrize(("stepper", "options", "order"), STEPPER_ORDERS)
@pytest.mark.slow
def test_error_of_a_stepper_falls_with_its_order(stepper, options, order):
    accurate, state = smooth_flow("rk4")
    expected = accurate.advance(accurate.start(state), 256, 0.2 / 256).state
    reference, _ = smooth_flow(stepper, **options)
    errors = []
    for steps in (32, 64):
        carry = reference.advance(reference.start(state), steps, 0.2 / steps)
        assert carry.step == steps
        errors.append(np.abs(carry.state.u - expected.u).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.15)
