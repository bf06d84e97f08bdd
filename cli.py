"""`python cli.py`, the same program as `swmodel`, from a checkout that is not installed."""

from swmodel.cli import main

if __name__ == "__main__":
    main(prog_name="swmodel")
