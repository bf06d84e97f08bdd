"""Whether the generated step of a configuration can be used on this machine. It needs no JAX, as launchers ask it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ..ocean.own_term import place_of
from ..setup.setup import Setup
from . import cuda, native
from .cuda import library
from .native import compile, request_of
from .native.compile import Request


class Availability(NamedTuple):
    """Why an executor cannot be used; each function returns an empty text where it can be."""

    by_machine: Callable[[], str]
    by_compiler: Callable[[Request], str]  # compiles the step


#: The executors whose steps are generated, by name.
GENERATED = {
    "native": Availability(native.machine_unsupported_reason, compile.unsupported_reason),
    "cuda": Availability(cuda.machine_unsupported_reason, library.unsupported_reason),
}


def unsupported_reason(executor: str, setup: Setup) -> str:
    """Why the generated step of a Setup cannot be used, after an attempt to compile it; empty where it can."""
    for term in setup.scheme.own:
        if term.parameters:
            return f"{place_of(term.tendency)}: {term.name} has parameters, which only the step in JAX supports"
    return GENERATED[executor].by_machine() or GENERATED[executor].by_compiler(request_of(setup))
