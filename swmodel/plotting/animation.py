"""Animations of a run: all records of one field."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from subprocess import CalledProcessError

import matplotlib as mpl
import netCDF4
from matplotlib.animation import AbstractMovieWriter, FFMpegWriter, PillowWriter
from matplotlib.figure import Figure

from ..errors import FilesError
from . import style
from .dataset import PlotError, find_data_file, find_record, open_data, record_times
from .derived import choose_fields, has_records, read_displayed_field
from .files import default_output, write_output
from .ground import ground_legend
from .overlays import NO_OVERLAYS, Overlays, draw_layers
from .panels import draw_panels, write_caption
from .style import RUN_RANGE, ColourRange
from .titles import make_title_formatter

log = logging.getLogger(__name__)
logging.getLogger(FFMpegWriter.__module__).setLevel(logging.CRITICAL)  # `animate` reports ffmpeg's last line

#: Dots per inch; a frame of a wide domain is about 1100 pixels wide.
FRAME_DPI = 160
#: Default number of frames per second, and the shortest duration of an animation, s: if it has few records, the
#: default is lower.
MAX_DEFAULT_FPS, MIN_DURATION_SECONDS = 12, 4
#: Smallest and largest number of frames per second.
MIN_FPS, MAX_FPS = 0.01, 240


def animate(
    path,
    field: str | None = None,
    fps: float | None = None,
    output=None,
    member: int | None = None,
    colour_range: ColourRange = RUN_RANGE,
    overlays: Overlays = NO_OVERLAYS,
) -> Path:
    """Write an animation of all records of a field: an MP4, or a GIF if there is no ffmpeg.

    The colour scale is the same in all frames, unless the range of `colour_range` is "record".

    Args:
        path: run folder or NetCDF file.
        field: name of the field; None: the first that `swmodel plot` draws by default, often relative vorticity.
        fps: frames per second; None: MAX_DEFAULT_FPS, or fewer if the animation would last less than
            MIN_DURATION_SECONDS.
        output: FILE.mp4 or FILE.gif; None: an MP4 named after the data and the field, next to the data.
        member: the member of an ensemble whose field is shown; None: the first that has fields.
        colour_range: how the values at the ends of the colours are chosen.
        overlays: what is drawn over the map.

    Returns:
        The path of the written file; it ends in .gif if an MP4 was requested but ffmpeg is missing.
    """
    file = find_data_file(path)
    with open_data(file) as data:
        name = field or choose_fields(data, None)[0]
        if not has_records(data, name):
            raise PlotError(f"{name} in {file} does not change with time; `swmodel plot` draws it")
        find_record(data, 0)  # raises a PlotError if there is no record
        fps = min(MAX_DEFAULT_FPS, record_times(data).size / MIN_DURATION_SECONDS) if fps is None else fps
        target, writer = choose_writer(Path(output or default_output(file, name, ".mp4", member)), fps)
        with (
            mpl.rc_context({**style.RC_PARAMS, "animation.ffmpeg_path": find_ffmpeg() or "ffmpeg"}),
            write_output(target) as draft,
        ):
            figure, show_record = make_animation(data, name, member, colour_range, overlays)
            try:
                write_frames(writer, draft, figure, show_record, record_times(data).size)
            except CalledProcessError as error:
                message = (error.stderr or "").strip() or f"exit code {error.returncode}"
                reason = message.splitlines()[-1].rpartition("] ")[2].rstrip(".")
                raise FilesError(f"{target} cannot be written: ffmpeg: {reason}") from None
    return target


def make_animation(
    data: netCDF4.Dataset, name: str, member, colour_range: ColourRange, overlays: Overlays
) -> tuple[Figure, Callable[[int], None]]:
    """The figure of an animation, and a function that shows a record in it.

    With the range "run" or "shared", or with contours or arrows, all records are read first, because the colours, the
    values of contours and the length of arrows depend on all of them.
    """
    records = range(record_times(data).size)
    first_field = read_displayed_field(data, name, 0, member)
    format_title = make_title_formatter(data)
    (field_style,) = style.make_styles(data, [first_field], records, member, colour_range)
    if colour_range.range == "record":
        field_style = replace(field_style, extend="both")
    layers = overlays.make_layers(data, member, records)
    legend_lines = [*ground_legend([first_field], any_record=True), *(legend for legend, _ in layers)]
    figure, (draw_map,) = draw_panels([first_field], [field_style], [format_title(0), *legend_lines])
    show_layers = draw_layers(layers, figure, 0)

    def show_record(record: int) -> None:
        field = read_displayed_field(data, name, record, member)
        draw_map(field, style.make_style([field], colour_range.ends) if colour_range.range == "record" else field_style)
        show_layers(record)
        write_caption(figure, [format_title(record), *legend_lines])

    return figure, show_record


def write_frames(
    writer: AbstractMovieWriter, file: Path, figure: Figure, show_record: Callable, n_records: int
) -> None:
    writer.setup(figure, str(file), FRAME_DPI)
    try:
        for record in range(n_records):
            show_record(record)
            writer.grab_frame()
    except OSError:  # ffmpeg has ended early
        writer.finish()  # raises CalledProcessError with the output of ffmpeg
        raise
    except BaseException:
        with suppress(Exception):
            writer.finish()
        raise
    writer.finish()


def choose_writer(target: Path, fps: float) -> tuple[Path, AbstractMovieWriter]:
    """The file to write and its writer; without ffmpeg a GIF replaces an MP4."""
    if target.suffix not in (".mp4", ".gif"):
        raise PlotError(f"{target} must end in .mp4 or .gif")
    if not MIN_FPS <= fps <= MAX_FPS:
        raise PlotError(f"fps must be from {MIN_FPS:g} to {MAX_FPS:g}, not {fps:g}")
    if target.suffix == ".mp4" and find_ffmpeg() is None:
        target = target.with_suffix(".gif")
        log.warning("ffmpeg, which writes MP4, is missing; writing %s (pip install imageio-ffmpeg adds it)", target)
    # The type hints of both writers demand an integer, but fractions are valid, too.
    if target.suffix == ".gif":
        return target, PillowWriter(fps=fps)  # type: ignore[arg-type]
    return target, FFMpegWriter(fps=fps, codec="h264", extra_args=["-crf", "18"])  # type: ignore[arg-type]


def find_ffmpeg() -> str | None:
    """Path of the system's ffmpeg, or else of the one in the package imageio-ffmpeg; None if both are missing."""
    if path := shutil.which("ffmpeg"):
        return path
    try:
        import imageio_ffmpeg

        return imageio_ffmpeg.get_ffmpeg_exe()
    except (ImportError, RuntimeError):
        return None
