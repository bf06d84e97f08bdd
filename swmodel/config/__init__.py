"""The configuration of a run: its options, where they come from, and what they become."""

from .errors import ConfigError
from .load import from_toml, load
from .model import Config
from ..model.resolve import DECIDED, for_processes, layout_of, resolve, transport_for
from .toml import config_hash, to_toml

__all__ = [
    "DECIDED",
    "Config",
    "ConfigError",
    "config_hash",
    "for_processes",
    "from_toml",
    "layout_of",
    "load",
    "resolve",
    "transport_for",
    "to_toml",
]
