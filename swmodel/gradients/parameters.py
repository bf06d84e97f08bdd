"""Parameters of terms as users have them, pytrees, and as programs have them: vectors, the same in all blocks."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from ..errors import UsageError


class Parameters:
    """The controls of a Problem that are parameters of terms.

    Args:
        domain: a Domain.
        names: of all controls.
    """

    def __init__(self, domain, names):
        self.transport, self.dtype = domain.transport, np.dtype(domain.config.run.dtype)
        self.forms = {
            term.name: term.parameters for term in domain.scheme.own if term.name in names and term.parameters
        }

    def vector(self, name: str, tree) -> np.ndarray:
        """The vector of a pytree of parameters, or of a derivative by them.

        Raises:
            UsageError: it has other arrays than the term.
        """
        try:
            return self.forms[name].vector(tree, np, self.dtype)
        except UsageError as error:
            raise UsageError(f"{name}: {error}") from None

    def inside(self, x: dict) -> dict:
        """Controls, or derivatives by them, as programs have them."""
        return {name: self._made(name, field) if name in self.forms else field for name, field in x.items()}

    def outside(self, x: dict, derivative: bool = True) -> dict:
        """The same as users have them; a `derivative` with None for what is no parameter."""
        named = x.items()
        return {name: self._tree(name, field, derivative) if name in self.forms else field for name, field in named}

    def _made(self, name, tree):
        vector = self.vector(name, tree)
        return self.transport.make(lambda block: vector)

    def _tree(self, name, vector, derivative):
        one, *_ = self.transport.pieces(vector)
        return self.forms[name].pytree(jnp.asarray(one), derivative)
