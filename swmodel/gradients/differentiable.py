"""What a run must be for its derivatives to be computed. Needs no JAX."""

from __future__ import annotations

from ..errors import UsageError


def require_derivatives(config) -> None:
    """Make sure that there are derivatives of the steps of a configuration.

    Raises:
        UsageError: there are none.
    """
    if config.run.executor == "reference":
        raise UsageError("executor reference: it has no derivatives; take native or xla")
