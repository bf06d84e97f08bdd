"""Optional packages, and the extras of swmodel that install them."""

from __future__ import annotations

from importlib.util import find_spec

#: The extra that installs each package.
EXTRAS = {"bmipy": "bmi", "rioxarray": "gis", "zarr": "zarr"}


def lacking(user: object, package: str) -> str | None:
    """A line if an optional package is missing, which `user` needs; None if it is there."""
    if find_spec(package):
        return None
    return f'{user} needs the package {package}: pip install "swmodel[{EXTRAS[package]}]"'


def require(user: object, package: str) -> None:
    """ModuleNotFoundError, with the line of `lacking`: the package is missing."""
    if line := lacking(user, package):
        raise ModuleNotFoundError(line, name=package)
