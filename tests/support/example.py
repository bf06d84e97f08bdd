"""Import scripts of examples/ as modules."""

import importlib

import pytest
from conftest import ROOT


def import_example(name):
    """The module of a script, which may import other scripts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "examples")
        return importlib.import_module(name)
