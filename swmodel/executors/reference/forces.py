"""Forces and sources of water: stress, body forces and sources in F, and potentials in the Bernoulli function.

The functions in TERMS prepare a term, from the Tendency T. They return a function (x, F), which adds the term to F, or
a function of x, which returns the potential, m2 s-2.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ...ocean.constituents import constituents_at
from ...ocean.coordinates import points
from ...ocean.terms.tide import EQUILIBRIUM
from .neighbours import FACE_MEANS, c, difference, s, w


def wind(T):
    """du/dt = wind_x / (rho h^x), dv/dt = wind_y / (rho h^y)."""
    stress = T.domain.in_time("wind_x", T.domain.to_u), T.domain.in_time("wind_y", T.domain.to_v)

    def add(x, F):
        add_stress(T, x[0], [tau(T.step_start, T.time) / T.physics.density for tau in stress], F)

    return add


def wind_drag(T):
    """du/dt = tau_x / (rho h^x), tau = rho_a C |U| U at centres, with the wind U at 10 m."""
    domain, options = T.domain, T.domain.config.wind_drag
    wind_at_10_m = domain.in_time("u10"), domain.in_time("v10")

    def add(x, F):
        u10, v10 = (component(T.step_start, T.time) for component in wind_at_10_m)
        speed = np.hypot(u10, v10)
        if options.law == "garratt":
            drag = np.minimum(3.5, 0.75 + 0.067 * speed)
        else:
            drag = np.maximum(1.15, 0.49 + 0.065 * speed)
        k = 1e-3 * options.air_density / T.physics.density * drag * speed
        add_stress(T, x[0], [domain.to_u(k * u10), domain.to_v(k * v10)], F)

    return add


def add_stress(T, h, stress, F):
    """Add to F the acceleration by a stress, on u and on v faces; `stress` is divided by the density, m2 s-2."""
    if T.drying:
        T.drying.stress = [total + tau for total, tau in zip(T.drying.stress, stress, strict=True)]
    for F_k, tau, thickness in zip(c(F[1:3]), stress, FACE_MEANS, strict=True):
        F_k += np.divide(tau, thickness(h, out=T.work), out=T.work)


def body_force(T):
    """du/dt = a + b cos(2 pi t / period + phase)."""
    force = T.domain.config.body_force

    def add(x, F):
        angle = 2 * np.pi * (T.time / force.period)
        c(F[1])[...] += force.x + force.x_amplitude * np.cos(angle + force.x_phase)
        c(F[2])[...] += force.y + force.y_amplitude * np.cos(angle + force.y_phase)

    return add


def air_pressure(T):
    """p / rho, with the air pressure p."""
    pressure = T.domain.in_time("air_pressure", lambda values: values / T.physics.density)
    return lambda x: pressure(T.step_start, T.time)


def bed_motion(T):
    """g (u(t) - U), with the uplift u of the floor and its last value U."""
    uplift, final = T.domain.in_time("uplift"), T.domain.last_record("uplift")

    return lambda x: T.physics.gravity * (uplift(T.step_start, T.time) - final)


def rain(T):
    """dh/dt = rain - evaporation."""
    rainfall, evaporation = T.domain.in_time("rain"), T.domain.in_time("evaporation")

    def add(x, F):
        add_freshwater(T, F, rainfall(T.step_start, T.time) - limited_sink(T, evaporation(T.step_start, T.time)))

    return add


def rivers(T):
    """dh/dt = Q/A, with the discharge Q of a river into cells of the area A."""
    inflow = T.domain.in_time("river_inflow")
    return lambda x, F: add_freshwater(T, F, inflow(T.step_start, T.time))


def add_freshwater(T, F, rate):
    T.freshwater = T.freshwater + rate
    c(F[0])[...] += rate


def loss_of_water(T, name):
    """dh/dt = - sink, dC/dt = - C/h sink, because the water takes its tracers along."""
    rate = T.domain.in_time(name)
    contents = [k for k, field in enumerate(T.domain.state._fields) if field.endswith("_content")]

    def add(x, F):
        sink = limited_sink(T, rate(T.step_start, T.time))
        c(F[0])[...] -= sink
        for k in contents:
            c(F[k])[...] -= sink * c(x[k]) / c(x[0])

    return add


def limited_sink(T, rate):
    """The rate of a sink of water, m s-1.

    With drying it is at most w times `rate`, where w = min(1, h / h_dry) at the start of the step, and takes at most a
    fifth of the water that currents leave in the cell during the step.
    """
    drying = T.domain.config.drying
    if not drying.active:
        return rate
    (h, *_), dt = T.drying.start_fields, T.gfb_step[1]
    remaining = h / dt - T.sizes.outflow_x * (c(T.U) - w(T.U)) - T.sizes.outflow_y * (c(T.V) - s(T.V))
    return np.minimum(rate * np.minimum(1.0, h / drying.thickness), np.maximum(remaining, 0.0) / 5)


def green_ampt(T):
    """dh/dt = - dI/dt; over a step M (I' - I) = K dt (M + (psi + h - (I' - I) / 2) d), where M is the mean of I and I'.

    I and I' are the infiltrated depths at the start and at the end of the step, m, h is the thickness at the start, K
    the conductivity, psi the suction and d the moisture deficit.
    """
    index = T.domain.state._fields.index("infiltrated_depth")
    names = "hydraulic_conductivity", "wetting_front_suction", "moisture_deficit"
    conductivity, suction, deficit = (T.domain.field(name) for name in names)

    def add(x, F):
        (now, dt), h = T.gfb_step, T.drying.start_fields[0]
        before, K_dt = c(now[index]), conductivity * dt
        suction_times_deficit, mean_of_roots = np.maximum((suction + h) * deficit, 1e-9), K_dt * (1 - deficit) / 2
        after = mean_of_roots + np.sqrt(
            mean_of_roots**2 + before**2 + K_dt * ((1 + deficit) * before + 2 * suction_times_deficit)
        )
        sink = limited_sink(T, (after - before) / dt)
        c(F[0])[...] -= sink
        c(F[index])[...] += sink

    return add


def tide(T):
    """- g factor ramp(t) times the sum over constituents of H f cos(2 pi t / period + V + u + m lon) G_m(lat).

    H is the height of a constituent, f its nodal factor, V + u its phase at t = 0, m its species, and G_m the shape of
    this species.
    """
    domain, options = T.domain, T.domain.config.tide
    centres = points(domain.config.grid, "centre", domain.rows, domain.columns)
    lon, lat = np.radians(centres.lon), np.radians(centres.lat)
    constituents = constituents_at(options.constituents, domain.config.time.start, options.nodal)

    def potential(x):
        level = T.work
        shapes = 0.5 - 1.5 * np.sin(lat) ** 2, np.sin(2 * lat), np.cos(lat) ** 2
        level[...] = 0
        for wave in constituents:
            phase = 2 * np.pi * (wave.frequency * T.time) + wave.phase
            height = wave.nodal_factor * EQUILIBRIUM[wave.name].height
            level += height * shapes[wave.species] * np.cos(phase + wave.species * lon)
        level *= -T.physics.gravity * options.factor * ramp(options.ramp, T.time)
        return level

    return potential


def ramp(duration, time):
    """The factor of a tide at a time: sin²(pi/2 time/duration) until the ramp ends, then 1."""
    return np.sin(0.5 * np.pi * min(time / duration, 1.0)) ** 2 if duration else 1.0


def self_attraction(T):
    """- g beta (h - H), with the coefficient beta of self-attraction and loading."""
    attraction = T.physics.gravity * T.domain.field("self_attraction")
    return lambda x: difference(T.domain.depth, c(x[0]), attraction, out=T.work)


TERMS = {
    "wind": wind,
    "wind_drag": wind_drag,
    "body_force": body_force,
    "air_pressure": air_pressure,
    "tide": tide,
    "self_attraction": self_attraction,
    "bed_motion": bed_motion,
    "rain": rain,
    "infiltration": partial(loss_of_water, name="infiltration"),
    "rivers": rivers,
    "green_ampt": green_ampt,
    "drains": partial(loss_of_water, name="drainage"),
}
