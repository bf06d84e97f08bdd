"""Derivatives of runs: tangent linear, adjoint, gradients and Hessian-vector products, on any number of processes."""

__all__ = ["Problem"]


def __getattr__(name: str):
    """`Problem`, imported when first used: what is asked of a gradient is checked without JAX."""
    if name == "Problem":
        from .problem import Problem

        return Problem
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
