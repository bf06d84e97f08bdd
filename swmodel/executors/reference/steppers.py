"""The time steppers of docs/numerics.md: functions that advance one array x = [h, u, v, ...] over a range of steps.

`tendency(x, F, step_start, stage_time)` writes dx/dt into F, at `stage_time` seconds after the start of the step,
`step_start`. The steppers overwrite their arguments, and return x and the new memory.
"""

from __future__ import annotations

import numpy as np


def adams_bashforth(tendency, x, memory, steps, dt, weights):
    """x += dt (w0 F_n + w1 F_{n-1} + ...), with weights[n] at step n, and the last weights at all later steps."""
    F = [*memory, np.zeros_like(x)]
    increment = np.empty_like(x)
    for step in steps:
        F.insert(0, F.pop())  # the newest tendency takes the array of the oldest
        tendency(x, F[0], step * dt)
        for weight, F_k in zip(weights[min(step, len(weights) - 1)], F, strict=False):
            x += np.multiply(F_k, weight * dt, out=increment)
    return x, tuple(F[:-1])


def ab2(tendency, x, memory, steps, dt, options):
    """Adams-Bashforth of order 2, with weights shifted by epsilon; the first step is a forward Euler step."""
    weights = (1.0,), (1.5 + options.ab2_epsilon, -0.5 - options.ab2_epsilon)
    return adams_bashforth(tendency, x, memory, steps, dt, weights)


def ab3(tendency, x, memory, steps, dt, options):
    """Adams-Bashforth of order 3; the first step is a forward Euler step, the second is of order 2."""
    return adams_bashforth(tendency, x, memory, steps, dt, ((1.0,), (1.5, -0.5), (23 / 12, -16 / 12, 5 / 12)))


def rk3(tendency, x, memory, steps, dt, options):
    """Runge-Kutta of Shu and Osher (1988): y = a x + (1 - a) (y + dt F(y)), a = 0, 3/4, 1/3, written about x."""
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


def rk4(tendency, x, memory, steps, dt, options):
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


def leapfrog(tendency, x, memory, steps, dt, options):
    """x_{n+1} = x_{n-1} + 2 dt F_n, then x_n += a (x_{n-1} - 2 x_n + x_{n+1}); the first step is forward Euler."""
    (past,), a = memory, options.robert_asselin
    future, increment = np.zeros_like(x), np.empty_like(x)
    for step in steps:
        tendency(x, future, step * dt)
        future *= 2 * dt if step else dt
        future += past if step else x
        if a and step:
            past += future
            past -= np.multiply(x, 2, out=increment)
            past *= a
            x += past
        past, x, future = x, future, past
    return x, (past,)


def gfb(tendency, x, memory, steps, dt, options):
    """Forward-backward: first h, from x* at n + 1/2; then u and v, with the pressure of h^, a mean of four time levels.

    x* = 1.781105 x_n - 1.06221 x_{n-1} + 0.281105 x_{n-2};  h^ = 0.614 h_{n+1} + 0.285 h_n + 0.088 h_{n-1} + 0.013
    h_{n-2}. In the first two steps x* = x_n; h^ is first h_{n+1}, then (13 h_{n+1} - 2 h_n + h_{n-1}) / 12.
    """
    (last, before), middle, F = memory, np.empty_like(x), np.zeros_like(x)
    for step in steps:
        first, second = (-1.06221, 0.281105) if step > 1 else (0.0, 0.0)
        middle[...] = x + first * (last - x) + second * (before - x)
        tendency.gfb_step = x, dt
        tendency(middle, F, step * dt, dt / 2)
        h, change = x[0], dt * F[0]
        if step == 0:
            level = h + change
        elif step == 1:
            level = h + 13 / 12 * change + (last[0] - h) / 12
        else:
            level = h + 0.614 * change + 0.088 * (last[0] - h) + 0.013 * (before[0] - h)
        tendency.replace_pressure(middle, level, F)
        tendency.step_tracers(x, middle, F, dt)
        before, last, x = last, x, np.add(x, dt * F, out=before)
    return x, (last, before)


STEPPERS = {"ab2": ab2, "ab3": ab3, "rk3": rk3, "rk4": rk4, "leapfrog": leapfrog, "gfb": gfb}

#: Numbers of earlier tendencies and of earlier states that a stepper stores.
TENDENCIES_IN_MEMORY = {"ab2": 1, "ab3": 2}
STATES_IN_MEMORY = {"leapfrog": 1, "gfb": 2}
