"""`swmodel`, `python -m swmodel` and `python cli.py` are this program."""

from __future__ import annotations

from .parallel.interrupt import leave_at_once, only_hastens


def main():
    """Run the program; leaves with its exit code (`swmodel.errors`)."""
    leave_at_once()  # before anything else is imported
    from .parallel import environment, streams

    streams.prepare()
    environment.settle()
    from .cli import main as program

    try:
        program(prog_name="swmodel")
    except SystemExit as end:
        only_hastens(end.code or 0)
        raise


if __name__ == "__main__":
    main()
