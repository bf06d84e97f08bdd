"""Draws the pictures and the films of the gallery (docs/gallery.md): every case run as its command says, some minutes.

python tools/pictures.py [--write] [CASE ...]

They go to outputs/pictures; only with --write they replace those in docs/images.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib as mpl
import netCDF4
from imageio_ffmpeg import get_ffmpeg_exe
from matplotlib.figure import Figure
from PIL import Image

from swmodel.cases import names
from swmodel.cases.chile2010 import recorded
from swmodel.plotting import style

DOCS = Path(__file__).parents[1] / "docs"
#: Cases whose pictures docs/assimilation.md and docs/real-sea.md have, and what others are run and drawn with.
LEFT_OUT = {"double_gyre_twin", "double_gyre_drag", "sea"}
RUN = {
    "galewsky": ["-s", "output.every=3 h"],
    "hurricane": ["--days", "1"],
    "jet": ["-s", "output.every=6 h"],
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
#: What is drawn instead of the records.
FILE = {"global_m2": "harmonics.nc"}

#: Those that have a film, of this field, and the options of it.
FILMS = {"jet": ["zeta"], "galewsky": ["zeta"], "double_gyre": ["zeta"]}

#: Bytes of a film.
LARGE = 300_000

#: Pictures of docs/real-sea.md, and what its commands call them.
SEA = {"atlantic": "atlantic.png", "atlantic-m2": "outputs/atlantic/harmonics.png", "earth": "earth.png"}


def swmodel(*words) -> None:
    """Run a command of swmodel."""
    subprocess.run([sys.executable, "-m", "swmodel", *map(str, words)], check=True)


def shrink(film: Path) -> None:
    """Encode a film of more than LARGE bytes anew, so that its page loads at once; no longer than 760 pixels."""
    if film.stat().st_size <= LARGE:
        return
    small = film.with_suffix(".small.mp4")
    size = "scale='if(gt(iw,ih),min(760,iw),-2)':'if(gt(iw,ih),-2,min(760,ih))'"
    options = ["-vf", size, "-c:v", "libx264", "-crf", "28", "-preset", "veryslow", "-pix_fmt", "yuv420p"]
    subprocess.run([get_ffmpeg_exe(), "-v", "error", "-y", "-i", film, *options, small], check=True)
    small.replace(film)


def draw(case: str, images: Path) -> None:
    """Run a case and draw its last record into a folder `cases` of `images`; of FILMS, all records."""
    (images / "cases").mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / case
        swmodel("run", case, "--output", run, *RUN.get(case, []))
        picture = images / "cases" / f"{case}.png"
        swmodel("plot", run / FILE.get(case, ""), "--output", picture, *PLOT.get(case, []))
        Image.open(picture).convert("RGB").quantize(256).save(picture, optimize=True)  # a third of the size
        if case in FILMS:
            swmodel("animate", run, "--field", *FILMS[case], "--output", film := picture.with_suffix(".mp4"))
            shrink(film)
        if case == "chile2010":
            beside_the_record(run, images / "chile2010_gauge.png")


def beside_the_record(run: Path, picture: Path) -> None:
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
        figure.savefig(picture)


def draw_sea(images: Path) -> None:
    """Run the blocks of docs/real-sea.md, and keep their pictures."""
    with tempfile.TemporaryDirectory() as folder:
        words = [sys.executable, Path(__file__).with_name("page.py").resolve(), DOCS.resolve() / "real-sea.md"]
        subprocess.run(words, check=True, cwd=folder)
        for name, made in SEA.items():
            picture = images / f"{name}.png"
            Image.open(Path(folder) / made).convert("RGB").quantize(256).save(picture, optimize=True)


def main(words=None) -> None:
    """Draw the cases that are named, or all pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", help="without any, all")
    parser.add_argument("--write", action="store_true", help="replace the pictures in docs/images")
    asked = parser.parse_args(words)
    images = DOCS / "images" if asked.write else Path("outputs", "pictures")
    for each in asked.cases or sorted(set(names()) - LEFT_OUT):
        draw(each, images)
    if not asked.cases:
        draw_sea(images)
    print(f"{images}: drawn")


if __name__ == "__main__":
    main()
