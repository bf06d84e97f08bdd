"""The time steppers of docs/numerics.md: functions that advance one array x = [h, u, v, ...] over a range of steps.

`tendency(x, F, step_start, stage_time=0)` writes dx/dt at the time `step_start` + `stage_time`, s, into F. `gfb` needs
a `Tendency`, whose attribute `gfb_step` it sets and whose methods it calls. The steppers overwrite x and memory, and
return x and the new memory.
"""

from __future__ import annotations

import numpy as np


def adams_bashforth(tendency, x, memory, steps, dt, weights):
    """x += dt (w0 F_n + w1 F_{n-1} + ...), with the weights weights[n] at step n, and the last ones at later steps."""
    F = [*memory, np.zeros_like(x)]
    increment = np.empty_like(x)
    for step in steps:
        F.insert(0, F.pop())  # the newest tendency takes the array of the oldest
        tendency(x, F[0], step * dt)
        for weight, F_k in zip(weights[min(step, len(weights) - 1)], F, strict=False):
            x += np.multiply(F_k, weight * dt, out=increment)
    return x, tuple(F[:-1])


def ab2(tendency, x, memory, steps, dt, time_options):
    """Adams-Bashforth of order 2, with weights shifted by epsilon; the first step is a forward Euler step."""
    weights = (1.0,), (1.5 + time_options.ab2_epsilon, -0.5 - time_options.ab2_epsilon)
    return adams_bashforth(tendency, x, memory, steps, dt, weights)


def ab3(tendency, x, memory, steps, dt, time_options):
    """Adams-Bashforth of order 3; the first step is a forward Euler step, the second is of order 2."""
    return adams_bashforth(tendency, x, memory, steps, dt, ((1.0,), (1.5, -0.5), (23 / 12, -16 / 12, 5 / 12)))


def rk3(tendency, x, memory, steps, dt, time_options):
    """Runge-Kutta method of Shu and Osher (1988): y = a x + (1 - a) (y + dt F(y)) for a = 0, 3/4, 1/3.

    It is computed as x + (1 - a) (y - x + dt F(y)).
    """
    y, F = np.empty_like(x), np.zeros_like(x)
    for step in steps:
        y[...] = x
        for a, stage in ((0.0, 0.0), (0.75, 1.0), (1 / 3, 0.5)):
            tendency(y, F, step * dt, stage * dt)
            F *= dt
            y -= x
            y += F
            y *= 1 - a
            y += x
        x, y = y, x
    return x, memory


def rk4(tendency, x, memory, steps, dt, time_options):
    """The classical Runge-Kutta method."""
    y, F, increment = np.empty_like(x), np.zeros_like(x), np.empty_like(x)
    for step in steps:
        increment[...] = 0
        for a, weight in ((0.0, 1 / 6), (0.5, 1 / 3), (0.5, 1 / 3), (1.0, 1 / 6)):
            np.multiply(F, a * dt, out=y)
            y += x
            tendency(y, F, step * dt, a * dt)
            increment += np.multiply(F, weight * dt, out=y)
        x += increment
    return x, memory


def leapfrog(tendency, x, memory, steps, dt, time_options):
    """x_{n+1} = x_{n-1} + 2 dt F_n, then x_n += filter_strength (x_{n-1} - 2 x_n + x_{n+1}).

    The first step is a forward Euler step without the filter.
    """
    (past,), filter_strength = memory, time_options.robert_asselin
    future, increment = np.zeros_like(x), np.empty_like(x)
    for step in steps:
        tendency(x, future, step * dt)
        future *= 2 * dt if step else dt
        future += past if step else x
        if filter_strength and step:
            past += future
            past -= np.multiply(x, 2, out=increment)
            past *= filter_strength
            x += past
        past, x, future = x, future, past
    return x, (past,)


def gfb(tendency, x, memory, steps, dt, time_options):
    """Generalised forward-backward: h from the tendency of x* at n + 1/2, then u and v, with the pressure of h^.

    x* = 1.781105 x_n - 1.06221 x_{n-1} + 0.281105 x_{n-2};  h^ = 0.614 h_{n+1} + 0.285 h_n + 0.088 h_{n-1} + 0.013
    h_{n-2}. In the first two steps x* = x_n; h^ is h_{n+1} in the first and (13 h_{n+1} - 2 h_n + h_{n-1}) / 12 in the
    second.
    """
    (x_1, x_2), x_star, F = memory, np.empty_like(x), np.zeros_like(x)
    for step in steps:
        weight_1, weight_2 = (-1.06221, 0.281105) if step > 1 else (0.0, 0.0)
        x_star[...] = x + weight_1 * (x_1 - x) + weight_2 * (x_2 - x)
        tendency.gfb_step = x, dt
        tendency(x_star, F, step * dt, dt / 2)
        h, dh = x[0], dt * F[0]
        if step == 0:
            h_hat = h + dh
        elif step == 1:
            h_hat = h + 13 / 12 * dh + (x_1[0] - h) / 12
        else:
            h_hat = h + 0.614 * dh + 0.088 * (x_1[0] - h) + 0.013 * (x_2[0] - h)
        tendency.replace_pressure(x_star, h_hat, F)
        tendency.step_tracers(x, x_star, F, dt)
        x_2, x_1, x = x_1, x, np.add(x, dt * F, out=x_2)
    return x, (x_1, x_2)


STEPPERS = {"ab2": ab2, "ab3": ab3, "rk3": rk3, "rk4": rk4, "leapfrog": leapfrog, "gfb": gfb}

#: Numbers of earlier tendencies and of earlier states that a stepper stores.
TENDENCIES_IN_MEMORY = {"ab2": 1, "ab3": 2}
STATES_IN_MEMORY = {"leapfrog": 1, "gfb": 2}
