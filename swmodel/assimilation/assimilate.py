"""The task `assimilate`: compute an analysis from a first guess and observations, by 4D-Var or LETKF."""

from __future__ import annotations

import json
import logging
import math
import time
from pathlib import Path
from typing import TYPE_CHECKING

import jax.numpy as jnp
import numpy as np

from ..errors import NumericalError, Stopped
from ..files.draft import write_text
from ..files.run_folder import ANALYSIS, ASSIMILATION_FIGURE, ASSIMILATION_RESULTS
from ..files.status import dumps
from ..ocean.coordinates import max_cell_size
from ..ocean.table import CONTROLS
from ..parallel.environment import peak_memory
from ..parallel.stop import StopRequests
from . import checkpoint, cycles
from .analysis_file import FORECAST_UNITS, write_analysis
from .cost import CostFunction
from .error_statistics import errors_against_truth, forecast_states, rms, statistics_by_station
from .experiment import prepare_experiment
from .gauss_newton import OUTCOME_MEANINGS, IterationReport, Limits, MinimiserState, minimise
from .impact import observation_impact

if TYPE_CHECKING:
    from ..config.options.model import Config
    from ..parallel.transport.transport import Transport

#: Shortest correlation length that the grid resolves, in cells; largest number of stations in the summary.
MIN_LENGTH_CELLS, MAX_LISTED_STATIONS = 3, 5

log = logging.getLogger(__name__)


def compute(config: Config, directory, options, report, command_line, watch):
    """Assimilate observations; see `cli.tasks.TASK_MODULES`.

    Options:
        memory: largest memory of a process, bytes.
        resume: whether to continue from the progress that is saved in the folder.
    """
    directory, start_time = Path(directory), time.perf_counter()
    with StopRequests(config.run.walltime) as stop:
        monitor = ProgressMonitor(stop, config, directory, report)
        watch(lambda: monitor.n_pieces)
        variational = config.assimilation.method == "4dvar"
        experiment = prepare_experiment(
            config, directory, options.get("memory"), command_line, monitor.tick, variational
        )
        transport = monitor.transport = experiment.problem.transport
        length = config.assimilation.length
        if transport.rank == 0 and 0 < length < MIN_LENGTH_CELLS * max_cell_size(config.grid):
            log.warning("assimilation.length: %g m is less than three cells, so the grid cannot resolve it", length)
        method = run_4dvar if variational else cycles.run_letkf
        results = method(config, experiment, directory, options, command_line, monitor)
    results |= {"wall_seconds": time.perf_counter() - start_time, "nproc": transport.size}
    results["peak_bytes_per_rank"] = int(transport.reduce(np.asarray(peak_memory(), np.int64), "max"))
    if transport.rank == 0:
        write_text(directory / ASSIMILATION_RESULTS, dumps(results))
        if results.get("outcome") != "not finite":
            from ..plotting.maps import draw_results

            draw_results(directory / ANALYSIS)
    if (outcome := results.get("outcome")) in ("stalled", "indefinite", "not finite"):
        words = f"the minimisation ended early ({outcome}): {OUTCOME_MEANINGS[outcome]}"
        if monitor.iteration == 0:
            raise NumericalError(f"{words}; the cost did not decrease")
        if transport.rank == 0:
            log.warning("%s; the results are those with the lowest cost", words)


def run_4dvar(config: Config, experiment, directory, options, command_line, monitor) -> dict:
    """Run 4D-Var and write analysis.nc; returns the numbers for assimilation.json."""
    transport = experiment.problem.transport
    cost_function = monitor.cost_function = CostFunction(experiment)
    start = MinimiserState(cost_function.zero_vector())
    if options.get("resume") and (saved := checkpoint.load(directory, config, experiment.observations, transport)):
        start, monitor.history = from_checkpoint(*saved)
        monitor.iteration = start.iteration
    section = config.assimilation
    limits = Limits(section.gradient, section.outer, section.inner)
    result = minimise(
        cost_function.cost_and_gradient, monitor.hessian, cost_function.dot, start, limits, monitor.record_iteration
    )
    results = finish_4dvar(experiment, monitor, result, directory, command_line)
    return results | {"sweeps": cost_function.sweeps}


def to_checkpoint(progress: MinimiserState, history: list) -> tuple[dict, dict]:
    """The fields and the metadata from which a minimisation continues."""
    metadata = {"iteration": progress.iteration, "first_norm": progress.initial_gradient_norm, "history": history}
    return progress.w, metadata


def from_checkpoint(fields: dict, metadata: dict) -> tuple[MinimiserState, list]:
    """The MinimiserState and the history that `to_checkpoint` saved."""
    w = {name: jnp.asarray(values) for name, values in fields.items()}
    return MinimiserState(w, metadata["iteration"], metadata["first_norm"]), metadata["history"]


class ProgressMonitor:
    """Reports and saves the progress of an assimilation, and stops it on request.

    All processes call its methods together.

    Attributes:
        n_pieces: number of pieces of computation so far, which shows the watchdog that the assimilation advances.
        iteration: number of outer iterations, or of cycles with letkf, so far.
        round_name: what `iteration` counts, for messages.
        transport, cost_function: of the assimilation; set once they exist, `cost_function` only by 4D-Var.
    """

    transport: Transport
    cost_function: CostFunction

    def __init__(self, stop: StopRequests, config: Config, directory: Path, report):
        self.stop, self.config, self.directory, self.report = stop, config, directory, report
        self.n_pieces, self.iteration, self.n_inner, self.round_name = 0, 0, 0, "outer iteration"
        self.history: list[dict] = []

    def tick(self, transport: Transport):
        """Count a piece of computation; raise Stopped on request."""
        self.n_pieces += 1
        if reason := self.stop.reason(transport):
            progress = f"after {self.round_name} {self.iteration}"
            progress = progress if self.iteration else f"before the end of the first {self.round_name}"
            command = f"the same command and `--output {self.directory} --resume`"
            raise Stopped(f"stopped by {reason} {progress}; continue with {command}")

    def hessian(self, w, dw):
        """The product of the Hessian at w with dw; reports the inner iteration."""
        product = self.cost_function.hessian(w, dw)
        self.n_inner += 1
        self.report_progress(f"inner iteration {self.n_inner}")
        return product

    def record_iteration(self, event: IterationReport):
        """Add an outer iteration to the history, save the progress, and report it."""
        cost = event.cost
        row = {"iteration": event.iteration, "cost": cost.total, "background": cost.background}
        row |= {"observations": cost.observations, "misfit": cost.rms_misfit, "gradient_norm": event.gradient_norm}
        row |= {"inner": event.inner_iterations, "part": event.step_fraction}
        if event.inner_iterations or not self.history:
            self.history.append(row)
        if event.inner_iterations and event.step_fraction > 0:
            observations, transport = self.cost_function.observations, self.cost_function.problem.transport
            checkpoint.save(
                self.directory, *to_checkpoint(event.state, self.history), self.config, observations, transport
            )
        self.iteration, self.n_inner = event.state.iteration, 0
        self.report_progress(
            f"J {cost.total:.5g} = first-guess term {cost.background:.5g} + observation term {cost.observations:.5g}  "
            f"misfit {cost.rms_misfit:.3f}  gradient {event.gradient_norm:.3g} ({event.gradient_ratio:.1e})"
        )

    def report_progress(self, words: str, n_rounds: int = 0):
        """Report `words` on rank 0; `n_rounds`: number of cycles of letkf; 0: `assimilation.outer`, for 4D-Var."""
        if self.transport.rank == 0:
            self.report({"step": self.iteration, "steps": n_rounds or self.config.assimilation.outer, "words": words})


def finish_4dvar(experiment, monitor: ProgressMonitor, result, directory, command_line) -> dict:
    """Compute departures, impact and errors, and write analysis.nc; returns the numbers for assimilation.json.

    All processes call this together.
    """
    cost_function, w, observations = monitor.cost_function, result.state.w, experiment.observations
    analysis = cost_function.controls_at(w)
    departures = {
        "background": observations.value - cost_function.model_values(experiment.first_guess),
        "analysis": observations.value - cost_function.model_values(analysis),
    }
    results = {
        "outcome": result.outcome,
        "meaning": OUTCOME_MEANINGS[result.outcome],
        "controls": list(experiment.controls),
        "observations": observations.size,
        "iterations": monitor.history,
        "misfit": {estimate: rms(values / observations.error) for estimate, values in departures.items()},
    }
    is_finite, impact = all(math.isfinite(value) for value in results["misfit"].values()), None
    if is_finite and experiment.problem.config.assimilation.impact:
        impact = observation_impact(experiment, cost_function, w, monitor.hessian, monitor.tick)
    results["stations"] = statistics_by_station(observations, departures, impact and impact.impact)
    if impact:
        impact_results = {
            "quantity": experiment.problem.config.assimilation.impact,
            "long_name": impact.quantity.long_name,
            "units": impact.quantity.units,
        }
        impact_results |= {"background": impact.background, "analysis": impact.analysis, "linear": impact.linear_change}
        results["impact"] = impact_results | {"sum": float(impact.impact.sum())}
    if experiment.truth is not None and is_finite:
        runs = {"background": experiment.first_guess, "analysis": analysis}
        forecasts = {
            estimate: forecast_states(experiment, experiment.problem.config, x, monitor.tick)
            for estimate, x in runs.items()
        }
        results["twin"] = errors_against_truth(experiment, forecasts, monitor.tick, analysis)
    write_analysis(directory / ANALYSIS, experiment, analysis, departures, results, command_line, impact)
    return results


def summary(directory) -> str:
    results = json.loads((Path(directory) / ASSIMILATION_RESULTS).read_text())
    misfit, n = results["misfit"], results["observations"]
    words = (
        f"{iterations_summary(results)}, misfit of {n} observation{'s' * (n != 1)} {misfit['background']:.2f} "
        f"-> {misfit['analysis']:.2f} (1: as expected from their errors)"
    )
    errors = impact_summary(results) if "impact" in results else []
    errors += twin_summary(results["twin"]) if "twin" in results else []
    return "\n".join([words, *errors, f"{directory}: {ANALYSIS}, {ASSIMILATION_RESULTS}, {ASSIMILATION_FIGURE}"])


def iterations_summary(results) -> str:
    if "cycles" in results:
        last, n = results["cycles"][-1], len(results["cycles"])
        analyses = f"{n} {'analysis' if n == 1 else 'analyses'}"
        return f"{analyses} with {results['members']} members, the last on day {last['day']:.4g}"
    first, last = results["iterations"][0], results["iterations"][-1]
    outcome = {"iterations": "ended"}.get(results["outcome"], results["outcome"])
    min_cost = min(row["cost"] for row in results["iterations"])
    return f"{outcome} after outer iteration {last['iteration']}: cost {first['cost']:.5g} -> {min_cost:.5g}"


def impact_summary(results) -> list[str]:
    """Lines about the change of the quantity, and about the stations with the largest impact on it."""
    impact = results["impact"]
    change = impact["analysis"] - impact["background"]
    lines = [
        f"{impact['long_name']}: {impact['background']:.6g} -> {impact['analysis']:.6g} {impact['units']}, a change of "
        f"{change:.4g}; linear {impact['linear']:.4g}, sum of impacts {impact['sum']:.4g}"
    ]
    for row in results["stations"][:MAX_LISTED_STATIONS]:
        row_label = f"{row['observations']} of {row['quantity']} by {row['platform'] or 'unnamed platforms'}"
        lines.append(f"  impact of {row_label:40} {row['impact']:12.4g} {impact['units']}")
    return lines


def twin_summary(twin) -> list[str]:
    """Lines about the errors relative to the truth, first guess -> analysis."""
    unobserved_fraction, distance = twin["unobserved_part"], twin["unobserved_metres"]
    lines = [
        f"errors, first guess -> analysis; unobserved: the {unobserved_fraction:.0%} of cells more than "
        f"{distance / 1e3:.0f} km from any observation"
    ]
    for name, errors in twin["controls"].items():
        for region in errors["background"]:
            before, after = errors["background"][region], errors["analysis"][region]
            lines.append(error_line(f"{name} {region.replace('_', ' ')}", before, after, CONTROLS[name].units))
    forecast = twin["forecast"]
    end_of_window = int(np.argmin(np.abs(np.array(forecast["days"]) - forecast["window_days"])))
    for name, units in FORECAST_UNITS.items():
        for index in (0, end_of_window, -1):
            for region in forecast[name]["background"]:
                before, after = (forecast[name][estimate][region][index] for estimate in ("background", "analysis"))
                lines.append(error_line(f"{name} on day {forecast['days'][index]:.4g} {region}", before, after, units))
    return [words for words in lines if words]


def error_line(label: str, before: float | None, after: float | None, units: str) -> str:
    """A line with an error before and after; "" if the first is zero or either was not finite (null in JSON)."""
    if not before or after is None:
        return ""
    unit = "" if units == "1" else units
    return f"  {label:34} {before:10.4g} -> {after:10.4g} {unit:6}  ratio {after / before:.2f}"
