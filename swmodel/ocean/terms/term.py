"""A term of the equations as one object: its options, its fields, its tendency and other properties."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..variable import Variable

#: Processes that limit the time step: damping of all motion, damping of the shortest waves, upwind transport.
PROCESSES = ("drag", "friction", "transport")


@dataclass(frozen=True, eq=False)
class Term:
    """A term of the equations, equal only to itself.

    A Scheme refers to it by its name, which is also that of its section of the configuration.

    Attributes:
        tendency: function of (flow: Flow, params: {name: Patch}, now: Instant) to {prognostic field: Patch}, SI units.
        coefficients: its numbers or fields; those with a `key` can be numbers of the configuration.
        rate_over_step: in place of a tendency, function of (flow, params, step: timestep.WholeStep) to {prognostic
            field: Patch}, the change over a forward-backward step divided by its length. The step may be None.
        damping: function of the same arguments as `tendency` to {"u": k, "v": k}, rates k, s-1, of its tendency - k u,
            which wetting and drying treats implicitly where they are fast.
        bernoulli_potential: in place of a tendency, function of the same arguments to a Patch at centres, m2 s-2, which
            is added to the pressure g (h - H).
        boundary_flux: function like `tendency` to the arguments of `Flow.set_boundary_flux`, for open boundaries.
        barrier_flux: function like `tendency` to the transports over barriers on u and on v faces, m3 s-1.
        barrier_accelerations: function like `tendency`, of the Flow whose thickness gives the pressure, to the
            accelerations {"u": ..., "v": ...} of the velocities over their crests.
        options: class of its section of the configuration.
        is_active: function of its section: whether the term acts. Without this function, it does if a coefficient is a
            field or not 0.
        problems: function of a configuration that yields messages about wrong options, also of an inactive term.
        unused_coefficients: function of a configuration to the names of coefficients without effect in its run.
        unsupported_reason: function of a Scheme to the reason why the term cannot run with it; "" if it can.
        fields: its fields and numbers in the params besides the coefficients.
        build: function of (config, rows, columns) to {name: float64 values} of `fields`, for any rows and columns.
        prognostic: fields that it adds to the State.
        initial: initial fields that a case, a file or Python gives: prognostic ones, or contents divided by h.
        to_prognostic: function of {name: values} of h and of the initial fields to {prognostic field: values}.
        rate: function of ({name: values}, dx, dy) to its rate, s-1, for the time-step limit. Values are arrays of
            coefficients, gravity, built fields, h and the sizes of u and v in a cell; dx, dy are its lengths, m.
        process: the process with that rate, one of PROCESSES.
        parameters: `parametric.ParameterLayout` of the parameters of a user-defined term; None if it has none.
        is_smooth: whether its tendency has continuous derivatives; `check-gradient` depends on it.
        is_freshwater: whether the water that its tendency of h adds or takes has no dissolved substances.
        is_wind: whether its tendency is an acceleration by the wind, which wetting and drying reduces in thin layers.
        acts_at_rest: whether it changes dry ground or thin water that stands still, which the native step otherwise
            leaves out.
        acts_only_in_time: whether it acts only where a coefficient varies in time.
    """

    name: str
    tendency: Callable[..., Any] = lambda flow, params, now: {}
    coefficients: tuple[Variable, ...] = ()
    rate_over_step: Callable | None = None
    damping: Callable | None = None
    bernoulli_potential: Callable | None = None
    boundary_flux: Callable | None = None
    barrier_flux: Callable | None = None
    barrier_accelerations: Callable | None = None
    options: type | None = None
    is_active: Callable | None = None
    problems: Callable | None = None
    unused_coefficients: Callable | None = None
    unsupported_reason: Callable | None = None
    fields: tuple[Variable, ...] = ()
    build: Callable | None = None
    prognostic: tuple[Variable, ...] = ()
    initial: tuple[Variable, ...] = ()
    to_prognostic: Callable | None = None
    rate: Callable | None = None
    process: str = "drag"
    parameters: Any = None
    is_smooth: bool = True
    is_freshwater: bool = False
    is_wind: bool = False
    acts_at_rest: bool = False
    acts_only_in_time: bool = False
