"""The files of figures: their default names, and how they are written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from ..files.draft import DRAFT_SUFFIX, atomic_write
from . import style
from .dataset import PlotError


@contextmanager
def write_output(target: Path) -> Iterator[Path]:
    """`atomic_write` of a file that a user names, as an empty draft; the file behind a symbolic link is replaced."""
    path = target.resolve() if target.is_symlink() else target
    with atomic_write(path, DRAFT_SUFFIX + target.suffix) as draft:
        draft.touch()  # libraries report less well why a file cannot be made
        yield draft


def save_figure(figure: Figure, output) -> Path:
    """Write a figure; returns the file written, a PNG if the name has no suffix."""
    output = Path(output) if Path(output).suffix else Path(f"{output}.png")
    with write_output(output) as draft:
        try:
            with mpl.rc_context(style.RC_PARAMS):
                figure.savefig(draft)
        except ValueError as error:
            raise PlotError(f"cannot write {output}: {error}") from None
    return output


def default_output(file: Path, fields: str | Sequence[str] | None, suffix: str = ".png", member=None) -> Path:
    """The default path, next to the data: output.png for the default picture, output-eta.png for the field eta."""
    names = [fields] if isinstance(fields, str) else fields or []
    member_suffix = [] if member is None else [f"member-{member}"]
    return file.with_name("-".join([file.stem, *names, *member_suffix]) + suffix)
