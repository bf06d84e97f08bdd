"""`open_sides.tide`: the tide outside from harmonics.nc of another run, as keys of [input] in place of the key."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from ...setup.fields.netcdf_input import InputError
from ...setup.fields.netcdf_input.tide_file import constants_in
from .sources import Given, Layer

KEY, SIDES = ("open_sides", "tide"), ("open_sides", "sides")


def expanded(layers: Sequence[Layer]) -> tuple[list[Layer], list[str]]:
    """The layers with the keys of [input] that the last `open_sides.tide` stands for in its place, and what is wrong.

    A part that the same layer or a later one names in [input] comes first.
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
        parts = constants_in(path)
    except InputError as error:
        return bare, [f"{given.place}: {error}"]
    found = {("input", name): Given(f"{path}:{of}", given.place, Path()) for name, of in parts.items()}
    last = bare[numbers[-1]]
    bare[numbers[-1]] = Layer(found | last.values, last.problems)
    return bare, []
