"""Optional packages, and the extras of swmodel that install them."""

from __future__ import annotations

from importlib.util import find_spec

#: The extra that installs each package.
EXTRAS = {
    "bmipy": "bmi",
    "pyTMD": "tides",
    "pyogrio": "gis",
    "pyproj": "gis",
    "rasterio": "gis",
    "rioxarray": "gis",
    "zarr": "zarr",
}


def missing_package_reason(feature: object, package: str) -> str | None:
    """A message if the optional package that `feature` needs is missing, else None."""
    if find_spec(package):
        return None
    return f'{feature} needs the package {package}: pip install "swmodel[{EXTRAS[package]}]"'


def require_package(feature: object, package: str) -> None:
    """ModuleNotFoundError, with the message of `missing_package_reason`: the package is missing."""
    if line := missing_package_reason(feature, package):
        raise ModuleNotFoundError(line, name=package)
