"""Terms with parameters to differentiate with respect to: a pytree of arrays, such as a neural network.

In programs the parameters of a term are one vector, the same in all blocks.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import UsageError


@dataclass(frozen=True, eq=False)
class Parametric:
    """A term of the user's own with parameters: function(state, grid, t, parameters, coefficients...) to tendencies.

    The name of the function is that of the control. The arrays of floating-point numbers of the pytree are the
    parameters, in the precision of the run; its other leaves do not change.
    """

    function: Callable[..., Any]
    parameters: Any


@dataclass(frozen=True)
class Form:
    """How parameters lie in a vector: leaf after leaf. Terms of equal Forms have the same programs."""

    tree: Any  # structure of the pytree
    shapes: tuple[tuple[int, ...] | None, ...]  # of its leaves; None for leaves that are no parameters
    kept: tuple[Any, ...]  # the leaves that are no parameters; None for parameters
    places: tuple[str, ...]  # of the leaves in the tree, in words

    @property
    def size(self) -> int:
        """Length of the vector."""
        return sum(math.prod(shape) for shape in self.shapes if shape is not None)

    def vector(self, tree: Any, xp: Any, dtype: Any) -> Any:
        """The vector of a pytree of this form, in which leaves that are no parameters may be None.

        `xp` is numpy, or jax.numpy if derivatives are taken through it.
        """
        import jax

        found = [leaf for leaf in jax.tree.leaves(tree) if is_parameter(leaf)]
        wanted = [(place, shape) for place, shape in zip(self.places, self.shapes, strict=True) if shape is not None]
        if len(found) != len(wanted):
            raise UsageError(f"{len(found)} arrays of parameters where there are {len(wanted)}")
        for leaf, (place, shape) in zip(found, wanted, strict=True):
            if tuple(leaf.shape) != shape:
                raise UsageError(f"parameters{place} has shape {tuple(leaf.shape)}, which must be {shape}")
        return xp.concatenate([xp.asarray(leaf).astype(dtype).reshape(-1) for leaf in found])

    def pytree(self, vector: Any, derivative: bool = False) -> Any:
        """The pytree with the parameters of a vector; for a `derivative`, None in place of other leaves."""
        leaves, first = [], 0
        for shape, kept in zip(self.shapes, self.kept, strict=True):
            size = 0 if shape is None else math.prod(shape)
            whole = None if derivative else kept
            leaves.append(whole if shape is None else vector[first : first + size].reshape(shape))
            first += size
        return self.tree.unflatten(leaves)


def is_parameter(leaf: Any) -> bool:
    """Whether a leaf of a pytree is an array of floating-point numbers."""
    return getattr(getattr(leaf, "dtype", None), "kind", "") == "f" and hasattr(leaf, "reshape")


def form_of(parameters: Any) -> Form:
    """The Form of a pytree, which needs parameters, all finite."""
    import jax

    pairs, tree = jax.tree_util.tree_flatten_with_path(parameters)
    if not any(is_parameter(leaf) for _, leaf in pairs):
        raise UsageError("its parameters are no pytree with arrays of floating point numbers, as np.ones(3) is one")
    places = tuple(jax.tree_util.keystr(path) for path, _ in pairs)
    for place, (_, leaf) in zip(places, pairs, strict=True):
        if is_parameter(leaf) and not np.isfinite(np.asarray(leaf)).all():
            raise UsageError(f"parameters{place} must be finite")
    return Form(
        tree,
        tuple(tuple(leaf.shape) if is_parameter(leaf) else None for _, leaf in pairs),
        tuple(None if is_parameter(leaf) else leaf for _, leaf in pairs),
        places,
    )
