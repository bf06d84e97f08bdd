"""A small run, written by the model: ten steps on 14 x 9 cells, three records."""

import swmodel

SMALL = {
    "grid.nx": 14, "grid.ny": 9, "run.executor": "reference", "time.dt": 18.0, "run.steps": 10,
    "output.every_steps": 5, "output.fields": ["h", "u", "v", "eta", "zeta", "q", "speed"],
    "output.means": ["eta"],
}  # fmt: skip


def make_run(directory, case="jet", **overrides):
    """Run a case on a small grid, with overrides as section__key=value; returns the run folder."""
    options = SMALL | {name.replace("__", "."): value for name, value in overrides.items()}
    swmodel.Simulation(swmodel.load(case, options, environ={})).run(directory)
    return directory
