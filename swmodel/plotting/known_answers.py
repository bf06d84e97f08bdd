"""The picture of `swmodel verify`: how much of its tolerance each known answer takes."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from . import style

#: Inches of a row and of the figure; the least part of a tolerance that is shown.
ROW, WIDTH, LEAST = 0.17, 8.6, 1e-4
RIGHT, WRONG = "#2166ac", "#b2182b"


def picture(found: dict) -> Figure:
    """The figure: a point for each answer, at its difference over its tolerance, below its group's name.

    Args:
        found: {name: answers}, each with `what`, `part` and `right`.
    """
    rows = [row for name in found for row in [(name, None), *((name, answer) for answer in found[name])]]
    with mpl.rc_context(style.RC):
        figure = style.Picture(figsize=(WIDTH, ROW * len(rows) + 0.9), layout="constrained")
        axes = figure.subplots()
        for place, (_, answer) in enumerate(rows):
            if answer is None:
                axes.axhspan(place - 0.5, place + 0.5, color="0.95", lw=0, zorder=0)
                continue
            part = np.clip(np.nan_to_num(answer.part, nan=np.inf), LEAST, 30.0)
            axes.plot([LEAST, part], [place, place], color="0.85", lw=0.8, zorder=1)
            axes.plot(part, place, "o", ms=4, color=RIGHT if answer.right else WRONG, zorder=2)
        axes.axvline(1.0, color=WRONG, lw=0.8, ls=(0, (4, 2)))
        axes.set(xscale="log", xlim=(LEAST, 30.0), ylim=(len(rows) - 0.5, -0.5))
        axes.set_yticks(range(len(rows)), [name if answer is None else answer.what for name, answer in rows])
        for label, (_, answer) in zip(axes.get_yticklabels(), rows, strict=True):
            label.set(fontsize=6.5, fontweight="bold" if answer is None else "normal")
        axes.tick_params(axis="y", length=0)
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.set_xlabel("difference from the known answer, as a part of the tolerance")
    return figure
