"""A file of `swmodel grid`: the section [grid] that it is for, which it holds as text."""

from __future__ import annotations

import os
import tomllib

from .dataset import open_file
from .errors import InputError

#: The attribute with the keys of [grid], as TOML.
ATTRIBUTE = "swmodel_grid"


def keys_in(path: str) -> dict[str, object]:
    """The keys of [grid] that a file is for."""
    if not os.path.isfile(path):
        raise InputError(f"there is no file {path}; `swmodel grid {os.path.basename(path)}` makes one")
    with open_file(path) as dataset:
        text = str(dataset.data.attrs.get(ATTRIBUTE, ""))
    if not text:
        raise InputError(f"{path} is no file of `swmodel grid`; depth and mask of others are named by [input]")
    return tomllib.loads(text)
