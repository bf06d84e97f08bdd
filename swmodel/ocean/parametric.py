"""Terms with a pytree of parameters, such as a neural network, for derivatives with respect to them.

Compiled programs take the parameters of a term as one vector, the same in all blocks.
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
    """A user-defined term with parameters: function(state, grid, t, parameters, coefficients...) gives tendencies.

    The control variable has the name of the function. The floating-point arrays of the pytree are the parameters, in
    the precision of the run; its other leaves do not change.
    """

    function: Callable[..., Any]
    parameters: Any


@dataclass(frozen=True)
class ParameterLayout:
    """The order of parameters in a vector: leaf after leaf."""

    tree: Any  # structure of the pytree
    shapes: tuple[tuple[int, ...] | None, ...]  # shapes of its leaves; None for leaves that are not parameters
    other_leaves: tuple[Any, ...]  # the leaves that are not parameters; None for parameters
    leaf_paths: tuple[str, ...]  # paths of the leaves in the tree, for messages

    @property
    def size(self) -> int:
        return sum(math.prod(shape) for shape in self.shapes if shape is not None)

    def to_vector(self, name: str, tree: Any, xp: Any, dtype: Any) -> Any:
        """The vector of a pytree of this layout, by numpy or jax.numpy (`xp`); other leaves may be None.

        UsageError: the arrays of the pytree do not fit the term `name`.
        """
        import jax

        arrays = [leaf for leaf in jax.tree.leaves(tree) if is_parameter(leaf)]
        paths_and_shapes = zip(self.leaf_paths, self.shapes, strict=True)
        expected = [(path, shape) for path, shape in paths_and_shapes if shape is not None]
        if len(arrays) != len(expected):
            raise UsageError(f"{name}: {len(arrays)} arrays of parameters in place of {len(expected)}")
        for leaf, (path, shape) in zip(arrays, expected, strict=True):
            if tuple(leaf.shape) != shape:
                raise UsageError(f"{name}: parameters{path} has shape {tuple(leaf.shape)}; must be {shape}")
        return xp.concatenate([xp.asarray(leaf).astype(dtype).reshape(-1) for leaf in arrays])

    def to_pytree(self, vector: Any, is_derivative: bool = False) -> Any:
        """The pytree with the parameters of a vector; a derivative has None in place of other leaves."""
        leaves, first = [], 0
        for shape, other_leaf in zip(self.shapes, self.other_leaves, strict=True):
            if shape is None:
                leaves.append(None if is_derivative else other_leaf)
                continue
            size = math.prod(shape)
            leaves.append(vector[first : first + size].reshape(shape))
            first += size
        return self.tree.unflatten(leaves)


def is_parameter(leaf: Any) -> bool:
    """Whether a leaf of a pytree is an array of floating-point numbers, such as float32 or bfloat16."""
    import jax

    return hasattr(leaf, "dtype") and hasattr(leaf, "reshape") and jax.dtypes.issubdtype(leaf.dtype, np.floating)


def parameter_layout(parameters: Any) -> ParameterLayout:
    """The ParameterLayout of a pytree. UsageError: it has no parameters, or some are not finite."""
    import jax

    pairs, tree = jax.tree_util.tree_flatten_with_path(parameters)
    if not any(is_parameter(leaf) for _, leaf in pairs):
        raise UsageError("its parameters must be a pytree with arrays of floating-point numbers, such as np.ones(3)")
    leaf_paths = tuple(jax.tree_util.keystr(path) for path, _ in pairs)
    for path, (_, leaf) in zip(leaf_paths, pairs, strict=True):
        if is_parameter(leaf) and not np.isfinite(np.asarray(leaf)).all():
            raise UsageError(f"parameters{path} must be finite")
    return ParameterLayout(
        tree,
        tuple(tuple(leaf.shape) if is_parameter(leaf) else None for _, leaf in pairs),
        tuple(None if is_parameter(leaf) else leaf for _, leaf in pairs),
        leaf_paths,
    )
