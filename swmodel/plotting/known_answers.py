"""The picture of `swmodel verify`: how much of its tolerance each known answer takes."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from . import style

#: Inches of a row and of the figure; the least and the largest part of a tolerance that are shown.
ROW, WIDTH, LEAST, MOST = 0.19, 4.4, 1e-4, 30.0
RIGHT, WRONG = "#2166ac", "#b2182b"


def picture(found: dict) -> Figure:
    """The figure: a row for each name, with a point for each of its answers at its difference over its tolerance.

    Args:
        found: {name: answers}, each with `part` and `right`.
    """
    with mpl.rc_context(style.RC):
        figure = style.Picture(figsize=(WIDTH, ROW * len(found) + 0.9), layout="constrained")
        axes = figure.subplots()
        for row, answers in enumerate(found.values()):
            axes.axhline(row, color="0.9", lw=0.8, zorder=0)
            parts = np.clip([np.nan_to_num(each.part, nan=np.inf) for each in answers], LEAST, MOST)
            colours = [RIGHT if each.right else WRONG for each in answers]
            axes.scatter(parts, [row] * len(parts), s=14, c=colours, clip_on=False, zorder=2)
        axes.axvline(1.0, color=WRONG, lw=0.8, ls=(0, (4, 2)))
        axes.set(xscale="log", xlim=(LEAST, MOST), ylim=(len(found) - 0.5, -0.5))
        axes.set_yticks(range(len(found)), found)
        axes.tick_params(axis="y", length=0)
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.set_xlabel("difference, as a part of the tolerance")
    return figure
