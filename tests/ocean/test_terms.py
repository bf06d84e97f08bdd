"""Single terms: what each conserves or dissipates, and its analytic solution; closures; the order of WENO."""

from fractions import Fraction

import numpy as np
import pytest
from support.random_case import CLOSURES, COEFFICIENTS, configuration, random_fields, section
from support.stepping import initial_tendency, run_chunks

from swmodel.gradients import Problem
from swmodel.ocean import weno
from swmodel.ocean.derived import bernoulli_kinetic_energy, shear, tension
from swmodel.ocean.flow import Flow
from swmodel.ocean.instant import Instant, phase_angle, phase_increment
from swmodel.ocean.operators import mx_f, my_f
from swmodel.ocean.scheme import Scheme
from swmodel.ocean.terms import TERMS, zanna_bolton
from swmodel.setup.setup import setup_of

NY, NX = SIZE = 9, 11
DOUBLY_PERIODIC = {"grid__periodic_x": True, "grid__periodic_y": True}
#: Numbers that switch on terms that cannot add energy, besides those of CLOSURES.
DAMPING = {"linear_drag": 1e-5, "quadratic_drag": 2e-3, "manning": 0.03}
DAMPING |= {"viscosity": 300.0, "biharmonic_viscosity": 1e8}
LAWS_OF_FRICTION = ("viscosity", "biharmonic_viscosity", "smagorinsky", "biharmonic_smagorinsky", "leith")
DISSIPATIVE_TERMS = (*DAMPING, *LAWS_OF_FRICTION[2:], "leith_e", "sponge")


def config_with_damping(fields=None, **options):
    """A configuration with a sponge and all closures, drags and viscosities, as numbers unless `fields` has them."""
    fields = random_fields(NY, NX) if fields is None else fields
    coefficients = {f"physics__{name}": value for name, value in (DAMPING | CLOSURES).items() if name not in fields}
    return configuration(NY, NX, fields, **coefficients | {"sponge__rate": 1e-4, "sponge__width": 2e4} | options)


def tendency_of_terms(config, *names):
    """The tendency of terms without that of the core equations; the padded state and the grid."""
    with_terms, padded, grid = initial_tendency(config, Scheme("energy", names))
    without_terms = initial_tendency(config, Scheme("energy"))[0]
    rates = {name: field.block_values(SIZE) for name, field in with_terms._asdict().items()}
    return rates | {name: rates[name] - getattr(without_terms, name).block_values(SIZE) for name in "huv"}, padded, grid


@pytest.mark.promise("each term follows its formula")
@pytest.mark.parametrize(("as_field", "slip"), [(False, "free"), (True, "no")])
@pytest.mark.parametrize("name", DISSIPATIVE_TERMS)
def test_damping_terms_take_energy(name, as_field, slip):
    """dE/dt by the term alone is negative, with E = sum of h^x u²/2 + h^y v²/2 + g eta²/2 in a channel with islands.

    Harmonic and biharmonic friction act on u, not on h u, so that they take the sum of u²/2.
    """
    names = [row.name for row in TERMS[name].coefficients if row.name in COEFFICIENTS] if as_field else []
    config = config_with_damping(random_fields(NY, NX, land=0.2, coefficients=names), physics__slip=slip)
    assert name in setup_of(config).scheme.term_names
    rates, padded, grid = tendency_of_terms(config, name)
    h_u, h_v = (1.0, 1.0) if TERMS[name].process == "friction" else (mx_f(padded.h), my_f(padded.h))
    eta = padded.h - grid.depth
    energy_gradient = {"u": h_u * padded.u, "v": h_v * padded.v, "h": 9.81 * eta}
    assert sum((field.block_values(SIZE) * rates[name]).sum() for name, field in energy_gradient.items()) < 0


@pytest.mark.promise("each term follows its formula")
@pytest.mark.parametrize("law", [*LAWS_OF_FRICTION, "zanna_bolton"])
def test_friction_conserves_momentum_without_walls(law):
    """For any viscosity, the sums of the tendencies of u and v are zero; with zanna_bolton, those of h u and h v."""
    fields = random_fields(NY, NX, land=0.0, coefficients=(law,) if law in LAWS_OF_FRICTION else ())
    rates, padded, _ = tendency_of_terms(config_with_damping(fields, **DOUBLY_PERIODIC), law)
    for name, h in (("u", mx_f(padded.h)), ("v", my_f(padded.h))):
        force = rates[name] if law in LAWS_OF_FRICTION else h.block_values(SIZE) * rates[name]
        assert abs(force.sum()) < 1e-12 * np.abs(force).sum()


@pytest.mark.promise("each term follows its formula")
def test_manning_drag_follows_its_formula():
    """du/dt = - k u², k = g n² / h^(4/3): u = u0 / (1 + k u0 t)."""
    config = flat_flow(physics__manning=0.05, time__stepper="rk4", time__dt=30.0)
    h, u, *_ = run_chunks("reference", config, 40)
    k = 9.81 * 0.05**2 / 20.0 ** (4 / 3)
    np.testing.assert_allclose(u, 2.0 / (1 + k * 2.0 * 1200.0), rtol=1e-8)
    np.testing.assert_allclose(h, 20.0)


@pytest.mark.promise("each term follows its formula")
def test_body_force_follows_its_formula():
    """u = u0 + a t + b (sin(w t + p) - sin p) / w without rotation; v likewise."""
    force = {"x": 1e-5, "x_amplitude": 3e-4, "x_phase": 0.7, "y_amplitude": 2e-4, "y_phase": -1.0, "period": 1000.0}
    config = flat_flow(**section("body_force", **force), time__stepper="rk4", time__dt=10.0)
    _, u, v = run_chunks("reference", config, 150)
    w, t = 2 * np.pi / 1000.0, 1500.0
    np.testing.assert_allclose(u, 2.0 + 1e-5 * t + 3e-4 * (np.sin(w * t + 0.7) - np.sin(0.7)) / w, rtol=1e-8)
    np.testing.assert_allclose(v, 2e-4 * (np.sin(w * t - 1.0) - np.sin(-1.0)) / w, rtol=1e-8)


@pytest.mark.parametrize(
    ("law", "speed", "drag"), [("large_pond", 5.0, 1.15e-3), ("large_pond", 20.0, 1.79e-3), ("garratt", 60.0, 3.5e-3)]
)
def test_wind_stress_follows_its_law(law, speed, drag):
    """One Euler step from rest, with the wind from the south-west: du = dt tau_x / (rho H)."""
    config = flat_flow(u=0.0, u10=0.8 * speed, v10=0.6 * speed, time__stepper="ab2", time__dt=10.0, wind_drag__law=law)
    _, u, v, *_ = run_chunks("reference", config, 1)
    change = 10.0 * 1.22 * drag * speed**2 / (1025.0 * 20.0)
    np.testing.assert_allclose(u, 0.8 * change, rtol=1e-12)
    np.testing.assert_allclose(v, 0.6 * change, rtol=1e-12)


def flat_flow(u=2.0, u10=0.0, v10=0.0, **options):
    """A uniform flow and wind over a flat bottom at 20 m, without walls, rotation or friction."""
    fields = {name: np.full((NY, NX), value) for name, value in {"depth": 20.0, "u": u, "u10": u10, "v10": v10}.items()}
    options = section("physics", viscosity=0.0, quadratic_drag=0.0, f0=0.0) | {"grid__periodic_y": True} | options
    return configuration(NY, NX, fields, **options)


@pytest.mark.promise("each term follows its formula")
@pytest.mark.parametrize("step", [7, 10**6 + 3, 2**31 - 1])
@pytest.mark.parametrize(("dtype", "stage"), [(np.float32, 0.5), (np.float64, 1.0)])
def test_phase_is_exact_after_any_number_of_steps(step, dtype, stage):
    dt, period = 19.9547, 44714.16
    exact_fraction = (step + Fraction(stage)) * Fraction(dt) / Fraction(period) % 1
    phase = phase_angle(phase_increment(dt, period), Instant(np.int32(step), stage), np.dtype(dtype)).item()
    difference = abs(phase - 2 * np.pi * float(exact_fraction))
    assert min(difference, 2 * np.pi - difference) < 8 * np.finfo(dtype).eps * 2 * np.pi + 2 * np.pi * step * 2.0**-64


# Closures: where they are zero, the formula of Smagorinsky, and which energy the others conserve


def solid_rotation(rate):
    """Fields of the flow u = - rate y, v = rate x, which jumps at the periodic edges."""
    y, x = np.mgrid[:NY, :NX].astype(float)
    u, v = -rate * 5e3 * y, rate * 4e3 * x
    return random_fields(NY, NX, land=0.0) | {"depth": np.full((NY, NX), 50.0), "eta": 0 * u, "u": u, "v": v}


@pytest.mark.parametrize("name", [name for name in CLOSURES if name != "backscatter"])
def test_closures_vanish_in_solid_rotation_and_uniform_flow(name):
    """In the middle, far from the periodic edges, Zanna and Bolton's stress is uniform."""
    strained_rates = tendency_of_terms(config_with_damping(random_fields(NY, NX, land=0.0), **DOUBLY_PERIODIC), name)[0]
    uniform = solid_rotation(0.0) | {"u": np.full((NY, NX), 0.7), "v": np.full((NY, NX), 0.2)}
    for fields in (solid_rotation(1e-5), uniform):
        rates = tendency_of_terms(config_with_damping(fields, **DOUBLY_PERIODIC), name)[0]
        for field in "uv":
            assert abs(rates[field][4, 5]) < 1e-10 * np.abs(strained_rates[field]).max(), field


def test_smagorinsky_follows_its_formula():
    """u = a x + b x²/2 has |D| = a + b x: du/dt = d_x ((C Delta)² |D| d_x u) = 2 (C Delta)² b (a + b x)."""
    x = 4e3 * (np.arange(NX) + 1.0)
    fields = solid_rotation(0.0) | {"u": np.broadcast_to(1e-5 * x + 1e-10 * x * x / 2, (NY, NX))}
    rates, *_ = tendency_of_terms(config_with_damping(fields, **DOUBLY_PERIODIC), "smagorinsky")
    squared_width = 2 / (1 / 4e3**2 + 1 / 5e3**2)
    assert rates["u"][4, 5] == pytest.approx(2 * 0.15**2 * squared_width * 1e-10 * (1e-5 + 1e-10 * x[5]), rel=1e-12)


def test_leith_e_returns_the_energy_that_it_dissipates():
    """The current has a constant speed, and a direction that turns with y, and slightly with x."""
    y, x = np.mgrid[:NY, :NX] * 2 * np.pi / np.array([NY, NX])[:, None, None]
    current = {"u": np.sin(y + 0.1 * np.sin(x)), "v": np.cos(y + 0.1 * np.sin(x))}
    config = config_with_damping(random_fields(NY, NX, land=0.0) | current, **DOUBLY_PERIODIC)
    rates, padded, _ = tendency_of_terms(config, "leith_e")
    work = [field.block_values(SIZE) * rates[name] for name, field in (("u", padded.u), ("v", padded.v))]
    assert abs(np.sum(work)) < 1e-11 * np.abs(work).sum()


def test_zanna_bolton_does_no_work_by_vorticity():
    """With stress T, tension D and shear S, (T_xx - T_yy) D/2 + T_xy S sums to zero on a torus before T is smoothed."""
    config = config_with_damping(random_fields(NY, NX, land=0.0), **DOUBLY_PERIODIC)
    _, state, grid = initial_tendency(config, Scheme("energy", ("zanna_bolton",)))
    xx, yy, xy = zanna_bolton.stress(Flow(state, grid), {"zanna_bolton": 1.0})
    work = 0.5 * (xx - yy) * tension(state.u, state.v, grid), xy * shear(state.u, state.v, grid)
    work = np.stack([each.block_values(SIZE) for each in work])
    assert abs(work.sum()) < 1e-13 * np.abs(work).sum()


@pytest.mark.parametrize(("slip", "sphere"), [("free", False), ("no", True)])
def test_backscatter_conserves_resolved_and_subgrid_energy(slip, sphere):
    """The basin has islands; subgrid energy has two sources and both signs; the flux `energy` itself adds nothing."""
    options = {"physics__biharmonic_viscosity": 1e8, "grid__periodic_x": False, "physics__slip": slip}
    config = config_with_damping(random_fields(NY, NX, land=0.2), sphere=sphere, **options)
    terms = ("biharmonic_viscosity", "biharmonic_smagorinsky", "backscatter")
    subgrid_energy = np.random.default_rng(1).standard_normal((NY, NX))
    rates, state, grid = initial_tendency(config, Scheme("energy", terms), subgrid_energy=subgrid_energy)

    def weigh(a, location):
        return np.broadcast_to(a.block_values(SIZE), SIZE) * getattr(grid.area, location).block_values(SIZE)

    g = config.physics.gravity
    K = bernoulli_kinetic_energy(state.u, state.v, grid)
    parts = [weigh(mx_f(state.h) * state.u * rates.u, "u"), weigh(my_f(state.h) * state.v * rates.v, "v")]
    parts += [weigh((g * (state.h - grid.depth) + K) * rates.h, "centre"), weigh(rates.subgrid_energy, "centre")]
    assert np.abs(parts[3]).sum() > 1e-3 * np.abs(parts[0]).sum()
    assert abs(np.sum(parts)) < 1e-13 * np.abs(parts).sum()


@pytest.mark.night
def test_derivatives_are_finite_at_rest():
    """All closures have roots or quotients of numbers that are zero at rest."""
    rest = {name: np.zeros((NY, NX)) for name in ("eta", "u", "v")}
    closures = {f"physics__{name}": value for name, value in (dict.fromkeys(DAMPING, 0.0) | CLOSURES).items()}
    config = configuration(NY, NX, rest, run__executor="xla", **closures)
    problem = Problem(config, ("u", "leith_e"), lambda view, k: view.state.u)
    value, gradient = problem.value_and_gradient(problem.first_guess(), lambda series: (series**2).sum())
    assert all(np.isfinite(np.asarray(each)).all() for each in (value, gradient["u"], gradient["leith_e"]))


# WENO: its order, and its values for noise and beside fronts


def interpolation_error(n, r):
    """The largest error of a smooth periodic field between n intervals, reconstructed from its means over them."""
    edge = 2 * np.pi * np.arange(n + 1) / n
    integral = -np.cos(edge + 0.3) + 0.2 * np.sin(2 * edge)
    u = np.diff(integral) / (2 * np.pi / n)
    change = np.roll(u, -1) - u
    D = {k: np.roll(change, -k) for k in range(1 - r, r)}
    exact = np.sin(edge[1:] + 0.3) + 0.4 * np.cos(2 * edge[1:])
    return np.abs(u + weno.weno_change(D, u, r) - exact).max()


@pytest.mark.parametrize(("r", "n"), [(3, 40), (4, 24)])
def test_value_between_cells_is_of_high_order(r, n):
    assert np.log2(interpolation_error(n, r) / interpolation_error(2 * n, r)) > 2 * r - 1.3


@pytest.mark.parametrize(("r", "dtype"), [(2, "float64"), (3, "float32"), (4, "float32")])
def test_front_gives_values_between_its_sides(r, dtype):
    rng = np.random.default_rng(3)
    for amplitude in 10.0 ** np.arange(-25, 1):
        noise = {k: (amplitude * rng.standard_normal(200)).astype(dtype) for k in range(1 - r, r)}
        assert np.isfinite(weno.weno_change(noise, np.zeros(1, dtype), r)).all()
    for front in range(1 - r, r - 1):
        D = {k: np.full(1, 1e-6 * (k == front), dtype) for k in range(1 - r, r)}
        assert -1e-8 < weno.weno_change(D, np.zeros(1, dtype), r)[0] < 1.01e-6
