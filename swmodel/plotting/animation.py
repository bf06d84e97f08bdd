"""Moving pictures of a run: one field, all its records."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import matplotlib as mpl
import netCDF4
from matplotlib.animation import AbstractMovieWriter, FFMpegWriter, PillowWriter
from matplotlib.figure import Figure

from . import style
from .dataset import PlotError, data_file, find_record, open_data, seconds
from .derived import changes, chosen, shown
from .files import default_output, written
from .ground import legend
from .overlays import NOTHING, Over, draw_layers
from .panels import draw, write_caption
from .style import OF_RUN, Scale
from .titles import titles

log = logging.getLogger(__name__)
logging.getLogger(FFMpegWriter.__module__).setLevel(logging.CRITICAL)  # one line of ffmpeg's is reported here

#: Dots per inch: a frame is some 1100 pixels wide.
DPI = 160
#: Usual frames per second, and seconds of a film below which there are fewer.
FASTEST, SHORTEST = 12, 4
#: Frames per second that films can have.
SLOWEST, MOST_FRAMES = 0.01, 240


def animate(
    path,
    field: str | None = None,
    fps: float | None = None,
    output=None,
    member: int | None = None,
    scale: Scale = OF_RUN,
    over: Over = NOTHING,
) -> Path:
    """Draw all records of a field into an MP4 (by ffmpeg), or a GIF if there is no ffmpeg.

    The colours have the same meaning in all frames, unless `scale` says otherwise.

    Args:
        path: run folder or NetCDF file.
        field: name of the field; None: relative vorticity, or the file's first of the usual fields.
        fps: frames per second; None: FASTEST, or fewer in a film that would be shorter than SHORTEST seconds.
        output: FILE.mp4 or FILE.gif; None: an MP4 named after the data and the field, beside the data.
        member: the member of an ensemble whose field is shown; None: the first that has fields.
        scale: the values at the ends of the colours.
        over: arrows of the current and lines of equal value.

    Returns:
        The file written: with the ending .gif if an MP4 was wanted and there is no ffmpeg.
    """
    file = data_file(path)
    with open_data(file) as data:
        name = field or chosen(data, None)[0]
        if not changes(data, name):
            raise PlotError(f"{name} in {file} does not change with time; plot it instead")
        find_record(data, 0)
        fps = min(FASTEST, seconds(data).size / SHORTEST) if fps is None else fps
        target, writer = writer_for(Path(output or default_output(file, name, ".mp4", member)), fps)
        with mpl.rc_context({**style.RC, "animation.ffmpeg_path": ffmpeg() or "ffmpeg"}), written(target) as temporary:
            figure, show = film(data, name, member, scale, over)
            take_frames(writer, temporary, figure, show, seconds(data).size)
    return target


def film(data: netCDF4.Dataset, name: str, member, scale: Scale, over: Over) -> tuple[Figure, Callable[[int], None]]:
    """The figure of a film, and a function that shows a record; all records are read once before, for the colours."""
    records, first, title = range(seconds(data).size), shown(data, name, 0, member), titles(data)
    (look,) = style.looks(data, [first], records, member, scale)
    if scale.range == "record":
        look = replace(look, extend="both")
    layers = over.layers(data, member, records)
    words = [*legend([first], ever=True), *(words for words, _ in layers)]
    figure, (draw_map,) = draw([first], [look], [title(0), *words])
    update = draw_layers(layers, figure, 0)

    def show(record: int) -> None:
        field = shown(data, name, record, member)
        draw_map(field, style.look([field], scale.ends) if scale.range == "record" else look)
        update(record)
        write_caption(figure, [title(record), *words])

    return figure, show


def take_frames(writer: AbstractMovieWriter, file: Path, figure: Figure, show: Callable, count: int) -> None:
    """Write each record as a frame."""
    writer.setup(figure, str(file), DPI)
    try:
        for record in range(count):
            show(record)
            writer.grab_frame()
    except OSError:  # ffmpeg has ended: its exit code says why
        writer.finish()
        raise
    except BaseException:
        with suppress(Exception):
            writer.finish()
        raise
    writer.finish()


def writer_for(target: Path, fps: float) -> tuple[Path, AbstractMovieWriter]:
    """The file to write, and matplotlib's writer for it."""
    if target.suffix not in (".mp4", ".gif"):
        raise PlotError(f"{target} must end in .mp4 or .gif")
    if not SLOWEST <= fps <= MOST_FRAMES:
        raise PlotError(f"fps must be from {SLOWEST:g} to {MOST_FRAMES:g}, not {fps:g}")
    if target.suffix == ".mp4" and ffmpeg() is None:
        target = target.with_suffix(".gif")
        log.warning("no ffmpeg for MP4, writing %s (pip install imageio-ffmpeg brings it)", target)
    if target.suffix == ".gif":
        return target, PillowWriter(fps=fps)
    return target, FFMpegWriter(fps=fps, codec="h264", extra_args=["-crf", "18"])


def ffmpeg() -> str | None:
    """Path of the system's ffmpeg, or else of that in the package imageio-ffmpeg; None: there is none."""
    if found := shutil.which("ffmpeg"):
        return found
    try:
        import imageio_ffmpeg

        return imageio_ffmpeg.get_ffmpeg_exe()
    except (ImportError, RuntimeError):
        return None
