"""The functions in the class of a case: those of fields, which may vary in time, and those of terms."""

from __future__ import annotations

import inspect
import types
from functools import lru_cache
from typing import Any

from ...ocean.own_term import FIXED

#: Parameters of a function for a field; and those with which the ones of a term begin.
SIGNATURE = ["self", "config", "at"]
OF_TERM = ["self", *FIXED]
IN_TIME = [*SIGNATURE, "t"]


def parameters(value: Any) -> list[str]:
    """Names of the parameters of a function; none of anything else."""
    return list(inspect.signature(value).parameters) if isinstance(value, types.FunctionType) else []


def in_time(value: Any) -> bool:
    """Whether what stands in the class of a case is the function of a field that varies in time."""
    return parameters(value) == IN_TIME


def is_term(value: Any) -> bool:
    """Whether what stands in the class of a case is the function of a term, by its parameters."""
    return parameters(value)[: len(OF_TERM)] == OF_TERM


@lru_cache
def terms_in(case: type) -> tuple[str, ...]:
    """Names of the functions of terms in the class of a case, those of the classes that it is made from first."""
    names = dict.fromkeys(name for cls in reversed(case.__mro__) for name in vars(cls) if not name.startswith("_"))
    return tuple(name for name in names if is_term(getattr(case, name, None)))
