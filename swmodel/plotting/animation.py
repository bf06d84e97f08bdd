"""Moving pictures of a run: one field, all its records."""

from __future__ import annotations

import logging
import shutil
import subprocess
from functools import partial
from pathlib import Path

import matplotlib as mpl
import netCDF4
from matplotlib.animation import FFMpegWriter, PillowWriter

from . import style
from .dataset import PlotError, data_file, find_field, find_record, open_data, seconds
from .maps import chosen, default_output, read
from .panels import draw, write_caption

#: Dots per inch: a frame is some 1100 pixels wide.
DPI = 160

#: The colours are chosen from at most this many rows and columns of each record, so that memory is bounded.
CELLS = 500


def animate(path, field: str | None = None, fps: float = 12, output=None, member=None) -> Path:
    """Draw all records of a field into an MP4 (through ffmpeg), or a GIF where there is no ffmpeg.

    The colours mean the same in all frames.

    Args:
        path: run folder or NetCDF file.
        field: name of the field; without it, relative vorticity, or the first of its kind that the file has.
        fps: frames per second.
        output: FILE.mp4 or FILE.gif; otherwise an MP4 named after the data and the field, beside the data.
        member: of an ensemble, whose field is shown; without it, the first that has fields.

    Returns:
        The file written: with the ending .gif where an MP4 was wanted and there is no ffmpeg.

    Raises:
        PlotError: the file or the field does not exist, the field has no records, or the film cannot be written.
    """
    file = data_file(path)
    with open_data(file) as data:
        name = field or chosen(data, None)[0]
        if find_field(data, name).ndim < 3:
            raise PlotError(f"{name} in {file} does not change with time; plot it instead")
        find_record(data, 0)
        target, writer = writer_for(Path(output or default_output(file, name, ".mp4", member)), fps)
        with mpl.rc_context({**style.RC, "animation.ffmpeg_path": ffmpeg() or "ffmpeg"}):
            film(data, partial(read, data, name, member=member), writer, target)
    return target


def film(data: netCDF4.Dataset, frame, writer, target: Path) -> None:
    """Write one frame for each record, `frame(record)`, all in the same colours."""
    times = seconds(data)
    now = style.clock(times)
    shown = style.look([frame(record).sample(CELLS) for record in range(times.size)])
    figure, (show,) = draw([frame(0)], [shown])
    caption = write_caption(figure, "")
    try:
        with writer.saving(figure, str(target), DPI):
            for record, time in enumerate(times):
                show(frame(record))
                caption.set_text(now(time))
                writer.grab_frame()
    except (OSError, subprocess.CalledProcessError) as error:
        raise PlotError(f"cannot write {target}: {error}") from None


def writer_for(target: Path, fps: float):
    """The file to write and what writes it.

    Raises:
        PlotError: the ending is neither .mp4 nor .gif, or fps is not positive.
    """
    if target.suffix not in (".mp4", ".gif"):
        raise PlotError(f"{target} must end in .mp4 or .gif")
    if not target.parent.is_dir():
        raise PlotError(f"cannot write {target}: there is no folder {target.parent}")
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
    """Path of the ffmpeg of the system, or else of the package imageio-ffmpeg."""
    found = shutil.which("ffmpeg")
    if found:
        return found
    try:
        import imageio_ffmpeg

        return imageio_ffmpeg.get_ffmpeg_exe()
    except (ImportError, RuntimeError):
        return None
