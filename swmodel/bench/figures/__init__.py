"""Figures of results: speed-up beside the published curves, roofline, and one for each other kind of sweep."""

from .drawing import draw

__all__ = ["draw"]
