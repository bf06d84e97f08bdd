"""Draws the pictures and the film of the gallery (docs/gallery.md): every case run as its command says, some minutes.

python tools/pictures.py [CASE ...]
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib as mpl
import netCDF4
from matplotlib.figure import Figure
from PIL import Image

from swmodel.cases import names
from swmodel.cases.chile2010 import recorded
from swmodel.plotting import style

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
    "salish_sea": ["--field", "eta", "--arrows", "--record", "87"],
    "soliton": ["--field", "eta", "--arrows", "--record", "3"],
    "rest": ["--field", "depth", "--field", "eta"],
    "chile2010": ["--maxima"],
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
        if case == "chile2010":
            beside_the_record(run)


def beside_the_record(run: Path) -> None:
    """Draw the series of the buoy, at half a degree, with what it has recorded."""
    with netCDF4.Dataset(run / "stations.nc") as data, mpl.rc_context(style.RC):
        figure = Figure(figsize=(7.2, 2.6), layout="constrained")
        axes = figure.subplots()
        axes.plot(data["time"][:] / 3600, data["eta"][:, 0], color="#1f4e79", label="model, half a degree")
        time, level = recorded()
        inside = (time >= 0) & (time <= data["time"][-1])
        axes.plot(time[inside] / 3600, level[inside], color="#b2182b", lw=1, label="DART 32412, without the tide")
        axes.set(xlabel="time since the earthquake (hours)", ylabel="Sea level (m)")
        axes.spines[["top", "right"]].set_visible(False)
        axes.margins(x=0.01)
        axes.legend(frameon=False, fontsize=8)
        figure.savefig(FOLDER.parent / "chile2010_gauge.png")


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for each in sys.argv[1:] or sorted(set(names()) - LEFT_OUT):
        draw(each)
