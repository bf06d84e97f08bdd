"""The task `assimilate`: strong-constraint 4D-Var, from first guess and observations to an analysis."""

from __future__ import annotations

import json
import logging
import math
import time
from pathlib import Path

import numpy as np

from ..errors import NumericalError, Stopped
from ..files.run_folder import ANALYSIS
from ..files.status import dumps
from ..ocean.coordinates import largest_cell
from ..ocean.table import CONTROLS
from ..parallel.environment import peak_memory
from ..parallel.stop import Stop
from . import checkpoint
from .analysis_file import FORECAST, write_analysis
from .cost import CostFunction
from .error_statistics import Places, control_errors, forecast_errors
from .experiment import prepare
from .gauss_newton import OUTCOMES, Event, Limits, Progress, minimise

NAME, FIGURE = "assimilation.json", "assimilation.png"

#: Cells; the grid does not resolve shorter lengths of correlation.
SHORTEST = 3

log = logging.getLogger(__name__)


def compute(config, directory, options, report, command_line, watch):
    """Assimilate observations; see `cli.job.TASKS`.

    Options: `memory`, bytes that a process may hold; `resume`, continue from the iterations in the folder.
    """
    directory, begin = Path(directory), time.perf_counter()
    with Stop(config.run.walltime) as stop:
        guard = Guard(stop, directory)
        watch(lambda: guard.pieces)
        experiment = prepare(config, directory, options.get("memory"), command_line, guard)
        transport = experiment.problem.transport
        warn(config, transport)
        parts = experiment.problem, experiment.background, experiment.base, experiment.observations
        function = CostFunction(*parts, experiment.operator)
        record = guard.record = IterationRecord(function, config, directory, report)
        start = Progress(function.start())
        if options.get("resume"):
            if before := checkpoint.load(directory, config, parts[3], transport):
                start, record.history = before
                record.iteration = start.iteration
            elif transport.rank == 0:
                log.warning("no iterations in %s to go on from: starts from the first guess", directory)
        section = config.assimilation
        limits = Limits(section.gradient, section.outer, section.inner)
        result = minimise(function.cost_and_gradient, record.hessian, function.dot, start, limits, record.event)
        results = finish(experiment, function, result, record.history, directory, command_line, guard)
    results |= {"wall_seconds": time.perf_counter() - begin, "sweeps": function.sweeps, "nproc": transport.size}
    results["peak_bytes_per_rank"] = int(transport.reduce(np.asarray(peak_memory(), np.int64), "max"))
    if transport.rank == 0:
        (directory / NAME).write_text(dumps(results))
        if result.outcome != "not finite":
            from ..plotting.maps import draw_results

            draw_results(directory / ANALYSIS)
    if result.outcome in ("stalled", "indefinite", "not finite"):
        words = f"the minimisation ended early ({result.outcome}): {OUTCOMES[result.outcome]}"
        if result.progress.iteration == 0:
            raise NumericalError(f"{words}; the cost was not decreased at all")
        if transport.rank == 0:
            log.warning("%s; the results are those of the least cost found", words)


def warn(config, transport) -> None:
    """Log, once, what is allowed but hardly intended."""
    length, cell = config.assimilation.length, largest_cell(config.grid)
    if transport.rank == 0 and 0 < length < SHORTEST * cell:
        log.warning(
            "assimilation.length: %g m is less than three cells, and not the one that errors have on the grid",
            length,
        )


class Guard:
    """Called between pieces of computation, on all processes together: counts pieces, obeys requests to stop."""

    def __init__(self, stop: Stop, directory):
        self.stop, self.directory, self.pieces, self.record = stop, directory, 0, None

    def __call__(self, transport):
        self.pieces += 1
        if reason := self.stop.reason(transport):
            number = self.record.iteration if self.record else 0
            done = f"after {number} outer iterations" if number else "before the first iteration"
            raise Stopped(
                f"stopped by {reason} {done}; continue with the same command and `--output {self.directory} --resume`"
            )


class IterationRecord:
    """Reports the minimisation and writes its Progress, on all processes together."""

    def __init__(self, function: CostFunction, config, directory, report):
        self.function, self.config, self.directory, self._report = function, config, directory, report
        self.history, self.iteration, self._inner = [], 0, 0

    def hessian(self, w, dw):
        """The Hessian's product with dw; reports the inner iteration."""
        image = self.function.hessian(w, dw)
        self._inner += 1
        self._say(f"inner iteration {self._inner}")
        return image

    def event(self, event: Event):
        """Record an outer iteration, write the file, and report it."""
        cost = event.cost
        row = {"iteration": event.iteration, "cost": cost.total, "background": cost.background}
        row |= {"observations": cost.observations, "misfit": cost.misfit, "gradient_norm": event.gradient_norm}
        row |= {"inner": event.inner, "part": event.part}
        if event.inner or not self.history:
            self.history.append(row)
        if event.inner and event.part > 0:
            function, transport = self.function, self.function.problem.transport
            checkpoint.save(self.directory, event.progress, self.history, self.config, function.observations, transport)
        self.iteration, self._inner = event.progress.iteration, 0
        self._say(
            f"J {cost.total:.5g} = first guess {cost.background:.5g} + observations {cost.observations:.5g}  "
            f"misfit {cost.misfit:.3f}  gradient {event.gradient_norm:.3g} ({event.ratio:.1e})"
        )

    def _say(self, words: str):
        if self.function.problem.transport.rank == 0:
            self._report({"step": self.iteration, "steps": self.config.assimilation.outer, "words": words})


def finish(experiment, function, result, history, directory, command_line, tick) -> dict:
    """Write analysis.nc; returns the numbers for assimilation.json. Called by all processes together."""
    analysis = function.at(result.progress.w)
    observations = experiment.observations
    departures = {
        "background": observations.value - function.observed(experiment.base),
        "analysis": observations.value - function.observed(analysis),
    }
    results = {
        "outcome": result.outcome,
        "meaning": OUTCOMES[result.outcome],
        "controls": list(experiment.background.names),
        "observations": observations.size,
        "iterations": history,
        "misfit": {who: rms(values / observations.error) for who, values in departures.items()},
    }
    if experiment.truth is not None and all(math.isfinite(value) for value in results["misfit"].values()):
        places = Places(experiment.true_config, observations, experiment.problem.transport)
        results["twin"] = {
            "unobserved_metres": places.far,
            "unobserved_part": places.counts["unobserved"] / max(1, places.counts["everywhere"]),
            "controls": control_errors(experiment, analysis, places),
            "forecast": forecast_errors(experiment, analysis, places, tick),
        }
    write_analysis(directory / ANALYSIS, experiment, analysis, departures, results, command_line)
    return results


def rms(values) -> float:
    """Root mean square."""
    return float(np.sqrt(np.mean(np.square(values))))


def summary(directory) -> str:
    """The results in words."""
    results = json.loads((Path(directory) / NAME).read_text())
    first, last = results["iterations"][0], results["iterations"][-1]
    misfit, rows = results["misfit"], []
    ended = {"iterations": "ended"}.get(results["outcome"], results["outcome"])
    rows.append(
        f"{ended} after {last['iteration']} outer iterations: cost {first['cost']:.5g} -> "
        f"{min(row['cost'] for row in results['iterations']):.5g}, misfit of {results['observations']} observations "
        f"{misfit['background']:.2f} -> {misfit['analysis']:.2f} (1: as their errors say)"
    )
    if "twin" in results:
        rows += twin_summary(results["twin"])
    rows.append(f"{directory}: {ANALYSIS}, {NAME}, {FIGURE}")
    return "\n".join(rows)


def twin_summary(found) -> list[str]:
    """Errors against the truth, first guess -> analysis, as lines."""
    part, far = found["unobserved_part"], found["unobserved_metres"]
    lines = [f"errors, first guess -> analysis; unobserved: the {part:.0%} of cells over {far / 1e3:.0f} km from data"]
    for name, of in found["controls"].items():
        for where in of["background"]:
            both = of["background"][where], of["analysis"][where]
            lines.append(line(f"{name} {where.replace('_', ' ')}", *both, CONTROLS[name].units))
    forecast = found["forecast"]
    window = int(np.argmin(np.abs(np.array(forecast["days"]) - forecast["window_days"])))
    for name, units in FORECAST.items():
        for number in (0, window, -1):
            for where in forecast[name]["background"]:
                both = (forecast[name][who][where][number] for who in ("background", "analysis"))
                lines.append(line(f"{name} on day {forecast['days'][number]:.4g} {where}", *both, units))
    return [words for words in lines if words]


def line(words: str, before: float | None, after: float | None, units: str) -> str:
    """One error with its units, before and after; nothing if there is neither."""
    if not before:
        return ""
    part = f"{after / before:8.2f} of it"
    return f"  {words:34} {before:10.4g} -> {after:10.4g} {'' if units == '1' else units:6}{part}"
