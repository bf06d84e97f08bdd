"""Resolve configurations that the checks would refuse, and mark them as checked, so that tests can run them."""

from swmodel.model.resolve import resolve


def resolve_without_checks(config):
    resolved_config = resolve(config)
    resolved_config._is_checked = True
    return resolved_config
