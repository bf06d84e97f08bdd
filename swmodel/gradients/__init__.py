"""Derivatives of runs: tangent linear, adjoint, gradients and Hessian-vector products, on any number of processes."""

from .problem import Problem

__all__ = ["Problem"]
