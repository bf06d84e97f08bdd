"""Animations of a run: all records of one field."""

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
from .dataset import PlotError, find_data_file, find_record, open_data, record_times
from .derived import choose_fields, has_records, read_displayed_field
from .files import atomic_write, default_output
from .ground import ground_legend
from .overlays import NO_OVERLAYS, Overlays, draw_layers
from .panels import draw_panels, write_caption
from .style import RUN_RANGE, ColourRange
from .titles import make_title_formatter

log = logging.getLogger(__name__)
logging.getLogger(FFMpegWriter.__module__).setLevel(logging.CRITICAL)  # this module reports ffmpeg's last line

#: Dots per inch; a frame is about 1100 pixels wide.
FRAME_DPI = 160
#: Largest default of the frames per second; fewer are chosen if an animation would be shorter than the duration, s.
MAX_DEFAULT_FPS, MIN_DURATION_SECONDS = 12, 4
#: Smallest and largest frames per second.
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

    The colours have the same meaning in all frames, unless `colour_range` says otherwise.

    Args:
        path: run folder or NetCDF file.
        field: name of the field; None: relative vorticity, or the first default field of the file.
        fps: frames per second; None: MAX_DEFAULT_FPS, or fewer in an animation that would be shorter than
            MIN_DURATION_SECONDS.
        output: FILE.mp4 or FILE.gif; None: an MP4 named after the data and the field, next to the data.
        member: the member of an ensemble whose field is shown; None: the first that has fields.
        colour_range: how the values at the ends of the colours are chosen.
        overlays: what is drawn over the map.

    Returns:
        The file written; it ends in .gif if an MP4 was requested but there is no ffmpeg.
    """
    file = find_data_file(path)
    with open_data(file) as data:
        name = field or choose_fields(data, None)[0]
        if not has_records(data, name):
            raise PlotError(f"{name} in {file} does not change with time; plot it instead")
        find_record(data, 0)  # raises a PlotError if there is no record
        fps = min(MAX_DEFAULT_FPS, record_times(data).size / MIN_DURATION_SECONDS) if fps is None else fps
        target, writer = choose_writer(Path(output or default_output(file, name, ".mp4", member)), fps)
        with (
            mpl.rc_context({**style.RC_PARAMS, "animation.ffmpeg_path": find_ffmpeg() or "ffmpeg"}),
            atomic_write(target) as temporary,
        ):
            figure, show_record = make_animation(data, name, member, colour_range, overlays)
            write_frames(writer, temporary, figure, show_record, record_times(data).size)
    return target


def make_animation(
    data: netCDF4.Dataset, name: str, member, colour_range: ColourRange, overlays: Overlays
) -> tuple[Figure, Callable[[int], None]]:
    """The figure of an animation, and a function that shows a record; reads all records first, for the colours."""
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
    except OSError:  # ffmpeg has ended: its exit code says why
        writer.finish()
        raise
    except BaseException:
        with suppress(Exception):
            writer.finish()
        raise
    writer.finish()


def choose_writer(target: Path, fps: float) -> tuple[Path, AbstractMovieWriter]:
    """The file to write, a GIF in place of an MP4 if there is no ffmpeg, and its writer."""
    if target.suffix not in (".mp4", ".gif"):
        raise PlotError(f"{target} must end in .mp4 or .gif")
    if not MIN_FPS <= fps <= MAX_FPS:
        raise PlotError(f"fps must be from {MIN_FPS:g} to {MAX_FPS:g}, not {fps:g}")
    if target.suffix == ".mp4" and find_ffmpeg() is None:
        target = target.with_suffix(".gif")
        log.warning("there is no ffmpeg for MP4; writing %s (pip install imageio-ffmpeg installs ffmpeg)", target)
    if target.suffix == ".gif":
        return target, PillowWriter(fps=fps)
    return target, FFMpegWriter(fps=fps, codec="h264", extra_args=["-crf", "18"])


def find_ffmpeg() -> str | None:
    """Path of the system's ffmpeg, or else of that in the package imageio-ffmpeg; None: there is none."""
    if path := shutil.which("ffmpeg"):
        return path
    try:
        import imageio_ffmpeg

        return imageio_ffmpeg.get_ffmpeg_exe()
    except (ImportError, RuntimeError):
        return None
