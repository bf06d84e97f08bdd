"""`python cli.py`, the same program as `swmodel`, from a checkout that is not installed."""

from swmodel.__main__ import main

if __name__ == "__main__":
    main()
