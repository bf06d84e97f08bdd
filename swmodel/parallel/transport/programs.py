"""Cache of compiled programs."""

from __future__ import annotations

from functools import lru_cache

#: Size of the cache, which drops the least recently used program.
MAX_PROGRAMS = 64


@lru_cache(maxsize=MAX_PROGRAMS, typed=True)
def cached_jit(make, *parts, **options):
    """The program make(*parts), jitted by the last part, a transport; the same object for equal arguments.

    So resumed runs, twin experiments and members reuse programs. `make` is a module-level function; its result depends
    only on the hashable parts, and holds no arrays. Grid, params, carry and dt are arguments of programs.
    """
    return parts[-1].jit(make(*parts), **options)
