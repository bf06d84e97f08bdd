"""The Basic Model Interface 2.0 of CSDMS: `Model`, with which frameworks and other models drive a run (docs/bmi.md)."""

from .model import Model as Model

__all__ = ["Model"]
