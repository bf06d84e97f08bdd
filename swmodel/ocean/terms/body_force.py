"""A uniform force per mass that may oscillate in time, as in a shaken tank: du/dt = a + b cos(wt + phase).

a is the mean, b the amplitude, and w is 2 pi / period.
"""

from __future__ import annotations

from math import cos, sin
from typing import TYPE_CHECKING

import numpy as np

from ..instant import phase_cosine_and_sine, phase_increment
from ..option import Duration, Section, option
from ..variable import Variable
from .term import Term

if TYPE_CHECKING:
    from ...config.options.model import Config

COMPONENTS = {"x": "u", "y": "v"}
PARTS = ("mean", "cosine", "sine")
#: The names in the params of the PhaseIncrement of the oscillation.
PHASE_PARAMS = "body_force_turns_high", "body_force_turns_low"


class BodyForceOptions(Section):
    """A uniform force per mass, mean + amplitude cos(2 pi t / period + phase), in x and in y."""

    x: float = option(0.0, "m s-2", "mean in x")
    x_amplitude: float = option(0.0, "m s-2", "amplitude of the oscillation in x")
    x_phase: float = option(0.0, "1", "phase of the oscillation in x at the start of the run, radians")
    y: float = option(0.0, "m s-2", "mean in y")
    y_amplitude: float = option(0.0, "m s-2", "amplitude of the oscillation in y")
    y_phase: float = option(0.0, "1", "phase of the oscillation in y at the start of the run, radians")
    period: Duration = option(86400.0, "s", 'period of the oscillations, in seconds or as "12.42 h"')


def problems(config: Config):
    """Report an oscillation that is too fast for the time step."""
    options, dt = config.body_force, config.time.dt
    if dt is not None and options.period <= 2 * dt and (options.x_amplitude or options.y_amplitude):
        yield f"body_force.period: must be above two time steps, 2 x {dt:g} s, not {options.period:g} s"


def component_params(axis: str) -> list[str]:
    """The names in the params of the parts of a component."""
    return [f"body_force_{axis}_{part}" for part in PARTS]


def build(config: Config, rows, columns):
    """a, b cos(phase) and - b sin(phase) of each component, and the time step as a fraction of the period."""
    options = config.body_force
    params = dict(zip(PHASE_PARAMS, phase_increment(config.time.dt, options.period), strict=True))
    for axis in COMPONENTS:
        mean, amplitude, phase = (getattr(options, f"{axis}{part}") for part in ("", "_amplitude", "_phase"))
        values = mean, amplitude * cos(phase), -amplitude * sin(phase)
        params |= {name: np.full((1, 1), value) for name, value in zip(component_params(axis), values, strict=True)}
    return params


def tendency(flow, params, now):
    """du/dt = a + b cos(phase) cos(wt) - b sin(phase) sin(wt)."""
    turns_high, turns_low = (params[name] for name in PHASE_PARAMS)
    cosine, sine = phase_cosine_and_sine(turns_high, turns_low, now, flow.h.values.dtype)
    forces = {}
    for axis, velocity in COMPONENTS.items():
        a, b_cosine, b_sine = (params[name] for name in component_params(axis))
        forces[velocity] = a + b_cosine * cosine + b_sine * sine
    return forces


FIELDS = (
    *(
        Variable(name, "", "m s-2", "", "part of the body force")
        for axis in COMPONENTS
        for name in component_params(axis)
    ),
    *(Variable(name, "", "1", "", "time step as a fraction of its period, in fixed point") for name in PHASE_PARAMS),
)
BODY_FORCE = Term(
    "body_force",
    tendency,
    options=BodyForceOptions,
    is_active=lambda options: any((options.x, options.y, options.x_amplitude, options.y_amplitude)),
    problems=problems,
    fields=FIELDS,
    build=build,
)
