"""Report progress, measure the cost, and stop on request, between the pieces of a gradient."""

from __future__ import annotations

import contextlib
import time

import jax.numpy as jnp
import numpy as np
from jax import monitoring

from ..errors import NumericalError, Stopped
from ..parallel.stop import StopRequests

#: Time between two reports, s.
REPORT_SECONDS = 5.0


class SweepMonitor:
    """The function that a Problem's `TrajectorySweeps` call after each piece of a gradient, on all processes together.

    It counts the pieces (`n_pieces`), and the `seconds` that each kind of piece takes without compilation.
    """

    def __init__(self, problem, stop: StopRequests, report):
        self.steps, self.transport, self.stop, self.report = problem.steps, problem.transport, stop, report
        self.n_pieces = 0
        self._compilations: list[tuple[float, float]] = []
        self.seconds = dict.fromkeys(("forward", "recompute", "backward"), 0.0)
        self._last_report = -np.inf

    @contextlib.contextmanager
    def measure_compilation(self):
        """A context in which compilation is timed."""

        def listen(event: str, duration_secs: float, **more: str | int) -> None:
            if event.startswith("/jax/core/compile/") and "trace" not in event:  # traces are nested
                self._compilations.append((time.perf_counter(), duration_secs))

        monitoring.register_event_duration_secs_listener(listen)
        try:
            yield
        finally:
            monitoring.unregister_event_duration_listener(listen)

    def compile_seconds(self, since: float = -np.inf) -> float:
        """Seconds of the compilations that ended after `since`, s by time.perf_counter, in `measure_compilation`."""
        return sum(seconds for end, seconds in self._compilations if end > since)

    def __call__(self, kind: str, step: int, result, start_time: float):
        """Count a piece of a kind (forward, recompute, backward) that ended at a step; report every few seconds.

        Raises:
            NumericalError: the thickness is not finite after a forward piece.
            Stopped: a signal or the wall-clock limit stops the gradient.
        """
        self.seconds[kind] += time.perf_counter() - start_time - self.compile_seconds(start_time)
        self.n_pieces += 1
        if kind == "forward" and self.transport.any(not jnp.isfinite(result[0].h).all()):
            raise NumericalError(f"the run blew up by step {step}; `swmodel run` shows where and why")
        if reason := self.stop.reason(self.transport):
            raise Stopped(f"stopped by {reason} during the {kind} sweep, at step {step}; nothing was saved")
        now = time.monotonic()
        is_due = step in (0, self.steps) or now > self._last_report + REPORT_SECONDS
        if self.transport.rank == 0 and kind != "recompute" and is_due:
            steps_done = step if kind == "forward" else 2 * self.steps - step
            self.report({"step": steps_done, "steps": 2 * self.steps, "words": f"{kind}, step {step} of {self.steps}"})
            self._last_report = now

    def costs(self) -> dict:
        """The seconds of forward sweep, whole gradient and compilation, and the ratio of the second to the first."""
        forward, gradient = self.seconds["forward"], sum(self.seconds.values())
        return {
            "forward_seconds": forward,
            "gradient_seconds": gradient,
            "gradient_over_forward": gradient / forward if self.n_pieces else None,
            "compile_seconds": self.compile_seconds(),
        }
