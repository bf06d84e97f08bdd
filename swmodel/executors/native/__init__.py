"""Steps written for one kind of hardware: `native`, C++ for processors. What is built here can be asked without JAX."""

from __future__ import annotations

from importlib.util import find_spec

from ...config.build import scheme_of
from ...config.fields import given
from ...ocean.terms import TERMS as ALL_TERMS
from ...parallel import environment

#: What builds the native step.
REMEDY = "tools/build-native, or pip install . with a C++ compiler"

#: Number of the calling convention that kernel.py and step.cc share; both change with the arrays of the call.
CONVENTION = 3

#: The terms that it has, in the order of their bits in step.cc, and those of their coefficients that may be fields.
TERMS = ("wind", "linear_drag", "quadratic_drag", "viscosity", "biharmonic_viscosity", "sponge")
FIELDS = ("wind_x", "wind_y", "linear_drag")


def unable(config, scheme=None) -> str:
    """What the native step cannot compute of a configuration, or of another Scheme for it; empty where nothing."""
    scheme = scheme or scheme_of(config)
    unknown = [name for name in scheme.terms if name not in TERMS]
    if unknown:
        return f"does not have the term{'s' * (len(unknown) > 1)} {', '.join(unknown)}"
    rows = [row.name for name in scheme.terms for row in ALL_TERMS[name].coefficients]
    fields = [name for name in rows if name not in FIELDS and given(config, name)]
    return f"takes {', '.join(fields)} as a number only" if fields else ""


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
