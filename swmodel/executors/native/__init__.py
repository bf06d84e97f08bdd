"""Steps written for one kind of hardware: `native`, C++ for processors. What is built here can be asked without JAX."""

from __future__ import annotations

from importlib.util import find_spec

from ...parallel import environment

#: What builds the native step.
REMEDY = "tools/build-native, or pip install . with a C++ compiler"

#: Number of the calling convention that native.py and step.cc share; both change with the arrays of the call.
CONVENTION = 3


def native_missing() -> str:
    """What keeps the native step from being used here; empty where nothing does."""
    if find_spec(f"{__name__}._step") is None:
        return "it was not compiled when swmodel was installed"
    try:
        from . import _step
    except ImportError as error:  # built for another processor or Python
        return str(error)
    if getattr(_step, "convention", 1) != CONVENTION:
        return "it was compiled from another version of swmodel"
    if environment.has_gpu():
        return "JAX computes on a GPU here"
    return ""
