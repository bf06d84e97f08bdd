"""Marks of single cases of a parametrised test; pyproject.toml says what each mark means."""

import pytest


def night_params(*cases, mark=pytest.mark.night):
    """The cases as `pytest.param`, which only `make test-all` runs; a case is a value or a tuple of values."""
    return [pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=mark) for case in cases]
