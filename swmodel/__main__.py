"""`python -m swmodel`, the same program as `swmodel`."""

from .cli import main

if __name__ == "__main__":
    main(prog_name="swmodel")
