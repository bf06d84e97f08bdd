"""The kinds of machine code for generated steps, by the names of their executors."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from .cuda import executor as cuda
from .cuda.calls import CudaCalls
from .native.calls import NativeCalls
from .native.generated_step import register


class Target(NamedTuple):
    """How JAX calls one kind of machine code."""

    calls_class: type[NativeCalls]  # the foreign calls of a step
    register: Callable[[], None]  # registers the foreign calls with JAX


TARGETS = {
    "native": Target(NativeCalls, register),
    "cuda": Target(CudaCalls, lambda: cuda.register()),
}
