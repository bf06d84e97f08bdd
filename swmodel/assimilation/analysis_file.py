"""Write analysis.nc: first guess, analysis and increment of controls, departures of observations, costs, errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..files.output.maps import write_maps
from ..files.output.metadata import FILL_VALUE, define_variable, time_attributes
from ..gradients.corrections import controls_with_records, record_times
from ..ocean.coordinates import axes
from ..ocean.table import CONTROLS, CORRECTIONS, INITIAL_FIELDS, variable_in_run
from ..ocean.variable import Variable
from ..setup.positions.stencils import OBSERVED_QUANTITIES

if TYPE_CHECKING:
    from ..config.options.model import Config

FORECAST_UNITS = {"eta": "m", "current": "m s-1"}

#: {ending of the name of a control's variable: what the variable holds, for its long name}.
KIND_LABELS = {
    "background": "first guess",
    "analysis": "analysis",
    "increment": "analysis minus first guess",
    "truth": "truth",
    "spread": "spread of the members",
}

ERROR_LABELS = {
    estimate: f"error of {{}} of the run from the {KIND_LABELS[estimate]}" for estimate in ("background", "analysis")
}
MEMBERS_ERROR_LABELS = {"analysis": "error of {} of the members' mean", "spread": "spread of {} of the members"}

ITERATION_LABELS = {
    "cost": "cost",
    "background": "first-guess term of the cost",
    "observations": "observation term of the cost",
    "gradient_norm": "norm of the gradient",
    "misfit": "rms of departures divided by observation errors",
}

CYCLE_LABELS = {
    "day": "time of the analysis since the start of the window",
    "observations": "number of observations",
    "background": "rms of departures from the members' mean divided by observation errors, before the analysis",
    "expected": "that rms as expected from the members' spread and the observation errors",
    "analysis": "rms of departures from the members' mean divided by observation errors, after the analysis",
}


def write_analysis(
    path, experiment, analysis: dict, departures: dict, results: dict, command_line="", impact=None, spread=None
) -> None:
    """Write the file completely or not at all; all processes call this together.

    Args:
        analysis: {control: analysed values}, fields on this process's block.
        departures: {"background" or "analysis": observation minus that estimate, [n], m or m s-1}.
        results: numbers for assimilation.json, from `assimilate.finish_4dvar` or `cycles.run_letkf`.
        impact: an `impact.ObservationImpact`, if known.
        spread: {control: standard deviation over the members}; only with letkf.
    """
    problem, observations = experiment.problem, experiment.observations
    config = problem.config
    variables_and_values: list[tuple[Variable, np.ndarray]] = []
    maps_on_boundary: list[str] = []
    for name in experiment.controls:
        values = {"background": np.asarray(experiment.first_guess[name]), "analysis": np.asarray(analysis[name])}
        values["increment"] = values["analysis"] - values["background"]
        values |= {"truth": experiment.truth[name]} if experiment.truth else {}
        values |= {"spread": spread[name]} if spread else {}
        variables = [control_variable(name, kind, config.physics) for kind in values]
        variables_and_values += zip(variables, values.values(), strict=True)
        maps_on_boundary += [variable.name for variable in variables if name not in INITIAL_FIELDS]

    def define(dataset) -> None:
        dataset.title = f"assimilation: {dataset.title}"
        define_observations(dataset, observations, departures, impact, config)
        define_rows(dataset, "iteration", results.get("iterations", ()), ITERATION_LABELS)
        define_rows(dataset, "cycle", results.get("cycles", ()), CYCLE_LABELS)
        if "twin" in results:
            define_forecast_errors(dataset, results["twin"]["forecast"], config.physics)
        for name in controls_with_records(experiment.controls):
            dimension = "time" if name in CORRECTIONS else "record"
            define_record_times(dataset, dimension, record_times(problem.domain.setup, name), config)
        for variable, value in variables_and_values:
            if not variable.location:
                attributes = {"long_name": variable.long_name, "units": variable.units}
                define_variable(
                    dataset, variable.name, ("record",) * np.ndim(value), attributes, np.asarray(value, np.float64)
                )

    maps = [(variable, values) for variable, values in variables_and_values if variable.location]
    write_maps(path, config, problem.transport, maps, define, command_line, maps_on_boundary, "time")


def define_record_times(dataset, dimension: str, seconds, config: Config) -> None:
    """Define a dimension of records and its coordinate variable, unless another control has defined them."""
    if dimension not in dataset.dimensions:
        dataset.createDimension(dimension, len(seconds))
        define_variable(
            dataset, dimension, (dimension,), {"standard_name": "time"} | time_attributes(config.time), seconds
        )


def control_variable(name: str, kind: str, physics) -> Variable:
    """The output variable of a control; `kind` is a key of KIND_LABELS. The location of a number is ""."""
    variable, location = variable_in_run(name, physics), CONTROLS[name].control_location
    standard_name = variable.standard_name if location and kind not in ("increment", "spread") else ""
    long_name = f"{variable.long_name if location else name.replace('_', ' ')}, {KIND_LABELS[kind]}"
    return Variable(f"{name}_{kind}", location, variable.units, standard_name, long_name)


def define_observations(dataset, observations, departures: dict, impact, config: Config) -> None:
    """Define the observations, their departures from first guess and analysis, and any impact on a quantity."""
    dataset.createDimension("observation", observations.size)
    grid_axes = axes(config.grid)
    units = {"units": grid_axes.x.unit}
    columns = {
        "observation_time": (observations.time, {"standard_name": "time"} | time_attributes(config.time)),
        "observation_x": (
            grid_axes.x.wrap(observations.x),
            {"long_name": f"{grid_axes.x.name} of the observation"} | units,
        ),
        "observation_y": (observations.y, {"long_name": f"{grid_axes.y.name} of the observation"} | units),
        "observation_quantity": (observations.quantity, {"long_name": "observed quantity"}),
        "observation_error": (observations.error, {"long_name": "standard deviation of the error, m or m s-1"}),
    }
    for estimate, values in departures.items():
        attributes = {"long_name": f"observation minus {KIND_LABELS[estimate]}, m or m s-1"}
        columns[f"departure_{estimate}"] = values, attributes
    if impact:
        quantity_name, unit = impact.quantity.long_name, impact.quantity.units
        attributes = {"long_name": f"impact of the observation on {quantity_name}", "units": unit}
        columns["observation_impact"] = impact.impact, attributes
        attributes = {"long_name": f"impact on {quantity_name} of a change of the observation, {unit} per m or m s-1"}
        columns["observation_sensitivity"] = impact.sensitivity, attributes
    for name, (values, attributes) in columns.items():
        kind = "i1" if name == "observation_quantity" else "f8"
        define_variable(dataset, name, ("observation",), attributes, values, kind)
    flags = {
        "flag_values": np.arange(len(OBSERVED_QUANTITIES), dtype="i1"),
        "flag_meanings": " ".join(OBSERVED_QUANTITIES),
    }
    dataset["observation_quantity"].setncatts(flags)


def define_rows(dataset, dimension: str, rows: list, labels: dict) -> None:
    """Define a variable for each of the `labels`, whose values are those of the rows; without rows define nothing."""
    if not rows:
        return
    dataset.createDimension(dimension, len(rows))
    for name, long_name in labels.items():
        values, units = [row[name] for row in rows], "days" if name == "day" else "1"
        attributes = {"long_name": long_name, "units": units}
        define_variable(dataset, f"{dimension}_{name}", (dimension,), attributes, values)


def define_forecast_errors(dataset, forecast: dict, physics) -> None:
    """Define the errors of `error_statistics.forecast_errors` over time."""
    dataset.createDimension("error_time", len(forecast["days"]))
    attributes = {"long_name": "time since the start of the window", "units": "days"}
    attributes["end_of_window"] = forecast["window_days"]
    define_variable(dataset, "error_time", ("error_time",), attributes, forecast["days"])
    names = {"eta": variable_in_run("eta", physics).long_name, "current": "current"}
    for name, units in FORECAST_UNITS.items():
        labels = ERROR_LABELS | (MEMBERS_ERROR_LABELS if "spread" in forecast[name] else {})
        for estimate, errors in forecast[name].items():
            for region, values in errors.items():
                words = f"rms {labels[estimate]}, {region}".format(names[name])
                attributes, variable = {"long_name": words, "units": units}, f"{name}_error_{estimate}_{region}"
                define_variable(dataset, variable, ("error_time",), attributes, values, fill_value=FILL_VALUE)
