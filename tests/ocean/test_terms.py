"""Each term of the equations by itself: what it does to energy, what it conserves, its known answer."""

import dataclasses
from fractions import Fraction

import numpy as np
import pytest
from support.random_case import COEFFICIENTS, configuration, random_fields
from support.stepping import after, rates

from swmodel.ocean import flow
from swmodel.ocean.dynamics import tendency
from swmodel.ocean.face_thickness import FACE_THICKNESS
from swmodel.ocean.instant import Instant, angle, turns_of
from swmodel.ocean.operators import mx_f, my_f
from swmodel.ocean.scheme import CELLS, Scheme, small_block
from swmodel.ocean.terms import TERMS
from swmodel.setup.setup import setup_of

NY, NX = 7, 9
#: What switches on the terms that cannot add energy.
ON = {
    "linear_drag": {},
    "quadratic_drag": {"physics__quadratic_drag": 2e-3},
    "manning": {"physics__manning": 0.03},
    "viscosity": {"physics__viscosity": 300.0},
    "biharmonic_viscosity": {"physics__biharmonic_viscosity": 1e8},
    "smagorinsky": {"physics__smagorinsky": 0.15},
    "biharmonic_smagorinsky": {"physics__biharmonic_smagorinsky": 0.06},
    "leith": {"physics__leith": 1.0},
    "sponge": {"sponge__rate": 1e-4, "sponge__width": 2e4},
    "tracer": {"physics__tracers": ({"name": "tracer"},)},
}


@pytest.mark.promise("each term follows its formula")
@pytest.mark.parametrize(("as_field", "slip"), [(False, "free"), (True, "no")])
@pytest.mark.parametrize("name", [name for name in TERMS if name in ON])
def test_damping_terms_take_energy(name, as_field, slip):
    """dE/dt of the term alone, E = sum of h^x u²/2 + h^y v²/2 + g eta²/2 on faces and cells of a basin with islands.

    Harmonic and biharmonic friction act on u, not on h u: it is the sum of u²/2 that they take.
    """
    names = [row.name for row in TERMS[name].coefficients if row.name in COEFFICIENTS] if as_field else []
    fields = random_fields(NY, NX, land=0.2, coefficients=names)
    options = {"physics__viscosity": 0.0, "physics__quadratic_drag": 0.0, "physics__slip": slip} | ON[name]
    config = configuration(NY, NX, fields, **options)
    scheme = setup_of(config).scheme
    assert name in scheme.terms
    with_term, padded, grid = rates(config, Scheme("energy", (name,)))
    without = rates(config, dataclasses.replace(scheme, terms=()))[0]
    change = {field: (getattr(with_term, field) - getattr(without, field)).on((NY, NX)) for field in "huv"}
    h_u, h_v = (1.0, 1.0) if TERMS[name].process == "friction" else (mx_f(padded.h), my_f(padded.h))
    eta = padded.h - grid.depth
    power = ((h_u * padded.u).on((NY, NX)) * change["u"] + (h_v * padded.v).on((NY, NX)) * change["v"]).sum()
    power += (9.81 * eta.on((NY, NX)) * change["h"]).sum()
    assert power < 0


@pytest.mark.promise("each term follows its formula")
@pytest.mark.parametrize(
    "name", ["viscosity", "biharmonic_viscosity", "smagorinsky", "biharmonic_smagorinsky", "leith"]
)
def test_friction_conserves_momentum_without_walls(name):
    """The sums of the tendencies of u and v are zero, whatever the viscosity is: momentum passes through faces."""
    fields = random_fields(NY, NX, land=0.0, coefficients=(name,))
    config = configuration(NY, NX, fields, grid__periodic_y=True)
    alone, without = (rates(config, scheme)[0] for scheme in (Scheme("energy", (name,)), Scheme("energy")))
    for field in "uv":
        change = (getattr(alone, field) - getattr(without, field)).on((NY, NX))
        assert abs(change.sum()) < 1e-12 * np.abs(change).sum()


@pytest.mark.promise("each term follows its formula")
def test_manning_drag_follows_its_formula():
    """du/dt = - k u², k = g n² / h^(4/3): u = u0 / (1 + k u0 t)."""
    config = flat(physics__manning=0.05, time__stepper="rk4", time__dt=30.0)
    h, u, *_ = after("reference", config, 40)
    k = 9.81 * 0.05**2 / 20.0 ** (4 / 3)
    np.testing.assert_allclose(u, 2.0 / (1 + k * 2.0 * 1200.0), rtol=1e-8)
    np.testing.assert_allclose(h, 20.0)


@pytest.mark.promise("each term follows its formula")
def test_body_force_follows_its_formula():
    """u = u0 + a t + b (sin(w t + p) - sin p) / w without rotation; v likewise."""
    force = {"x": 1e-5, "x_amplitude": 3e-4, "x_phase": 0.7, "y_amplitude": 2e-4, "y_phase": -1.0, "period": 1000.0}
    config = flat(**{f"body_force__{key}": value for key, value in force.items()}, time__stepper="rk4", time__dt=10.0)
    _, u, v = after("reference", config, 150)
    w, t = 2 * np.pi / 1000.0, 1500.0
    np.testing.assert_allclose(u, 2.0 + 1e-5 * t + 3e-4 * (np.sin(w * t + 0.7) - np.sin(0.7)) / w, rtol=1e-8)
    np.testing.assert_allclose(v, 2e-4 * (np.sin(w * t - 1.0) - np.sin(-1.0)) / w, rtol=1e-8)


@pytest.mark.parametrize(
    ("law", "speed", "drag"), [("large_pond", 5.0, 1.15e-3), ("large_pond", 20.0, 1.79e-3), ("garratt", 60.0, 3.5e-3)]
)
def test_wind_drags_by_its_law(law, speed, drag):
    """One step of Euler from rest, with the wind from west-southwest: du = dt tau_x / (rho H)."""
    config = flat(u=0.0, u10=0.8 * speed, v10=0.6 * speed, time__stepper="ab2", time__dt=10.0, wind_drag__law=law)
    _, u, v, *_ = after("reference", config, 1)
    change = 10.0 * 1.22 * drag * speed**2 / (1025.0 * 20.0)
    np.testing.assert_allclose(u, 0.8 * change, rtol=1e-12)
    np.testing.assert_allclose(v, 0.6 * change, rtol=1e-12)


def flat(u=2.0, u10=0.0, v10=0.0, **options):
    """A flow of 2 m/s over a flat bottom at 20 m without walls, rotation or friction; a wind."""
    fields = {name: np.full((NY, NX), value) for name, value in {"depth": 20.0, "u": u, "u10": u10, "v10": v10}.items()}
    quiet = {"physics__viscosity": 0.0, "physics__quadratic_drag": 0.0, "physics__f0": 0.0, "grid__periodic_y": True}
    return configuration(NY, NX, fields, **quiet | options)


@pytest.mark.promise("each term follows its formula")
@pytest.mark.parametrize("step", [7, 10**6 + 3, 2**31 - 1])
@pytest.mark.parametrize(("dtype", "stage"), [(np.float32, 0.5), (np.float64, 1.0)])
def test_phase_is_exact_after_any_number_of_steps(step, dtype, stage):
    dt, period = 19.9547, 44714.16
    exact = (step + Fraction(stage)) * Fraction(dt) / Fraction(period) % 1
    ours = angle(turns_of(dt, period), Instant(np.int32(step), stage), np.dtype(dtype)).item()
    difference = abs(ours - 2 * np.pi * float(exact))
    assert min(difference, 2 * np.pi - difference) < 8 * np.finfo(dtype).eps * 2 * np.pi + 2 * np.pi * step * 2.0**-64


@pytest.mark.promise("each term follows its formula")
@pytest.mark.parametrize("stepper", ["ab3", "rk3", "leapfrog", "gfb"])
def test_tracer_is_conserved_and_constant_stays_one(stepper):
    fields = random_fields(NY, NX, land=0.2)
    tracers = {"name": "tracer", "diffusivity": 300.0}, {"name": "even", "initial": 3.7, "diffusivity": 3e3}
    config = configuration(NY, NX, fields, physics__tracers=tracers, time__stepper=stepper)
    (before, _, _, first, _), (h, _, _, last, even) = (after("reference", config, steps)[:5] for steps in (0, 60))
    if stepper == "gfb":  # which stores concentrations
        first, last, even = first * before, last * h, even * h
    assert last.sum() == pytest.approx(first.sum(), rel=1e-13)
    np.testing.assert_allclose(even[fields["mask"] > 0], 3.7 * h[fields["mask"] > 0], rtol=1e-13)


def small_rates(scheme):
    """Rates of h, u, v of random fields."""
    rng, shape = np.random.default_rng(3), (CELLS, CELLS)
    found = tendency(*small_block(scheme, scheme.width, lambda shape: rng.uniform(1.0, 2.0, shape)), scheme)
    return [field.on(shape) for field in found]


def test_faces_closed_by_state_have_no_current_and_no_transport(monkeypatch):
    monkeypatch.setattr(flow, "open_faces", lambda state, grid: (1.0 * (state.h > 2.5), 1.0 * (state.h > 1.5)))
    h, u, v = small_rates(Scheme())
    assert not np.any(u)
    assert np.any(v == 0)
    assert np.any(v)
    monkeypatch.setattr(flow, "open_faces", lambda state, grid: (1.0 * (state.h > 2.5),) * 2)
    assert not np.any(small_rates(Scheme()))


def test_transport_follows_face_thickness_of_scheme(monkeypatch):
    monkeypatch.setitem(FACE_THICKNESS, "nothing", lambda h: (0.0 * h, 0.0 * h))
    h, u, _ = small_rates(Scheme(face_thickness="nothing"))
    assert np.any(small_rates(Scheme())[0])
    assert np.any(u)
    assert not np.any(h)
