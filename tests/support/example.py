"""A script of examples/ as a module."""

import importlib

import pytest
from conftest import ROOT


def import_example(name):
    """The module of a script, which may import the others."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "examples")
        return importlib.import_module(name)
