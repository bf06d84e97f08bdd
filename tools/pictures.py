"""Draw the pictures and animations of the documentation with the commands on its pages, which takes half an hour.

python tools/pictures.py [--write] [CASE|PAGE ...]

For a case these are the commands in its docstring, which the gallery (docs/gallery.md) shows; PAGE is one of
PICTURES_OF_PAGES. The pictures are written to outputs/pictures, or with --write to docs/images.
"""

from __future__ import annotations

import argparse
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib as mpl
import netCDF4
from imageio_ffmpeg import get_ffmpeg_exe
from PIL import Image

import swmodel
from swmodel import cases
from swmodel.cases import beach, chile2010, conical_island, laboratory_beach, monai
from swmodel.plotting import style
from swmodel.verification.comparison import grid_points, simulate

DOCS = Path(__file__).resolve().parents[1] / "docs"
#: {page: {picture: file that the commands of the page write}}.
PICTURES_OF_PAGES = {
    "real-sea": {
        "atlantic": "atlantic.png",
        "atlantic-m2": "outputs/atlantic/harmonics.png",
        "earth": "earth.png",
    },
    "spectra": {"spectra": "outputs/turbulence/output-spectra.png"},
    "verification": {"verify": "outputs/verify/verify.png"},
}
#: Commands to run instead of those on a page, which also shows shorter ones.
COMMANDS_OF_PAGES = {"verification": "swmodel verify -o outputs/verify"}
#: The blocks of a page that are run, and the first line of those that are written to files.
BLOCK_PATTERN, FILE_HEADER = (
    re.compile(r"^```(bash|toml)\n(.*?)^```$", re.DOTALL | re.MULTILINE),
    re.compile(r"# (\w+\.toml)\n"),
)
#: Size of an animation above which it is encoded again, bytes.
MAX_ANIMATION_BYTES = 300_000


def run_commands(commands: str, folder: Path) -> None:
    """Run commands in a folder, as a user types them."""
    program = shlex.join([sys.executable, "-m", "swmodel"])
    subprocess.run(["bash", "-euc", f'swmodel() {{ {program} "$@"; }}\n{commands}'], cwd=folder, check=True)


def save_picture(picture: Path, target: Path) -> None:
    """Copy a picture as RGB, in as few bytes as PNG needs."""
    target.parent.mkdir(parents=True, exist_ok=True)
    Image.open(picture).convert("RGB").save(target, optimize=True)


def copy_animation(animation: Path, target: Path) -> None:
    """Copy an animation; scale a large one to at most 760 x 760 pixels, so that its page loads quickly."""
    if animation.stat().st_size <= MAX_ANIMATION_BYTES:
        shutil.copy(animation, target)
        return
    scale_filter = "scale='if(gt(iw,ih),min(760,iw),-2)':'if(gt(iw,ih),-2,min(760,ih))'"
    options = ["-vf", scale_filter, "-c:v", "libx264", "-crf", "28", "-preset", "veryslow", "-pix_fmt", "yuv420p"]
    subprocess.run([get_ffmpeg_exe(), "-v", "error", "-y", "-i", animation, *options, target], check=True)


def draw_case(name: str, images: Path) -> None:
    """Run the commands of a case, and save the picture and the animation that they write."""
    case = swmodel.load(name, environ={}).case
    with tempfile.TemporaryDirectory() as temporary_folder:
        folder = Path(temporary_folder)
        run_commands("\n".join(cases.commands(case, "Command")), folder)
        before = {*folder.rglob("*.png")}
        run_commands("\n".join(cases.commands(case, "Plot")), folder)
        new_pictures = {*folder.rglob("*.png")} - before or {*folder.rglob("assimilation.png")}
        for picture in new_pictures:
            save_picture(picture, images / "cases" / f"{name}.png")
        for animation in folder.rglob("*.mp4"):
            copy_animation(animation, images / "cases" / f"{name}.mp4")
        if name == "jet":
            shutil.copy(images / "cases" / "jet.png", images / "jet.png")
        if name in ("chile2010", "monai", "conical_island"):
            draw_gauges(name, folder / "outputs" / name, images / f"{name}_gauge.png")
        if name == "laboratory_beach":
            draw_laboratory_beach(images / "laboratory_beach_profiles.png")


def gauge_records(name: str) -> tuple[dict[str, tuple], str, float, str]:
    """The records at the gauges of a case, {gauge: (time, level)}; their source, unit of time, s, and label of time."""
    if name == "chile2010":
        buoy = {"DART 32412": chile2010.load_record()}
        return buoy, "DART 32412, without the tide", 3600.0, "time since the earthquake (hours)"
    if name == "monai":
        time, levels = monai.load_records()
    else:
        time, levels, *_ = conical_island.load_record("B")
    return {f"gauge {each}": (time, level) for each, level in levels.items()}, "laboratory", 1.0, "time (s)"


def draw_gauges(name: str, run: Path, target: Path) -> None:
    """Draw the sea level at the gauges of a case and, for the island, the highest water around it."""
    records, source, unit, time_label = gauge_records(name)
    has_run_up = name == "conical_island"
    with netCDF4.Dataset(run / "stations.nc") as data, mpl.rc_context(style.RC_PARAMS):
        figure = style.NotebookFigure(figsize=(7.2, 1.2 + 1.4 * len(records) + 2.0 * has_run_up), layout="constrained")
        figure, *run_up_figures = figure.subfigures(2, height_ratios=(3, 1)) if has_run_up else [figure]
        if run_up_figures:
            draw_run_up(run / "output.nc", run_up_figures[0].subplots())
        rows = figure.subplots(len(records), sharex=True, squeeze=False)[:, 0]
        for k, (axes, (gauge, (time, level))) in enumerate(zip(rows, records.items(), strict=True)):
            axes.plot(data["time"][:] / unit, data["eta"][:, k], color=style.LINE_COLOUR, label="model")
            within_run = (time >= 0) & (time <= data["time"][-1])
            axes.plot(time[within_run] / unit, level[within_run], color=style.REFERENCE_COLOUR, lw=1, label=source)
            axes.set_title(gauge, loc="left")
            axes.spines[["top", "right"]].set_visible(False)
            axes.margins(x=0.01)
        rows[-1].set(xlabel=time_label)
        figure.supylabel("Sea level (m)", fontsize="medium")
        rows[0].legend(frameon=False, fontsize=8)
        figure.figure.savefig(target)


def draw_run_up(output: Path, axes) -> None:
    """Draw the highest water level around the conical island against the direction from its centre."""
    config, record = swmodel.load("conical_island", environ={}), conical_island.load_record("B")
    with netCDF4.Dataset(output) as data:
        max_level = data["eta_max"][-1].filled(float("nan"))
    run_up = conical_island.run_up(config, grid_points(config), max_level)
    order = record.angles.argsort()
    axes.plot(record.angles[order], run_up[order], color=style.LINE_COLOUR, label="model")
    axes.plot(record.angles, record.run_up, "o", ms=4, color=style.REFERENCE_COLOUR, label="laboratory (NTHMP)")
    liu_style = {"mfc": "none", "mec": style.REFERENCE_COLOUR, "label": "laboratory (Liu and others 1995)"}
    axes.plot(*conical_island.liu_run_up("B"), "s", ms=4.5, **liu_style)
    axes.legend(frameon=False, fontsize=8, loc="lower left")
    axes.set(xlabel="direction from the centre of the island (degrees; 270: front)", ylabel="Highest water (m)")
    axes.set(xticks=range(0, 361, 45), ylim=(0, None))
    axes.spines[["top", "right"]].set_visible(False)


def draw_laboratory_beach(target: Path) -> None:
    """Draw profiles of the waves with records, and the run-up against the height of waves."""
    with mpl.rc_context(style.RC_PARAMS):
        figure = style.NotebookFigure(figsize=(9.0, 8.5), layout="constrained")
        grid = figure.subplots(5, 2)
        for column, height in zip(grid.T, laboratory_beach.PROFILE_HEIGHTS, strict=True):
            simulation = simulate("laboratory_beach", {"case.height": height})
            config, at = simulation.config, grid_points(simulation.config)
            x, bed = beach.offshore_distance(config, at)[0], -config.case.depth(config, at)[0]
            for axes, (time, (distance, level)) in zip(
                column, laboratory_beach.load_profiles(height).items(), strict=False
            ):
                simulation.advance(until=time * beach.TIME_UNIT)
                h = simulation.field("h")[1]
                axes.plot(x, bed, color="0.6", lw=1)
                axes.plot(x[h > 1e-3], (h + bed)[h > 1e-3], color=style.LINE_COLOUR, label="model")
                axes.plot(distance, level, ".", ms=3, color=style.REFERENCE_COLOUR, label="laboratory")
                axes.set(xlim=(-10, 20), ylim=(-0.03, 0.08) if height < 0.1 else (-0.1, 0.45))
                axes.set_title(f"H/d = {height:g}, t = {time:g} $\\sqrt{{d/g}}$", loc="left")
                axes.set(ylabel="η/d")
        grid[0, 0].legend(frameon=False, fontsize=8)
        draw_run_up_of_waves(grid[4, 1])
        for axes in (grid[4, 0], grid[3, 1]):
            axes.set(xlabel="x/d")
        for axes in grid.flat:
            axes.spines[["top", "right"]].set_visible(False)
        figure.savefig(target)


def draw_run_up_of_waves(axes) -> None:
    heights, run_up = laboratory_beach.load_run_up()
    model_heights = [0.005, 0.01, 0.0185, 0.03, 0.045, 0.075, 0.12, 0.2, 0.3, 0.45, 0.63]
    model_run_up = [max_run_up(height) for height in model_heights]
    axes.loglog(model_heights, model_run_up, color=style.LINE_COLOUR)
    axes.loglog(heights, run_up, ".", ms=4, color=style.REFERENCE_COLOUR)
    axes.set_title("Run-up", loc="left")
    axes.set(xlabel="H/d", ylabel="R/d")


def max_run_up(height: float) -> float:
    """The largest height of water on the beach, in depths, in the model."""
    simulation = simulate("laboratory_beach", {"case.height": height})
    bed, run_up = -simulation.config.case.depth(simulation.config, grid_points(simulation.config))[0], 0.0
    for n in range(1, 2 * laboratory_beach.DURATION + 1):
        simulation.advance(until=0.5 * n * beach.TIME_UNIT)
        h = simulation.field("h")[1]
        run_up = max(run_up, (h + bed)[h > 1e-3][0])
    return run_up


def draw_page(name: str, images: Path) -> None:
    """Run the commands of a page until they have written its pictures, and save the pictures that it shows."""
    text = (DOCS / f"{name}.md").read_text(encoding="utf-8")
    file_of_picture = {
        picture: picture_file
        for picture, picture_file in PICTURES_OF_PAGES[name].items()
        if f"images/{picture}.png" in text
    }
    with tempfile.TemporaryDirectory() as temporary_folder:
        folder = Path(temporary_folder)
        for language, block in (
            [("bash", COMMANDS_OF_PAGES[name])] if name in COMMANDS_OF_PAGES else BLOCK_PATTERN.findall(text)
        ):
            if language == "bash":
                run_commands(block, folder)
            elif file := FILE_HEADER.match(block):
                (folder / file[1]).write_text(block, encoding="utf-8")
            if all((folder / picture_file).exists() for picture_file in file_of_picture.values()):
                break
        for picture, picture_file in file_of_picture.items():
            save_picture(folder / picture_file, images / f"{picture}.png")


def main(argv=None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="cases and pages; default: all")
    parser.add_argument("--write", action="store_true", help="replace the pictures in docs/images")
    args = parser.parse_args(argv)
    images = DOCS / "images" if args.write else Path("outputs", "pictures").resolve()
    for each in args.names or [*cases.names(), *PICTURES_OF_PAGES]:
        (draw_page if each in PICTURES_OF_PAGES else draw_case)(each, images)
    print(f"{images} contains the pictures")


if __name__ == "__main__":
    main()
