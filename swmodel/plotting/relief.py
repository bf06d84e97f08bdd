"""The picture of a file of `swmodel grid`: depth, coasts, and what was closed."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np

from . import style
from .dataset import open_data
from .files import save
from .panels import draw, write_caption
from .record import read_map

#: Colour of the marks on what was closed.
MARK = "#d7301f"


def plot_grid(file) -> Path:
    """Draw the depth of a grid into a picture beside its file, with a mark on each cell that was closed."""
    file = Path(file)
    with open_data(file) as data, mpl.rc_context(style.RC):
        depth, closed = read_map(data, "depth"), read_map(data, "closed")
        figure, _ = draw([depth], [style.look([depth])])
        rows, columns = np.nonzero(np.ma.filled(closed.values, 0))
        if rows.size:
            axes = figure.axes[0]
            axes.scatter(closed.x[columns], closed.y[rows], s=5, marker="s", color=MARK, linewidths=0)
        marks = f"; {rows.size} cells that became land in red" if rows.size else ""
        write_caption(figure, f"{file.name}{marks}")
        return save(figure, file.with_suffix(".png"))
