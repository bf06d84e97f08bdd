"""Moving pictures of a run: one field, all its records."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import matplotlib as mpl
import netCDF4
from matplotlib.animation import FFMpegWriter, PillowWriter

from . import style
from .dataset import PlotError, data_file, find_record, open_data, seconds
from .files import default_output, written
from .overlays import NOTHING, Over
from .panels import draw, write_caption
from .scale import OF_RUN, Scale, look_of_film
from .shown import changes, chosen, read
from .titles import titles

#: Dots per inch: a frame is some 1100 pixels wide.
DPI = 160


def animate(
    path,
    field: str | None = None,
    fps: float = 12,
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
        fps: frames per second.
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
        target, writer = writer_for(Path(output or default_output(file, name, ".mp4", member)), fps)
        with mpl.rc_context({**style.RC, "animation.ffmpeg_path": ffmpeg() or "ffmpeg"}), written(target) as temporary:
            film(data, name, member, scale, over, Camera(writer, temporary))
    return target


class Camera:
    """Writes frames of a figure into a file."""

    def __init__(self, writer, file: Path):
        self.writer, self.file = writer, file

    @contextmanager
    def filming(self, figure) -> Iterator:
        """A context with a function that adds a frame."""
        log = logging.getLogger(FFMpegWriter.__module__)
        level = log.level
        log.setLevel(logging.CRITICAL)
        try:
            self.writer.setup(figure, str(self.file), DPI)
            try:
                yield self.writer.grab_frame
            except OSError:  # ffmpeg has ended: its exit code says why
                self.writer.finish()
                raise
            except BaseException:
                with suppress(Exception):
                    self.writer.finish()
                raise
            self.writer.finish()
        finally:
            log.setLevel(level)


def film(data: netCDF4.Dataset, name: str, member: int | None, scale: Scale, over: Over, camera: Camera) -> None:
    """Draw a frame of each record; records are read one by one, first for the colours, then for the frames."""
    records = range(seconds(data).size)
    shown = look_of_film(data, name, member, scale)
    if scale.range == "record":
        shown = replace(shown, extend="both")
    figure, (show,) = draw([read(data, name, 0, member)], [shown], 1 + len(over))
    title, caption = titles(data), write_caption(figure, "")
    overlay = over.draw(data, figure, 0, member, records)
    with camera.filming(figure) as take:
        for record in records:
            field = read(data, name, record, member)
            show(field, style.look([field], scale.ends) if scale.range == "record" else shown)
            overlay(record)
            caption.set_text(title(record))
            take()


def writer_for(target: Path, fps: float):
    """The file to write, and matplotlib's writer for it."""
    if target.suffix not in (".mp4", ".gif"):
        raise PlotError(f"{target} must end in .mp4 or .gif")
    if not fps > 0:
        raise PlotError(f"fps must be positive, not {fps}")
    if target.suffix == ".mp4" and ffmpeg() is None:
        target = target.with_suffix(".gif")
        logging.getLogger(__name__).warning(
            "no ffmpeg for MP4, writing %s (pip install imageio-ffmpeg brings it)", target
        )
    if target.suffix == ".gif":
        return target, PillowWriter(fps=fps)
    return target, FFMpegWriter(fps=fps, codec="h264", extra_args=["-crf", "18"])


def ffmpeg() -> str | None:
    """Path of the system's ffmpeg, or else of that in the package imageio-ffmpeg; None: there is none."""
    found = shutil.which("ffmpeg")
    if found:
        return found
    try:
        import imageio_ffmpeg

        return imageio_ffmpeg.get_ffmpeg_exe()
    except (ImportError, RuntimeError):
        return None
