"""Derivatives of runs: tangent-linear, adjoint, gradients and Hessian-vector products, on any number of processes."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .problem import Problem as Problem

__all__ = ["Problem"]


def _import_lazily(name: str) -> Any:
    """Import `Problem` at first use, so that checks of requests need neither JAX nor the environment that JAX needs."""
    if name == "Problem":
        from ..parallel.environment import get_rank_info, prepare_environment

        prepare_environment(rank_info=get_rank_info())
        from .problem import Problem

        return Problem
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


if not TYPE_CHECKING:
    __getattr__ = _import_lazily
