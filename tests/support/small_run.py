"""Small runs of the model: ten steps on 14 x 9 cells, with three records."""

import swmodel

SMALL_RUN_OPTIONS = {
    "grid.nx": 14, "grid.ny": 9, "run.executor": "reference", "time.dt": 18.0, "run.steps": 10,
    "output.every_steps": 5, "output.fields": ["h", "u", "v", "eta", "zeta", "q", "speed"],
    "output.means": ["eta"],
}  # fmt: skip


def write_small_run(folder, case="jet", **overrides):
    """Run a case on a small grid into a folder, and return the folder; overrides are written section__key=value."""
    options = SMALL_RUN_OPTIONS | {name.replace("__", "."): value for name, value in overrides.items()}
    swmodel.Simulation(swmodel.load(case, options, environ={})).run(folder)
    return folder
