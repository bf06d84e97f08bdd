"""A twin experiment of a few cells and steps."""

import swmodel

DAY = 86400.0


def small(case="double_gyre_twin", **overrides):
    """The configuration: 13 x 11 cells of 120 km, steps of two hours, 7 in the window and 5 after it."""
    sizes = {"grid.nx": 11, "grid.ny": 13, "grid.dx": 120e3, "grid.dy": 120e3, "physics.viscosity": 5e3}
    times = {"time.dt": DAY / 12, "run.steps": 7, "output.every_steps": 3, "assimilation.every_steps": 7}
    spans = {"case.spinup": 2.0, "case.lead": 0.5, "case.forecast": 5 / 12}
    return swmodel.load(case, sizes | times | spans | overrides, environ={})
