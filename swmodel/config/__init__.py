"""The configuration of a run: its options, where they come from, what they become.

`options/`: what there is to set, one class for each section; what a case is.
`loading/`: where values come from: files, environment, command line, Python; and how they are written again.
"""

from ..errors import ConfigError
from .loading.load import from_toml, load
from .loading.toml import config_hash, to_toml
from .options.case import Case
from .options.model import Config

__all__ = [
    "Case",
    "Config",
    "ConfigError",
    "config_hash",
    "from_toml",
    "load",
    "to_toml",
]
