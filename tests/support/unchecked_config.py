"""Configurations that a run would be refused for, as ones that were checked: for tests of what happens then."""

from swmodel.model.resolve import resolve


def resolve_without_checks(config):
    """The resolved configuration, marked as one that a command has checked."""
    resolved = resolve(config)
    resolved._checked = True
    return resolved
