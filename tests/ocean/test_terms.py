"""Each term of the equations by itself: what it does to energy, what it conserves, its known answer."""

import dataclasses
import re
from fractions import Fraction

import numpy as np
import pytest
from support.random_case import COEFFICIENTS, configuration, random_fields
from support.stepping import after, rates

import swmodel
from swmodel.config import ConfigError
from swmodel.model.validate import check_config
from swmodel.ocean.instant import Instant, angle, turns_of
from swmodel.ocean.operators import mx_f, my_f
from swmodel.ocean.scheme import Scheme
from swmodel.ocean.terms import TERMS
from swmodel.setup.checks.extremes import survey
from swmodel.setup.checks.stability import largest_dt
from swmodel.setup.setup import setup_of

pytestmark = pytest.mark.slow

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
def test_what_takes_energy_takes_it(name, as_field, slip):
    """dE/dt of the term alone, E = sum of h^x u²/2 + h^y v²/2 + g eta²/2 on faces and cells of a basin with islands.

    Harmonic and biharmonic friction act on u, not on h u: it is the sum of u²/2 that they take.
    """
    names = [row.name for row in TERMS[name].coefficients if row.name in COEFFICIENTS] if as_field else []
    fields = random_fields(NY, NX, land=0.2, coefficients=names)
    options = ON[name] | {"physics__slip": slip, "grid__periodic_x": True, "grid__periodic_y": False}
    config = configuration(NY, NX, fields, **{"physics__viscosity": 0.0, "physics__quadratic_drag": 0.0} | options)
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
def test_friction_conserves_momentum_where_there_is_no_wall(name):
    """The sums of the tendencies of u and v are zero, whatever the viscosity is: momentum passes through faces."""
    fields = random_fields(NY, NX, land=0.0, coefficients=(name,))
    config = configuration(NY, NX, fields, grid__periodic_y=True)
    alone, without = (rates(config, scheme)[0] for scheme in (Scheme("energy", (name,)), Scheme("energy")))
    for field in "uv":
        change = (getattr(alone, field) - getattr(without, field)).on((NY, NX))
        assert abs(change.sum()) < 1e-12 * np.abs(change).sum()


@pytest.mark.promise("each term follows its formula")
def test_manning_drag_slows_a_uniform_flow_as_its_formula_says():
    """du/dt = - k u², k = g n² / h^(4/3): u = u0 / (1 + k u0 t)."""
    config = flat(physics__manning=0.05, time__stepper="rk4", time__dt=30.0)
    h, u, *_ = after("reference", config, 40)
    k = 9.81 * 0.05**2 / 20.0 ** (4 / 3)
    np.testing.assert_allclose(u, 2.0 / (1 + k * 2.0 * 1200.0), rtol=1e-8)
    np.testing.assert_allclose(h, 20.0)


@pytest.mark.promise("each term follows its formula")
def test_a_body_force_drives_a_uniform_flow_as_its_formula_says():
    """u = u0 + a t + b (sin(w t + p) - sin p) / w without rotation; v likewise."""
    force = {"x": 1e-5, "x_amplitude": 3e-4, "x_phase": 0.7, "y_amplitude": 2e-4, "y_phase": -1.0, "period": 1000.0}
    config = flat(**{f"body_force__{key}": value for key, value in force.items()}, time__stepper="rk4", time__dt=10.0)
    _, u, v = after("reference", config, 150)
    w, t = 2 * np.pi / 1000.0, 1500.0
    np.testing.assert_allclose(u, 2.0 + 1e-5 * t + 3e-4 * (np.sin(w * t + 0.7) - np.sin(0.7)) / w, rtol=1e-8)
    np.testing.assert_allclose(v, 2e-4 * (np.sin(w * t - 1.0) - np.sin(-1.0)) / w, rtol=1e-8)


def flat(tracer=None, **options):
    """A flow of 2 m/s over a flat bottom at 20 m without walls, rotation or friction."""
    fields = {"depth": np.full((NY, NX), 20.0), "u": np.full((NY, NX), 2.0)}
    fields |= {} if tracer is None else {"tracer": np.broadcast_to(tracer, (NY, NX))}
    quiet = {"physics__viscosity": 0.0, "physics__quadratic_drag": 0.0, "physics__f0": 0.0, "grid__periodic_y": True}
    return configuration(NY, NX, fields, **quiet | options)


@pytest.mark.promise("each term follows its formula")
@pytest.mark.parametrize("step", [0, 7, 10**6 + 3, 2**31 - 1])
@pytest.mark.parametrize(
    ("dtype", "stage"), [(np.float32, 0.0), (np.float32, 0.5), (np.float64, 0.5), (np.float64, 1.0)]
)
def test_the_phase_loses_nothing_after_however_many_steps(step, dtype, stage):
    dt, period = 19.9547, 44714.16
    exact = (step + Fraction(stage)) * Fraction(dt) / Fraction(period) % 1
    ours = angle(turns_of(dt, period), Instant(np.int32(step), stage), np.dtype(dtype)).item()
    difference = abs(ours - 2 * np.pi * float(exact))
    assert min(difference, 2 * np.pi - difference) < 8 * np.finfo(dtype).eps * 2 * np.pi + 2 * np.pi * step * 2.0**-64


@pytest.mark.promise("each term follows its formula")
@pytest.mark.parametrize("stepper", ["ab2", "ab3", "rk3", "rk4", "leapfrog", "gfb"])
def test_a_tracer_is_conserved_and_a_constant_stays_one(stepper):
    fields = random_fields(NY, NX, land=0.2)
    options = ON["tracer"] | {"time__stepper": stepper, "time__robert_asselin": 0.05}
    config = configuration(NY, NX, fields, **options)
    before, now = (after("reference", config, steps) for steps in (0, 60))
    stored = (lambda h, c: h * c) if stepper == "gfb" else (lambda h, content: content)
    assert stored(now[0], now[3]).sum() == pytest.approx(stored(before[0], before[3]).sum(), rel=1e-13)
    del fields["tracer"]
    options["physics__tracers"] = ({"name": "tracer", "initial": 3.7},)
    h, _, _, tracer = (
        field[fields["mask"] > 0] for field in after("reference", configuration(NY, NX, fields, **options), 60)[:4]
    )
    np.testing.assert_allclose(stored(h, tracer), 3.7 * h, rtol=1e-13)


def test_upwind_transport_makes_no_new_extremes_and_carries_the_tracer_downstream():
    """Each step moves the share u dt/dx of what is in a cell into the next one."""
    blob = np.eye(NX)[2]
    h, _, _, content = after("reference", flat(blob, **ON["tracer"], time__ab2_epsilon=0.0, time__stepper="rk3"), 200)
    c, share, expected = content / h, 2.0 * 20.0 / 4e3, blob
    assert c.min() >= -1e-15
    assert c.max() <= 1
    for _ in range(200):
        change = expected
        for stage in (3, 2, 1):  # 1 + z + z²/2 + z³/6 = 1 + z (1 + z/2 (1 + z/3)), z = share times the difference
            change = expected + share / stage * (np.roll(change, 1) - change)
        expected = change
    np.testing.assert_allclose(c, np.broadcast_to(expected, c.shape), atol=1e-12)


REFUSED = {
    'output.fields: no choice "tracer"': {"output.fields": ["h", "tracer"]},
    "body_force.period: must be above two time steps": {"body_force.x_amplitude": 1e-5, "body_force.period": 30.0},
    'time.stepper: must be "gfb" for the advection weno5 of a, b, not "ab3"': {
        "time.stepper": "ab3",
        "physics.tracers": [{"name": name, "advection": "weno5"} for name in "ab"],
    },
    "physics.manning: must be at least 0 s m-1/3": {"physics.manning": -0.1},
    "physics.self_attraction: must be at most 0.5, not 0.6": {"physics.self_attraction": 0.6},
}


@pytest.mark.parametrize("problem", REFUSED)
def test_what_cannot_be_meant_is_refused(problem):
    with pytest.raises(ConfigError, match=re.escape(problem)):
        check_config(swmodel.load("rest", {"time.dt": 20.0} | REFUSED[problem], {}))


def test_upwind_transport_is_stable_up_to_its_limit_and_not_much_beyond():
    config = flat(np.eye(NX)[2], **ON["tracer"], time__stepper="ab3", physics__gravity=0.01)
    limit = largest_dt(config, survey(setup_of(config)))[0]
    for factor, stays in ((0.95, True), (1.6, False)):
        far = config.model_copy(update={"time": config.time.model_copy(update={"dt": factor * limit})})
        content = after("reference", far, 400)[3]
        assert (np.abs(content).max() < 25.0) == stays
