"""Programs compiled once: a process keeps what it has jitted, by all that the program depends on."""

from __future__ import annotations

from functools import lru_cache

#: Most programs that a process keeps; beyond, the one not used for the longest time is dropped.
MOST = 64


@lru_cache(maxsize=MOST, typed=True)
def jitted(make, *parts, **options):
    """The program make(*parts), jitted by the last part, a transport: one object for equal arguments.

    So a resumed run, a twin or a member compiles nothing that the process has compiled before. `make` is a function of
    a module; its result depends on the parts alone, which are hashable, and holds no arrays. Grid, Params, carry
    and dt are arguments of programs.
    """
    return parts[-1].jit(make(*parts), **options)
