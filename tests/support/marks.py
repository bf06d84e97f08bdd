"""Marks for single cases of a parametrised test; pyproject.toml says what each mark means."""

import pytest


def night_params(*cases, mark=pytest.mark.night):
    """The cases as `pytest.param` with a mark, by default that of `make test-all`; a case is a value or a tuple."""
    return [pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=mark) for case in cases]


def night_and_release_params(cases, every: int):
    """The cases as `pytest.param`: the first of every `every` cases for `make test-all`, the others for a release."""
    others = [case for number, case in enumerate(cases) if number % every]
    return [*night_params(*cases[::every]), *night_params(*others, mark=pytest.mark.release)]
