"""Whether this machine can use the generated step of a configuration. Launchers ask this, so it needs no JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ..ocean.user_term import source_line_of
from ..setup.setup import Setup
from . import cuda, native
from .cuda import kernel_library, kernels
from .native import request_of, step_library
from .native.step_library import StepRequest


class Availability(NamedTuple):
    """Functions that say why an executor cannot be used; they return an empty string if it can."""

    machine_unsupported_reason: Callable[[], str]
    step_unsupported_reason: Callable[[StepRequest], str]  # compiles the step
    block_unsupported_reason: Callable[[int, int], str] = lambda rows, columns: ""


#: The executors whose steps are generated, by name.
AVAILABILITY = {
    "native": Availability(native.machine_unsupported_reason, step_library.unsupported_reason),
    "cuda": Availability(
        cuda.machine_unsupported_reason, kernel_library.unsupported_reason, kernels.block_unsupported_reason
    ),
}


def machine_unsupported_reason(executor: str) -> str:
    """Why this machine cannot run an executor; an empty string if it can."""
    return AVAILABILITY[executor].machine_unsupported_reason() if executor in AVAILABILITY else ""


def unsupported_reason(executor: str, setup: Setup, layout: tuple[int, int] = (1, 1)) -> str:
    """Why the generated step of a Setup cannot be used, after an attempt to compile it; an empty string if it can.

    `layout`: the numbers of blocks, (py, px).
    """
    for term in setup.scheme.user_terms:
        if term.parameters:
            return f"{source_line_of(term.tendency)}: {term.name} has parameters, which only xla supports"
    rows, columns = (-(-cells // blocks) for cells, blocks in zip(setup.shape, layout, strict=True))
    return (
        machine_unsupported_reason(executor)
        or AVAILABILITY[executor].block_unsupported_reason(rows, columns)
        or AVAILABILITY[executor].step_unsupported_reason(request_of(setup))
    )
