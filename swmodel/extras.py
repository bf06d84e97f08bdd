"""Optional packages, and the extras of swmodel that install them."""

from __future__ import annotations

from importlib.util import find_spec

#: {optional package: the extra of swmodel that installs it}.
EXTRA_OF_PACKAGE = {
    "bmipy": "bmi",
    "pyTMD": "tides",
    "pyogrio": "gis",
    "pyproj": "gis",
    "rasterio": "gis",
    "rioxarray": "gis",
    "zarr": "zarr",
}


def missing_package_reason(feature: object, package: str) -> str | None:
    """A message if the optional `package`, which `feature` needs, is missing, else None."""
    if find_spec(package):
        return None
    return f'{feature} needs the package {package}: pip install "swmodel[{EXTRA_OF_PACKAGE[package]}]"'


def require_package(feature: object, package: str) -> None:
    """Raise ModuleNotFoundError, with the message of `missing_package_reason`, if the package is missing."""
    if reason := missing_package_reason(feature, package):
        raise ModuleNotFoundError(reason, name=package)
