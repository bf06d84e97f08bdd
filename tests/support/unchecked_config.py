"""Configurations that checks would refuse, marked as checked, for tests of what happens then."""

from swmodel.model.resolve import resolve


def resolve_without_checks(config):
    resolved = resolve(config)
    resolved._checked = True
    return resolved
