"""Libraries of XLA foreign calls, which are built when swmodel is installed, and why one of them cannot be used."""

from __future__ import annotations

import ctypes
import re
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

BUILD_COMMANDS = "tools/build-native, or pip install . with a C++ compiler"
#: The library for messages (transport/exchange.cc), and the version of its calling convention.
EXCHANGE_LIBRARY = Path(__file__).parent / "transport" / "_exchange.so"
EXCHANGE_ABI_VERSION = 1


class FfiLibrary(NamedTuple):
    """A library, and the compiler and versions with which it was built."""

    library: ctypes.CDLL
    abi_version: int
    compiler: str
    jaxlib: str


@cache
def load_library(path: Path) -> FfiLibrary:
    """The loaded library. OSError: this machine cannot load it."""
    library = ctypes.CDLL(str(path))
    texts = (ctypes.c_char_p.in_dll(library, f"swmodel_{name}").value or b"" for name in ("compiler", "jaxlib"))
    compiler, jaxlib = (text.decode() for text in texts)
    return FfiLibrary(library, ctypes.c_long.in_dll(library, "swmodel_abi_version").value, compiler, jaxlib)


def unsupported_reason(path: Path, abi_version: int) -> str:
    """Why the library cannot be used by callers with this ABI version; empty if it can."""
    if not path.exists():
        return "it was not compiled when swmodel was installed"
    try:
        loaded = load_library(path)
    except OSError as error:
        return str(error)
    if loaded.abi_version != abi_version:
        return "it was compiled from another version of swmodel"
    installed, required = ([*map(int, re.findall(r"\d+", text)[:2])] for text in (version("jaxlib"), loaded.jaxlib))
    if required > installed:  # a newer jaxlib accepts libraries that were built for an older one
        return f"it was compiled for jaxlib {loaded.jaxlib}, newer than the installed {version('jaxlib')}"
    return ""


def exchange_unsupported_reason() -> str:
    """Why the library for messages cannot be used; empty if it can."""
    return unsupported_reason(EXCHANGE_LIBRARY, EXCHANGE_ABI_VERSION)
