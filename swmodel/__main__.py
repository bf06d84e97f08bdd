"""`swmodel`, `python -m swmodel` and `python cli.py` are this program."""

from __future__ import annotations

from . import interrupt, streams


def main():
    """Run the program; leaves with its exit code (`swmodel.errors`)."""
    interrupt.leave_at_once()
    streams.prepare()
    from .cli import main as program

    try:
        program(prog_name="swmodel")
    except SystemExit as end:
        interrupt.only_hastens(end.code or 0)
        raise


if __name__ == "__main__":
    main()
