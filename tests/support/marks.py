"""Marks for single cases of a parametrised test; pyproject.toml says what each mark means."""

import pytest


def night_params(*cases, mark=pytest.mark.night):
    """The cases as `pytest.param` with a mark, by default one for `make test-all`; a case is a value or a tuple."""
    return [pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=mark) for case in cases]
