"""Parameters of terms: pytrees for users, vectors for programs, the same in all blocks."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from ..errors import UsageError


class Parameters:
    """The controls of a Problem that are parameters of terms.

    Args:
        domain: a Domain.
        names: those of all controls.
    """

    def __init__(self, domain, names):
        self.transport, self.dtype = domain.transport, np.dtype(domain.config.run.dtype)
        self.forms = {
            term.name: term.parameters for term in domain.scheme.own if term.name in names and term.parameters
        }

    def vector(self, name: str, tree) -> np.ndarray:
        """The vector of a pytree of parameters, or of a derivative with respect to them.

        Raises:
            UsageError: its arrays differ from those of the term.
        """
        try:
            return self.forms[name].vector(tree, np, self.dtype)
        except UsageError as error:
            raise UsageError(f"{name}: {error}") from None

    def inside(self, x: dict) -> dict:
        """Controls, or derivatives with respect to them, in the form of programs."""
        return {name: self._made(name, field) if name in self.forms else field for name, field in x.items()}

    def outside(self, x: dict, derivative: bool = True) -> dict:
        """The same in the form of users; a `derivative` has None for what is no parameter."""
        named = x.items()
        return {name: self._tree(name, field, derivative) if name in self.forms else field for name, field in named}

    def _made(self, name, tree):
        vector = self.vector(name, tree)
        return self.transport.make(lambda block: vector)

    def _tree(self, name, vector, derivative):
        one, *_ = self.transport.pieces(vector)
        return self.forms[name].pytree(jnp.asarray(one), derivative)
