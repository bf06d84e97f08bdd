"""Gradients by the native step: their bits by precision."""

from gradients import checked

from swmodel.gradients.check import fingerprint

PHASES = (((1, 1), (3, 1)), ((2, 2),))
SINGLE, DOUBLE = ("float32",), ("float64",)
PRECISIONS = {(1, 1): SINGLE + DOUBLE, (3, 1): SINGLE, (2, 2): DOUBLE}


def results(layout):
    """{precision: bits}."""
    made = {dtype: checked(layout, "native", dtype) for dtype in PRECISIONS[layout]}
    return {dtype: fingerprint(checks.problem, checks.gradient) for dtype, checks in made.items()}
