"""Verification tests: the model compared with analytic solutions, invariants, laboratory data and published tables."""

from . import drying, files, flows, forcing, invariants, sphere, waves
from .comparison import VERIFICATION_TESTS, Comparison, VerificationTest

__all__ = [
    "VERIFICATION_TESTS",
    "Comparison",
    "VerificationTest",
    "drying",
    "files",
    "flows",
    "forcing",
    "invariants",
    "sphere",
    "waves",
]
