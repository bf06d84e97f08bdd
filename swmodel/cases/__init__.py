"""The cases, one file each, found by name.

A case is a module with

* a docstring: the physics, the reference, what it costs, the command line, the known answer;
* `Options`, a CaseOptions class with the options of its own (optional);
* `DEFAULTS`, a dict {section: {key: value}} of what differs from the defaults of the configuration;
* functions of (config, at) for any of the fields in `FIELDS`, each returning float64 values [y, x] (or an array that
  broadcasts to it) at the given Points, SI units; what it does not define is zero (mask: one, depth: physics.depth,
  linear_drag: physics.linear_drag).

Its known answers are plain functions in the same file; a test compares the model with them.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from types import ModuleType

#: Fields that a case may define: depth, mask, wind stress, drag and initial sea level at centres, u and v on faces.
FIELDS = ("depth", "mask", "wind_x", "wind_y", "linear_drag", "eta", "u", "v")


def names() -> list[str]:
    """All cases, in alphabetical order."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


@functools.cache
def get(name: str) -> ModuleType:
    """The module of a case.

    Raises:
        KeyError: there is no such case.
    """
    if name not in names():
        raise KeyError(f'no case "{name}"')
    return importlib.import_module(f"{__name__}.{name}")
