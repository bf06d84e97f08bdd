"""The configuration of a run: its options, where they come from, what they become."""

from .errors import ConfigError
from .load import from_toml, load
from .model import Case, Config
from .toml import config_hash, to_toml

__all__ = [
    "Case",
    "Config",
    "ConfigError",
    "config_hash",
    "from_toml",
    "load",
    "to_toml",
]
