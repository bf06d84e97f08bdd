"""The task `assimilate`: from first guess and observations to an analysis, by 4D-Var or LETKF."""

from __future__ import annotations

import json
import logging
import math
import time
from pathlib import Path

import jax.numpy as jnp
import numpy as np

from ..errors import NumericalError, Stopped
from ..files.draft import write_text
from ..files.run_folder import ANALYSIS
from ..files.status import dumps
from ..ocean.coordinates import largest_cell
from ..ocean.table import CONTROLS
from ..parallel.environment import peak_memory
from ..parallel.stop import Stop
from . import checkpoint, cycles
from .analysis_file import FORECAST, write_analysis
from .cost import CostFunction
from .error_statistics import against_truth, by_station, course_of, rms
from .experiment import prepare
from .gauss_newton import OUTCOMES, Event, Limits, Progress, minimise
from .impact import impact_of

NAME, FIGURE = "assimilation.json", "assimilation.png"

#: Cells in the shortest correlation length that the grid resolves; stations in the summary.
SHORTEST, MOST = 3, 5

log = logging.getLogger(__name__)


def compute(config, directory, options, report, command_line, watch):
    """Assimilate observations; see `cli.job.TASKS`.

    Options: `memory`, most bytes in a process; `resume`, whether to continue from what is in the folder.
    """
    directory, begin = Path(directory), time.perf_counter()
    with Stop(config.run.walltime) as stop:
        course = Course(stop, config, directory, report)
        watch(lambda: course.pieces)
        variational = config.assimilation.method == "4dvar"
        experiment = prepare(config, directory, options.get("memory"), command_line, course.tick, variational)
        transport = course.transport = experiment.problem.transport
        length = config.assimilation.length
        if transport.rank == 0 and 0 < length < SHORTEST * largest_cell(config.grid):
            log.warning("assimilation.length: %g m is less than three cells, which the grid cannot resolve", length)
        method = fit if variational else cycles.filtered
        results = method(config, experiment, directory, options, command_line, course)
    results |= {"wall_seconds": time.perf_counter() - begin, "nproc": transport.size}
    results["peak_bytes_per_rank"] = int(transport.reduce(np.asarray(peak_memory(), np.int64), "max"))
    if transport.rank == 0:
        write_text(directory / NAME, dumps(results))
        if results.get("outcome") != "not finite":
            from ..plotting.maps import draw_results

            draw_results(directory / ANALYSIS)
    if (outcome := results.get("outcome")) in ("stalled", "indefinite", "not finite"):
        words = f"the minimisation ended early ({outcome}): {OUTCOMES[outcome]}"
        if course.iteration == 0:
            raise NumericalError(f"{words}; the cost did not decrease")
        if transport.rank == 0:
            log.warning("%s; the results are those of the least cost", words)


def fit(config, experiment, directory, options, command_line, course) -> dict:
    """The fit by 4D-Var; writes analysis.nc, and returns the numbers for assimilation.json."""
    transport = experiment.problem.transport
    function = course.function = CostFunction(experiment)
    start = Progress(function.start())
    if options.get("resume") and (before := checkpoint.load(directory, config, experiment.observations, transport)):
        start, course.history = taken_up(*before)
        course.iteration = start.iteration
    section = config.assimilation
    limits = Limits(section.gradient, section.outer, section.inner)
    result = minimise(function.cost_and_gradient, course.hessian, function.dot, start, limits, course.event)
    results = finish(experiment, course, result, directory, command_line)
    return results | {"sweeps": function.sweeps}


def kept(progress: Progress, history: list) -> tuple[dict, dict]:
    """The fields and the numbers from which a minimisation continues."""
    return progress.w, {"iteration": progress.iteration, "first_norm": progress.first_norm, "history": history}


def taken_up(fields: dict, about: dict) -> tuple[Progress, list]:
    """The Progress and the history that were `kept`."""
    w = {name: jnp.asarray(values) for name, values in fields.items()}
    return Progress(w, about["iteration"], about["first_norm"]), about["history"]


class Course:
    """Stops, reports and files of Progress during an assimilation; all processes call its methods together."""

    def __init__(self, stop: Stop, config, directory: Path, report):
        self.stop, self.config, self.directory, self.report = stop, config, directory, report
        self.function, self.history, self.pieces, self.iteration, self.inner = None, [], 0, 0, 0
        self.transport, self.rounds = None, "outer iterations"

    def tick(self, transport):
        """Count a piece of computation, and stop on request."""
        self.pieces += 1
        if reason := self.stop.reason(transport):
            done = (
                f"after {self.iteration} {self.rounds}" if self.iteration else f"before the first of the {self.rounds}"
            )
            again = f"the same command and `--output {self.directory} --resume`"
            raise Stopped(f"stopped by {reason} {done}; continue with {again}")

    def hessian(self, w, dw):
        """The Hessian's product with dw; reports the inner iteration."""
        image = self.function.hessian(w, dw)
        self.inner += 1
        self.say(f"inner iteration {self.inner}")
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
            seen, transport = self.function.observations, self.function.problem.transport
            checkpoint.save(self.directory, *kept(event.progress, self.history), self.config, seen, transport)
        self.iteration, self.inner = event.progress.iteration, 0
        self.say(
            f"J {cost.total:.5g} = first guess {cost.background:.5g} + observations {cost.observations:.5g}  "
            f"misfit {cost.misfit:.3f}  gradient {event.gradient_norm:.3g} ({event.ratio:.1e})"
        )

    def say(self, words: str, rounds: int = 0):
        """Report words, once."""
        if self.transport.rank == 0:
            self.report({"step": self.iteration, "steps": rounds or self.config.assimilation.outer, "words": words})


def finish(experiment, course: Course, result, directory, command_line) -> dict:
    """Write analysis.nc; returns the numbers for assimilation.json. All processes call it together."""
    function, w, observations = course.function, result.progress.w, experiment.observations
    analysis = function.at(w)
    departures = {
        "background": observations.value - function.observed(experiment.base),
        "analysis": observations.value - function.observed(analysis),
    }
    results = {
        "outcome": result.outcome,
        "meaning": OUTCOMES[result.outcome],
        "controls": list(experiment.controls),
        "observations": observations.size,
        "iterations": course.history,
        "misfit": {who: rms(values / observations.error) for who, values in departures.items()},
    }
    finite = all(math.isfinite(value) for value in results["misfit"].values())
    wanted = finite and experiment.problem.config.assimilation.impact
    found = impact_of(experiment, function, w, course.hessian, course.tick) if wanted else None
    results["stations"] = by_station(observations, departures, found and found.impact)
    if found:
        about = {"quantity": wanted, "long_name": found.quantity.long_name, "units": found.quantity.units}
        about |= {"background": found.background, "analysis": found.analysis, "linear": found.linear}
        results["impact"] = about | {"sum": float(found.impact.sum())}
    if experiment.truth is not None and finite:
        runs = {"background": experiment.base, "analysis": analysis}
        courses = {who: course_of(experiment, experiment.problem.config, x, course.tick) for who, x in runs.items()}
        results["twin"] = against_truth(experiment, courses, course.tick, analysis)
    write_analysis(directory / ANALYSIS, experiment, analysis, departures, results, command_line, found)
    return results


def summary(directory) -> str:
    """The results in words."""
    results = json.loads((Path(directory) / NAME).read_text())
    misfit = results["misfit"]
    words = (
        f"{course_in_words(results)}, misfit of {results['observations']} observations {misfit['background']:.2f} -> "
        f"{misfit['analysis']:.2f} (1: as their errors)"
    )
    errors = impact_summary(results) if "impact" in results else []
    errors += twin_summary(results["twin"]) if "twin" in results else []
    return "\n".join([words, *errors, f"{directory}: {ANALYSIS}, {NAME}, {FIGURE}"])


def course_in_words(results) -> str:
    """The iterations, or the cycles."""
    if "cycles" in results:
        last = results["cycles"][-1]
        return f"{len(results['cycles'])} analyses with {results['members']} members, the last on day {last['day']:.4g}"
    first, last = results["iterations"][0], results["iterations"][-1]
    ended = {"iterations": "ended"}.get(results["outcome"], results["outcome"])
    least = min(row["cost"] for row in results["iterations"])
    return f"{ended} after {last['iteration']} outer iterations: cost {first['cost']:.5g} -> {least:.5g}"


def impact_summary(results) -> list[str]:
    """The change of the quantity, and the stations with the largest impact on it, as lines."""
    found = results["impact"]
    change = found["analysis"] - found["background"]
    lines = [
        f"{found['long_name']}: {found['background']:.6g} -> {found['analysis']:.6g} {found['units']}, a change of "
        f"{change:.4g}; linear {found['linear']:.4g}, sum of impacts {found['sum']:.4g}"
    ]
    for row in results["stations"][:MOST]:
        what = f"{row['observations']} of {row['quantity']} by {row['platform'] or 'unnamed platforms'}"
        lines.append(f"  impact of {what:40} {row['impact']:12.4g} {found['units']}")
    return lines


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
    """One error with its units, before and after; "" for none, or if it is not finite, null in JSON."""
    if not before or after is None:
        return ""
    part = f"{after / before:8.2f} of it"
    return f"  {words:34} {before:10.4g} -> {after:10.4g} {'' if units == '1' else units:6}{part}"
