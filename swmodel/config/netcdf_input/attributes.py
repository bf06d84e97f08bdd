"""What a NetCDF variable says about itself, whatever its attributes hold."""

from __future__ import annotations


def attribute(variable, name: str) -> str:
    """An attribute as text; empty where there is none."""
    return str(getattr(variable, name, ""))


def numeric(variable) -> bool:
    """Whether a variable holds numbers."""
    return getattr(variable.dtype, "kind", "") in ("i", "u", "f")
