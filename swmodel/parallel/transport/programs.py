"""Programs compiled once: a process keeps what it has jitted, by what that depends on."""

from __future__ import annotations

from functools import lru_cache

#: Programs that a process keeps; the one not used for the longest time makes room.
MOST = 64


@lru_cache(maxsize=MOST, typed=True)
def jitted(make, *parts, **options):
    """The program make(*parts), jitted by the last of the parts, a transport: one object for all that ask alike.

    So a run that is resumed, a twin or a member compiles nothing that the process has compiled before. Grid, Params,
    carry and dt are arguments of programs; JAX compiles anew where their shapes or their precision differ.

    Args:
        make: a function of a module. What it returns depends on the parts alone and holds no arrays.
        parts: hashable, equal where the programs are the same: schemes, methods, numbers, names. Kept with the program.
        options: of `jax.jit`.
    """
    return parts[-1].jit(make(*parts), **options)
