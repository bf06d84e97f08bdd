"""The kinds of machine code that generated steps have, by the names of their executors."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ..errors import SetupError, UsageError
from .cuda import executor as cuda
from .cuda import library, unable
from .cuda.calls import CudaCalls
from .native.calls import Calls
from .native.compile import Request, obstacle
from .native.kernel import register


class Target(NamedTuple):
    """A kind of machine code."""

    calls: type[Calls]  # the foreign calls of a step
    register: Callable[[], None]  # makes them known to JAX
    unsupported_reason: Callable[[Request], str]  # why a step cannot be compiled; empty where it is compiled


def unsupported_by_cuda(request: Request) -> str:
    """Why the kernels of a step cannot be compiled; empty where they are compiled."""
    if missing := unable(request.scheme):
        return missing
    try:
        library.load(request)
    except (SetupError, UsageError) as error:
        return str(error)
    return ""


TARGETS = {
    "native": Target(Calls, register, obstacle),
    "cuda": Target(CudaCalls, lambda: cuda.register(), unsupported_by_cuda),
}
