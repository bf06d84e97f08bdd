"""Writing of figures, animations and exports: a file appears complete or not at all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import CalledProcessError

import matplotlib as mpl
from matplotlib.figure import Figure

from ..errors import FilesError, translate_os_errors
from . import style
from .dataset import PlotError


@contextmanager
def atomic_write(target: Path) -> Iterator[Path]:
    """A context that gives the path of a temporary file to write; at the end it replaces `target`.

    Raises a FilesError if the file cannot be written, or if ffmpeg fails.
    """
    path = target.resolve()
    temporary = path.with_name(f"{path.stem}.writing{path.suffix}")
    try:
        with translate_os_errors(target, "written"):
            temporary.touch()
            yield temporary
            temporary.replace(path)
    except CalledProcessError as error:
        message = (error.stderr or "").strip() or f"exit code {error.returncode}"
        reason = message.splitlines()[-1].rpartition("] ")[2].rstrip(".")
        raise FilesError(f"{target} cannot be written: ffmpeg: {reason}") from None
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def save_figure(figure: Figure, output) -> Path:
    """Write a figure; returns the file written, a PNG if the name has no suffix."""
    output = Path(output) if Path(output).suffix else Path(f"{output}.png")
    with atomic_write(output) as temporary:
        try:
            with mpl.rc_context(style.RC_PARAMS):
                figure.savefig(temporary)
        except ValueError as error:
            raise PlotError(f"cannot write {output}: {error}") from None
    return output


def default_output(file: Path, fields: str | Sequence[str] | None, suffix: str = ".png", member=None) -> Path:
    """The default path, next to the data: output.png for the default picture, output-eta.png for the field eta."""
    names = [fields] if isinstance(fields, str) else fields or []
    member_suffix = [] if member is None else [f"member-{member}"]
    return file.with_name("-".join([file.stem, *names, *member_suffix]) + suffix)
