"""The picture of `swmodel verify`: the fraction of its tolerance that each comparison uses."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from . import style

#: Height of a row and width of the figure, inches; smallest and largest fraction of a tolerance that are shown.
ROW_INCHES, WIDTH_INCHES, MIN_FRACTION_OF_TOLERANCE, MAX_FRACTION_OF_TOLERANCE = 0.19, 4.4, 1e-4, 30.0
PASSED_COLOUR, FAILED_COLOUR = "#2166ac", "#b2182b"


def draw_comparisons(comparisons_by_test: dict) -> Figure:
    """The figure: a row for each test, with a point for each Comparison at its difference over its tolerance.

    `comparisons_by_test`: {name of a test: its Comparisons}.
    """
    with mpl.rc_context(style.RC_PARAMS):
        figure = style.NotebookFigure(
            figsize=(WIDTH_INCHES, ROW_INCHES * len(comparisons_by_test) + 0.9), layout="constrained"
        )
        axes = figure.subplots()
        for row, comparisons in enumerate(comparisons_by_test.values()):
            axes.axhline(row, color="0.9", lw=0.8, zorder=0)
            fractions = np.clip(
                [np.nan_to_num(each.fraction_of_tolerance, nan=np.inf) for each in comparisons],
                MIN_FRACTION_OF_TOLERANCE,
                MAX_FRACTION_OF_TOLERANCE,
            )
            colours = [PASSED_COLOUR if each.passed else FAILED_COLOUR for each in comparisons]
            axes.scatter(fractions, [row] * len(fractions), s=14, c=colours, clip_on=False, zorder=2)
        axes.axvline(1.0, color=FAILED_COLOUR, lw=0.8, ls=(0, (4, 2)))
        axes.set(
            xscale="log",
            xlim=(MIN_FRACTION_OF_TOLERANCE, MAX_FRACTION_OF_TOLERANCE),
            ylim=(len(comparisons_by_test) - 0.5, -0.5),
        )
        axes.set_yticks(range(len(comparisons_by_test)), comparisons_by_test)
        axes.tick_params(axis="y", length=0)
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.set_xlabel("difference / tolerance")
    return figure
