"""Programs compiled once: a process keeps what it has jitted, by all that the program depends on."""

from __future__ import annotations

from functools import lru_cache

#: Most programs that a process keeps; beyond, the one not used for the longest time is dropped.
MOST = 64


@lru_cache(maxsize=MOST, typed=True)
def jitted(make, *parts, **options):
    """The program make(*parts), jitted by the last part, a transport: one object for equal arguments.

    So a resumed run, a twin or a member compiles nothing that the process has compiled before. Grid, Params, carry and
    dt are arguments of programs; JAX compiles anew if their shapes or their precision differ.

    Args:
        make: a function of a module. What it returns depends on the parts alone and holds no arrays.
        parts: hashable, equal if the programs are the same: schemes, methods, numbers, names. Kept with the program.
        options: of `jax.jit`.
    """
    return parts[-1].jit(make(*parts), **options)
