"""`grid.file`: the section [grid], depth and mask from a file of `swmodel grid`, in place of the key."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from ...setup.fields.netcdf_input import InputError
from ...setup.fields.netcdf_input.made_files import keys_in
from ..messages import show
from .sources import Given, Layer

KEY = "grid", "file"

#: Keys of [grid] that stay the user's own.
FREE = ("file", "radius", "rotation", "origin")

#: Fields that the file has.
FIELDS = ("depth", "mask")


def expanded(layers: Sequence[Layer], convert: Callable) -> tuple[list[Layer], list[str]]:
    """The layers with the keys of the last `grid.file` in its place, and what is wrong with these.

    A field that the same layer or a later one names in [input] comes first; other keys of [grid] must agree.

    Args:
        convert: function of (key of [grid], Given) to the value as Python wants it.
    """
    numbers = [number for number, layer in enumerate(layers) if KEY in layer.values]
    bare = [
        Layer({key: given for key, given in layer.values.items() if key != KEY}, layer.problems) for layer in layers
    ]
    if not numbers or not (text := str(layers[numbers[-1]].values[KEY].value)):
        return bare, []
    last = numbers[-1]
    given = layers[last].values[KEY]
    path = os.path.abspath(given.folder / text)
    try:
        keys = keys_in(path)
    except InputError as error:
        return bare, [f"{given.place}: {error}"]
    problems = [
        f"{other.place}: grid.file gives {show(keys[key]) if key in keys else 'the cells'}; leave out one of both"
        for layer in bare[last:]
        for (section, key), other in layer.values.items()
        if section == "grid" and key not in FREE and not same(convert(key, other), keys.get(key))
    ]
    found = {("grid", key): Given(each, f"{path}: grid.{key}", Path()) for key, each in keys.items()}
    found |= {("input", name): Given(f"{path}:{name}", given.place, Path()) for name in FIELDS}
    bare[last] = Layer(found | bare[last].values, bare[last].problems)
    return bare, problems


def same(value, in_file) -> bool:
    """Whether a value is that of the file; a tuple may be a list there."""
    return (list(value) if isinstance(value, tuple) else value) == in_file
