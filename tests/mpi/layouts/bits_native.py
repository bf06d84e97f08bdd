"""The bits of native steps, compiled as users have them."""

import os

import bits

from swmodel.executors.native import compile as steps

PHASES = bits.PHASES


def results(layout):
    """{variant: digests}."""
    os.environ.pop("SWMODEL_CXXFLAGS", None)
    steps.function.cache_clear()
    return bits.results(layout, "native")
