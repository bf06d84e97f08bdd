"""The Basic Model Interface 2.0 of CSDMS: `Model`, with which frameworks and other models drive a run (docs/bmi.md)."""

from ..extras import require
from ..parallel.environment import prepare, world

require("swmodel.bmi", "bmipy")
prepare(place=world())  # before the next line imports JAX

from .model import Model as Model  # noqa: E402

__all__ = ["Model"]
