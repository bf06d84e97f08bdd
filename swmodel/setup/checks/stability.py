"""Stable time steps: limits of the steppers for linear equations, and the rates of a configuration.

A Mode obeys dh/dt = -i w u + l h, du/dt = -i w h + l u, where w is the rate of waves and l the complex rate of all
other processes, negative for damping, imaginary for rotation and advection. One step of the stepper multiplies (h, u)
and the memory of the stepper by a matrix; dt is stable if no eigenvalue lies outside the unit circle.

Reference: Durran, D. R. (2010), Numerical Methods for Fluid Dynamics, Springer, chapters 2 and 3.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...ocean.constituents import DAY_SECONDS
from ...ocean.coordinates import has_rotated_axes
from ...ocean.state import Carry, state_type
from ...ocean.terms import PROCESSES
from ...ocean.timestep import ForwardBackwardInputs, Method
from ..setup import coriolis, method_of_options

if TYPE_CHECKING:
    from ...config.options.model import Config

#: Complex rates of upwind differences divided by |u|/dx, for waves of all lengths along an axis; they lie on a circle.
UPWIND_RATES = np.exp(1j * np.linspace(0, np.pi, 9)) - 1

#: The process whose rate depends on the depth and the size of a cell.
WAVE_PROCESS = "gravity waves and advection"

#: Ratio of the automatic time step to the largest stable one, because currents may grow.
DT_SAFETY_FACTOR = 0.6

#: A time step written with at most this many characters is preferred to a larger time step if the number of steps
#: increases by at most this fraction.
MAX_PREFERRED_CHARACTERS, MAX_STEP_INCREASE = 8, 0.1

#: Largest number of time steps that are tried besides the longest one, and significant digits of a time step that need
#: not divide an interval.
MAX_CANDIDATES, DT_DIGITS = 10_000, 3

#: Unit in which the common divisor of intervals is computed, s.
TICK_SECONDS = 1e-6

#: The number of a step at which the stepper has its full memory.
STEP_AFTER_START = 9

#: Growth per step that is ignored: round-off of double roots, and growth by at most a factor e in a million steps.
GROWTH_TOLERANCE = 1e-6


class Mode(NamedTuple):
    """A solution of the linear equations, defined by its rates, s-1."""

    wave_rate: float  # of gravity waves
    local_rate: complex = 0.0  # of all that acts on h and u alone

    @property
    def size(self) -> float:
        """The modulus of its larger rate."""
        return max(abs(self.wave_rate), abs(self.local_rate))

    def scaled(self, factor: float) -> Mode:
        """The Mode with both rates multiplied by `factor`."""
        return Mode(self.wave_rate * factor, complex(self.local_rate) * factor)


#: The fields of a Mode, as a State that a stepper can advance.
ModeState = state_type(("h", "u"))


def amplification_factor(dt, mode: Mode, method: Method) -> np.ndarray:
    """Largest modulus of the eigenvalues of one step, for each of an array of time steps, s."""
    dt = np.asarray(dt, dtype=float)
    n_unknowns = len(ModeState._fields) * (1 + method.weight_and_state_counts[1])
    unit_states = np.eye(n_unknowns)[:, :, None] * np.ones(dt.shape)  # [field, which of them is 1, dt]
    state, *memory = (ModeState(*unit_states[k : k + 2]) for k in range(0, n_unknowns, 2))

    def tendency(x, _, gfb_inputs: ForwardBackwardInputs | None = None):
        rate = ModeState(-1j * mode.wave_rate * x.u + mode.local_rate * x.h, 0)
        level = x.h if gfb_inputs is None else gfb_inputs.pressure_h + gfb_inputs.pressure_dt * rate.h
        return rate._replace(u=-1j * mode.wave_rate * level + mode.local_rate * x.u)

    weights = method.weights(STEP_AFTER_START, dt)
    new_carry = method.combine(tendency, Carry(state, tuple(memory), STEP_AFTER_START), weights)
    step_matrix = np.array([field for fields in (new_carry.state, *new_carry.memory) for field in fields])
    return np.abs(np.linalg.eigvals(np.moveaxis(step_matrix, -1, 0))).max(axis=-1)


@lru_cache(maxsize=1024, typed=True)  # a Multistep and a RungeKutta with the same numbers are equal
def stability_limit(mode: Mode, method: Method) -> float:
    """The largest dt, at most 4 s, such that all shorter ones are stable for a Mode of size 1 s-1."""
    low, high = 0.0, 4.0
    for n_intervals in (200, *[20] * 7):
        step = (high - low) / n_intervals
        time_steps = low + step * np.arange(1, n_intervals + 1)
        unstable = np.flatnonzero(amplification_factor(time_steps, mode, method) > 1 + GROWTH_TOLERANCE)
        if not unstable.size:
            return high
        low, high = time_steps[unstable[0]] - step, time_steps[unstable[0]]
    return float(low)


class Rates(NamedTuple):
    """The fastest rates of a run, s-1."""

    waves: float  # gravity waves of speed c, 2 c sqrt(1/dx² + 1/dy²), in a current (`extremes.effective_wave_rate`)
    inertial: float  # |f|
    drag: float  # terms that damp all motion: bottom drag and sponge
    friction: float  # terms that damp the shortest waves: 4 nu (1/dx² + 1/dy²) + 16 nu4 (1/dx² + 1/dy²)²
    transport: float  # upwind transport and diffusion of tracers, |u|/dx + |v|/dy + 2 kappa (1/dx² + 1/dy²)
    radiation: float  # waves that leave through open boundaries, `boundary_data.radiation_rate`


def fastest_rates(config: Config, extremes) -> Rates:
    """The fastest rates of a configuration, from the FieldExtremes of its initial state."""
    if has_rotated_axes(config.grid) and not (config.physics.f0 or config.physics.beta):
        inertial = 2 * config.grid.rotation
    else:  # |f| is largest at the southern or the northern edge
        inertial = float(np.abs(coriolis(config, [-1, config.grid.ny - 1], [0])).max())
    rates_of_processes = {process: extremes.max_abs(f"{process}_rate") for process in (*PROCESSES, "radiation")}
    return Rates(waves=extremes.max_abs("wave_rate"), inertial=inertial, **rates_of_processes)


def max_stable_dt(config: Config, extremes) -> tuple[float, str]:
    """The largest stable time step, s, and the process that limits it."""
    rate, time = fastest_rates(config, extremes), config.time
    damping = rate.friction + rate.drag
    limits = {
        WAVE_PROCESS: stable_dt_of_modes(time, Mode(rate.waves)),
        "friction, drag and sponge": stable_dt_of_modes(time, Mode(0, -damping)),
        "the Coriolis force": stable_dt_of_modes(time, Mode(0, 1j * rate.inertial)),
    }
    # These processes act on other fields, or only in cells at open boundaries, so that each limits dt by itself.
    separate_limits = {
        "the transport of tracers": stable_dt_of_modes(time, *(Mode(0, rate.transport * z) for z in UPWIND_RATES)),
        "waves through open boundaries": stable_dt_of_modes(time, Mode(0, -damping - rate.radiation))
        if rate.radiation
        else math.inf,
    }
    damped_modes = (Mode(0, -damping), Mode(rate.waves, -rate.friction), Mode(rate.waves, -damping))
    joint_limit = stable_dt_of_modes(time, Mode(0, 1j * rate.inertial), *damped_modes)
    limits |= separate_limits
    return min(joint_limit, *separate_limits.values()), min(limits, key=limits.__getitem__)


def dt_of_waves(config: Config, extremes) -> float:
    """The time step for the waves of the initial state, s: DT_SAFETY_FACTOR times the largest stable one.

    If `time.cfl` is set, it is instead

        dt = cfl / ((speed + sqrt(g h)) sqrt(1/dx² + 1/dy²))

    with the speed of a current of the largest |u| and the largest |v|, the largest thickness h and the smallest sizes
    dx and dy of wet cells. This dt is infinite if all h, u and v are 0.
    """
    if config.time.cfl is None:
        return DT_SAFETY_FACTOR * max_stable_dt(config, extremes)[0]
    dx, dy = (extremes.ranges[name][0] for name in ("dx", "dy"))
    speed = math.hypot(extremes.max_abs("u"), extremes.max_abs("v"))
    speed += math.sqrt(config.physics.gravity * extremes.max_abs("h"))
    return config.time.cfl / (speed * math.sqrt(1 / dx**2 + 1 / dy**2)) if speed else math.inf


def dt_from_state(config: Config, extremes) -> float:
    """`dt_of_waves`, but at most half the limit of damping and rotation and 0.8 of that of open boundaries, s."""
    rate, dt = fastest_rates(config, extremes), dt_of_waves(config, extremes)
    damping = -rate.friction - rate.drag
    radiation_limit = stable_dt_of_modes(config.time, Mode(0, damping - rate.radiation))
    return min(
        dt, 0.5 * stable_dt_of_modes(config.time, Mode(0, damping), Mode(0, 1j * rate.inertial)), 0.8 * radiation_limit
    )


def automatic_dt(config: Config, extremes) -> float:
    """The time step of `dt_from_state`, rounded down to a round number, s.

    It divides the intervals between records, spectra and restart files, and `run.days`. If their common divisor is
    shorter than the time step, the time step divides only `output.every`. If this is also shorter, or not set, the time
    step has DT_DIGITS significant digits. A time step that is zero or infinite is returned as it is.
    """
    dt, output = dt_from_state(config, extremes), config.output
    if not 0 < dt < math.inf:
        return dt
    intervals = (output.every, output.spectra, config.restart.every, DAY_SECONDS * (config.run.days or 0.0))
    lengths = [each for each in intervals if each]
    ticks = [round(each / TICK_SECONDS) for each in lengths]
    common_divisor = lengths[0] / max(1, ticks[0] // (math.gcd(*ticks) or 1)) if lengths else 0.0
    for interval in (common_divisor, output.every or 0.0):
        if interval >= dt:
            return dividing_dt(interval, dt, 1)[0]
    unit = 10.0 ** (math.floor(math.log10(dt)) + 1 - DT_DIGITS)
    return float(f"{math.floor(dt / unit) * unit:.{DT_DIGITS}g}")


def dividing_dt(every: float, dt: float, n_records: int) -> tuple[float, int]:
    """A time step of at most dt that divides `every`, and the number of its steps in `every`.

    It is the longest time step whose multiples have no rounding error at the times of `n_records` records, or a
    slightly shorter one with few digits; if all time steps that are tried have errors, the longest of them. Times in
    files are such multiples, and programs that convert them to dates would show a rounding error as a nanosecond.
    """

    def is_exact(n_steps: int) -> bool:
        return all(k * n_steps * (every / n_steps) == k * every for k in range(1, n_records + 1))

    def preference(n_steps: int) -> tuple[bool, int]:
        return len(repr(every / n_steps)) > MAX_PREFERRED_CHARACTERS, n_steps

    min_steps = math.ceil(every / dt)
    max_steps = max(min_steps, min(min_steps + MAX_CANDIDATES, int(min_steps * (1 + MAX_STEP_INCREASE))))
    candidates = sorted(range(min_steps, max_steps + 1), key=preference)
    best_steps = next(filter(is_exact, candidates), min_steps)
    return every / best_steps, best_steps


def stable_dt_of_modes(time, *modes: Mode) -> float:
    """The largest time step with which all of these modes are stable, s; `time` is the section [time].

    It is infinite if all rates are zero, and zero if a rate is not finite, as in a state that blows up.
    """
    if not np.isfinite([mode.size for mode in modes]).all():
        return 0.0
    method, nonzero_modes = method_of_options(time), [mode for mode in modes if mode.size]
    return min(
        (stability_limit(mode.scaled(1 / mode.size), method) / mode.size for mode in nonzero_modes), default=math.inf
    )
