"""Elements of arrays: `boundary_tide_level[M2,cosine]` is the field [y, x] of an array [constituent, part, y, x].

Configurations, cases and Python give whole arrays; the equations, derivatives and restart files use the elements.
"""

from __future__ import annotations


def element(array: str, *index: str) -> str:
    """The name of an element of an array: "boundary_tide_level[M2,cosine]" for the index "M2", "cosine"."""
    return f"{array}[{','.join(index)}]"


def array_of(name: str) -> str:
    """The name of the array to which an element belongs; any other name is returned as it is."""
    return name.partition("[")[0]


def index_of(name: str) -> tuple[str, ...]:
    """The index of an element in its array, such as ("M2", "cosine"); empty for other names."""
    index = name.partition("[")[2].removesuffix("]")
    return tuple(index.split(",")) if index else ()
