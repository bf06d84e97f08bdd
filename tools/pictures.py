"""Draws the pictures and the film of the gallery (docs/gallery.md): every case run as its command says, some minutes.

python tools/pictures.py [CASE ...]
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

from swmodel.cases import names

FOLDER = Path(__file__).parents[1] / "docs" / "images" / "cases"
#: Cases that are assimilated (docs/assimilation.md has their picture), and what others are run and drawn with.
LEFT_OUT = {"double_gyre_twin", "double_gyre_drag"}
RUN = {
    "hurricane": ["--days", "1"],
    "jet": ["-s", "physics.viscosity=100", "--days", "10", "-s", "output.every=6 h"],
}
PLOT = {
    "inertial": ["--diagnostics"],
    "double_gyre": ["--field", "eta", "--field", "speed"],
    "hurricane": ["--field", "eta", "--field", "speed", "--arrows"],
    "galewsky": ["--field", "zeta", "--arrows"],
    "steady_zonal": ["--field", "u", "--field", "eta"],
    "rest": ["--field", "depth", "--field", "eta"],
}
FILM = "jet"


def swmodel(*words) -> None:
    """Run a command of swmodel."""
    subprocess.run([sys.executable, "-m", "swmodel", *map(str, words)], check=True)


def draw(case: str) -> None:
    """Run a case and draw its last record; of FILM, all records."""
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / case
        swmodel("run", case, "--output", run, *RUN.get(case, []))
        picture = FOLDER / f"{case}.png"
        swmodel("plot", run, "--output", picture, *PLOT.get(case, []))
        Image.open(picture).convert("RGB").quantize(256).save(picture, optimize=True)  # a third of the size
        if case == FILM:
            swmodel("animate", run, "--field", "zeta", "--output", FOLDER / f"{case}.mp4")


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for each in sys.argv[1:] or sorted(set(names()) - LEFT_OUT):
        draw(each)
