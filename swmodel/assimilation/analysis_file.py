"""analysis.nc: first guess, analysis and increment of the controls, departures of observations, costs, errors."""

from __future__ import annotations

import numpy as np

from ..files.output.maps import write_maps
from ..files.output.metadata import FILL, define_variable, times_of
from ..gradients.corrections import times, with_records
from ..ocean.coordinates import axes
from ..ocean.table import CONTROLS, CORRECTIONS, INITIAL, entry_of
from ..ocean.variable import Variable
from ..setup.positions.stencils import QUANTITIES

#: Units of the errors over time.
FORECAST = {"eta": "m", "current": "m s-1"}

WORDS = {
    "background": "first guess",
    "analysis": "analysis",
    "increment": "analysis minus first guess",
    "truth": "truth",
    "spread": "spread of the members",
}

#: What is drawn over time.
PHRASES = {who: f"error of {{}} of the run from the {WORDS[who]}" for who in ("background", "analysis")}
PHRASES["spread"] = "spread of {} of the members"

#: Numbers of each outer iteration.
ITERATION = {
    "cost": "cost",
    "background": "part of the cost from the first guess",
    "observations": "part of the cost from observations",
    "gradient_norm": "norm of the gradient",
    "misfit": "rms of departures over their errors",
}


#: Numbers of each cycle of a filter.
CYCLE = {
    "day": "time of the analysis, days since the start of the window",
    "observations": "number of observations",
    "background": "rms over their errors of departures from the members' mean, before the analysis",
    "expected": "the same as expected from the members' spread and the errors",
    "analysis": "rms over their errors of departures from the members' mean, after the analysis",
}


def write_analysis(
    path, experiment, analysis: dict, departures: dict, results: dict, command_line="", impact=None, spread=None
) -> None:
    """Write the file, whole or not at all; all processes call it together.

    `impact`: an `impact.Impact`, if known; `spread`: that of members, by control.
    """
    problem, observations = experiment.problem, experiment.observations
    config = problem.config
    kinds = [
        "background",
        "analysis",
        "increment",
        *(["truth"] if experiment.truth else []),
        *(["spread"] if spread else []),
    ]
    everything, static = [], []
    for name in experiment.controls:
        values = {"background": np.asarray(experiment.base[name]), "analysis": np.asarray(analysis[name])}
        values["increment"] = values["analysis"] - values["background"]
        values |= {"truth": experiment.truth[name]} if experiment.truth else {}
        values |= {"spread": spread[name]} if spread else {}
        entries = [variable_of(name, kind, config.physics) for kind in kinds]
        everything += zip(entries, (values[kind] for kind in kinds), strict=True)
        static += [entry.name for entry in entries if name not in INITIAL]

    def define(dataset) -> None:
        dataset.title = f"assimilation: {dataset.title}"
        put_observations(dataset, observations, departures, impact, config)
        put_rows(dataset, "iteration", results.get("iterations", ()), ITERATION)
        put_rows(dataset, "cycle", results.get("cycles", ()), CYCLE)
        if "twin" in results:
            put_forecast(dataset, results["twin"]["forecast"], config.physics)
        for name in with_records(experiment.controls):
            put_times(dataset, axis_of(name), times(problem.domain.setup, name), config)
        for entry, value in everything:
            if not entry.location:
                about = {"long_name": entry.long_name, "units": entry.units}
                define_variable(dataset, entry.name, ("record",) * np.ndim(value), about, np.asarray(value, np.float64))

    maps = [(entry, values) for entry, values in everything if entry.location]
    write_maps(path, config, problem.transport, maps, define, command_line, static, "time")


def axis_of(name: str) -> str:
    """The dimension of a control's records."""
    return "time" if name in CORRECTIONS else "record"


def put_times(dataset, axis: str, seconds, config) -> None:
    """A dimension of records with their times, which controls may share."""
    if axis not in dataset.dimensions:
        dataset.createDimension(axis, len(seconds))
        define_variable(dataset, axis, (axis,), {"standard_name": "time"} | times_of(config.time), seconds)


def variable_of(name: str, of: str, physics) -> Variable:
    """The variable of a control; its location is empty for a number."""
    entry, location = entry_of(name, physics), CONTROLS[name].control_location
    standard_name = entry.standard_name if location and of not in ("increment", "spread") else ""
    long_name = f"{entry.long_name if location else name.replace('_', ' ')}, {WORDS[of]}"
    return Variable(f"{name}_{of}", location, entry.units, standard_name, long_name)


def put_observations(dataset, observations, departures: dict, impact, config) -> None:
    """The observations, departures of first guess and analysis, and the impact on a quantity, if known."""
    dataset.createDimension("observation", observations.size)
    along = axes(config.grid)
    units = {"units": along.x.unit}
    columns = {
        "observation_time": (observations.time, {"standard_name": "time"} | times_of(config.time)),
        "observation_x": (along.x.within(observations.x), {"long_name": f"{along.x.name} of the observation"} | units),
        "observation_y": (observations.y, {"long_name": f"{along.y.name} of the observation"} | units),
        "observation_quantity": (observations.quantity, {"long_name": "observed quantity"}),
        "observation_error": (observations.error, {"long_name": "standard deviation of the error, m or m s-1"}),
    }
    for who, values in departures.items():
        columns[f"departure_{who}"] = values, {"long_name": f"observation minus {WORDS[who]}, m or m s-1"}
    if impact:
        of, unit = impact.quantity.long_name, impact.quantity.units
        about = {"long_name": f"impact of the observation on {of}", "units": unit}
        columns["observation_impact"] = impact.impact, about
        about = {"long_name": f"impact on {of} of a change of the observation, {unit} per m or m s-1"}
        columns["observation_sensitivity"] = impact.sensitivity, about
    for name, (values, about) in columns.items():
        kind = "i1" if name == "observation_quantity" else "f8"
        define_variable(dataset, name, ("observation",), about, values, kind)
    flags = {"flag_values": np.arange(len(QUANTITIES), dtype="i1"), "flag_meanings": " ".join(QUANTITIES)}
    dataset["observation_quantity"].setncatts(flags)


def put_rows(dataset, kind: str, rows: list, words: dict) -> None:
    """Numbers of each outer iteration, or of each cycle."""
    if rows:
        dataset.createDimension(kind, len(rows))
    for name, long_name in words.items() if rows else ():
        values, about = [row[name] for row in rows], {"long_name": long_name, "units": "1"}
        define_variable(dataset, f"{kind}_{name}", (kind,), about, values)


def put_forecast(dataset, forecast: dict, physics) -> None:
    """Errors against the truth over time, in a twin experiment."""
    dataset.createDimension("error_time", len(forecast["days"]))
    about = {"long_name": "time since the start of the window", "units": "days"}
    about["end_of_window"] = forecast["window_days"]
    define_variable(dataset, "error_time", ("error_time",), about, forecast["days"])
    names = {"eta": entry_of("eta", physics).long_name, "current": "current"}
    for name, units in FORECAST.items():
        for who, of in forecast[name].items():
            for where, values in of.items():
                words = f"rms {PHRASES[who]}, {where}".format(names[name])
                about, variable = {"long_name": words, "units": units}, f"{name}_error_{who}_{where}"
                define_variable(dataset, variable, ("error_time",), about, values, fill=FILL)
