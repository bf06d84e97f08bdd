"""`open_sides.tide`: the tide outside from harmonics.nc of another run, as constituents and files in its place."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from ...setup.fields.netcdf_input import InputError
from ...setup.fields.netcdf_input.made_files import constants_in
from .sources import Given, Layer

KEY, SIDES = ("open_sides", "tide"), ("open_sides", "sides")


def expanded(layers: Sequence[Layer]) -> tuple[list[Layer], list[str]]:
    """The layers with what the last `open_sides.tide` stands for in its place, and what is wrong.

    A key that the same layer or a later one gives comes first.
    """
    numbers = [number for number, layer in enumerate(layers) if KEY in layer.values]
    bare = [
        Layer({key: given for key, given in layer.values.items() if key != KEY}, layer.problems) for layer in layers
    ]
    if not numbers or not (text := str(layers[numbers[-1]].values[KEY].value)):
        return bare, []
    given = layers[numbers[-1]].values[KEY]
    sides = [layer.values[SIDES].value for layer in layers if SIDES in layer.values]
    if not sides or not sides[-1]:
        return bare, [f"{given.place}: has no effect without open_sides.sides"]
    path = os.path.abspath(given.folder / text)
    try:
        found = constants_in(path)
    except InputError as error:
        return bare, [f"{given.place}: {error}"]
    keys = {name: ("open_sides" if name == "constituents" else "input", name) for name in found}
    new = {keys[name]: Given(value, given.place, Path()) for name, value in found.items()}
    last = bare[numbers[-1]]
    bare[numbers[-1]] = Layer(new | last.values, last.problems)
    return bare, []
