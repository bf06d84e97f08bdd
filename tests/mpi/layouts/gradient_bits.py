"""Gradients by the native step: their bits."""

from gradients import checked

from swmodel.gradients.check import fingerprint

PHASES = (((1, 1), (3, 1)),)


def results(layout, dtype="float64"):
    """The bits."""
    checks = checked(layout, "earth", dtype)
    return fingerprint(checks.problem, checks.gradient)
