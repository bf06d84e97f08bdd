"""The configuration of a run: its options, and the sources of their values.

`options/`: one class for each section; the base class of cases.
`loading/`: values from files, environment, command line and Python; the configuration as text.
`messages.py`, `remarks.py`: messages about wrong values, and about valid values that are probably mistakes.
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
