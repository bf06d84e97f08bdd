"""The entry point of `swmodel`, `python -m swmodel` and `python cli.py`."""

from __future__ import annotations

from .parallel import interrupt


def main():
    """Run the program and exit with its exit code (`swmodel.errors`)."""
    interrupt.install_sigint_handler()  # before anything else is imported
    from .parallel import environment, streams

    streams.replace_standard_streams()
    environment.override_inherited_settings()
    from .cli import main as program

    program(prog_name="swmodel")


if __name__ == "__main__":
    main()
