"""Libraries of foreign calls of XLA, which are built when swmodel is installed, and why one cannot be used."""

from __future__ import annotations

import ctypes
import re
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

#: The commands that build them.
REMEDY = "tools/build-native, or pip install . with a C++ compiler"
#: The library of messages (transport/exchange.cc), and the number of its calling convention.
EXCHANGE = Path(__file__).parent / "transport" / "_exchange.so", 1


class Built(NamedTuple):
    """A library, and the versions that it was built with."""

    calls: ctypes.CDLL
    convention: int
    compiler: str
    jaxlib: str


@cache
def built(library: Path) -> Built:
    """The loaded library. OSError: it was built for another machine."""
    calls = ctypes.CDLL(str(library))
    words = (ctypes.c_char_p.in_dll(calls, f"swmodel_{name}").value.decode() for name in ("compiler", "jaxlib"))
    return Built(calls, ctypes.c_long.in_dll(calls, "swmodel_convention").value, *words)


def unsupported_reason(library: Path, convention: int) -> str:
    """Why the library cannot be used by callers of this convention; empty where it can."""
    if not library.exists():
        return "it was not compiled when swmodel was installed"
    try:
        found = built(library)
    except OSError as error:
        return str(error)
    if found.convention != convention:
        return "it was compiled from another version of swmodel"
    old, new = ([*map(int, re.findall(r"\d+", text)[:2])] for text in (version("jaxlib"), found.jaxlib))
    if new > old:  # a newer jaxlib takes calls that were built for an older one
        return f"it was compiled for jaxlib {found.jaxlib}, newer than the {version('jaxlib')} that is installed"
    return ""
