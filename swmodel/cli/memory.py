"""Sizes of memory on the command line."""

from __future__ import annotations

import re

import click

UNITS = {"": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}


class Memory(click.ParamType):
    """A number of bytes, as "4GB", "500 MB" or "2GiB"."""

    name = "memory"

    def convert(self, value, param, ctx):
        """The number of bytes."""
        if isinstance(value, int):
            return value
        match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)", value.strip())
        unit = {name.lower(): size for name, size in UNITS.items()}.get(match[2].lower()) if match else None
        if unit is None:
            self.fail(f'{value!r} is no size; write it as "4GB" or "500MB"', param, ctx)
        return int(float(match[1]) * unit)


MEMORY = Memory()
