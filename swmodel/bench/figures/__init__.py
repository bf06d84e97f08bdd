"""Figures of results: speed-up beside the published curves, roofline, and one for each other kind of sweep."""

from __future__ import annotations

from pathlib import Path

import matplotlib

from ...plotting.style import RC
from ..numbers import numbers
from . import curves
from .roofline import roofline

#: Name of the files, the sweep that the figure shows, and the function that draws it.
FIGURES = (
    ("speedup", "table", curves.speedup),
    ("roofline", "table", roofline),
    ("strong", "strong", curves.scaling),
    ("weak", "weak", curves.scaling),
    ("sizes", "sizes", curves.sizes),
    ("halo", "halo", curves.halo),
    ("output", "output", curves.output),
    ("start", "start", curves.start),
)


def draw(records: list[dict], folder) -> list[Path]:
    """Draw all figures that the results allow, as PNG and PDF files in the folder; returns the files."""
    written = []
    with matplotlib.rc_context(RC):
        for name, sweep, function in FIGURES:
            chosen = [record for record in records if record["sweep"] == sweep and numbers(record)]
            figure = function(chosen) if chosen else None
            for kind in ("png", "pdf") if figure else ():
                path = Path(folder) / f"{name}.{kind}"
                figure.savefig(path, bbox_inches="tight", metadata={"CreationDate": None} if kind == "pdf" else None)
                written.append(path)
    return written
