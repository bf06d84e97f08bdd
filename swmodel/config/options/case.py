"""The table [case]: a case, the base class of all cases."""

from __future__ import annotations

import re
from typing import Any, ClassVar

from pydantic import ConfigDict, model_validator

from ...ocean.option import Section, option
from .grid import EXTENTS


class Case(Section):
    """A flat ocean at rest, and the base of all cases: subclassed in the file of a case.

    A subclass has a docstring and any of: options of its own, annotated attributes made by `option`, which are keys of
    the table `[case]`; `defaults`, a dict {section: {key: value}} of what differs from those of the configuration; and
    functions of (self, config, at) for the fields in `ocean.table.GIVEN`, and of (self, state, grid, t), for terms of
    its own (`ocean.own_term`). It may have a known answer, `theory`, and a storm, `centre`. Its name is that of the
    class: DoubleGyre is `double_gyre`.

    Attributes:
        kinds: of grid that its formulas are made for.
        file_text: what the user's own file holds that it comes from; "" for all others.
    """

    model_config = ConfigDict(ignored_types=(dict, tuple, str, int, float))  # constants, `defaults` among them

    defaults: ClassVar[dict[str, dict[str, Any]]] = {}
    kinds: ClassVar[tuple[str, ...]] = tuple(EXTENTS)
    file_text: ClassVar[str] = ""

    name: str = option("", "", "name of the case, one of `swmodel cases`")
    file: str = option("", "", "Python file with a case of one's own, in place of a name")
    sha256: str = option("", "", "of that file, as a run records it: no other is taken")

    @model_validator(mode="before")
    @classmethod
    def named(cls, values: Any) -> Any:
        """The values with the name of the case, which follows from the class."""
        return values if isinstance(values, Case) else values | {"name": name_of(cls)}

    def start_date(self) -> str:
        """The date at which a run starts that is given none, as "2020-03-01T06:00"; "" for none."""
        return ""

    def theory(self, config: Any, at: Any, t: float) -> dict[str, Any]:
        """The known answer {name of a field: values at the given Points} at t s since the start.

        Pictures of the package's cases show it; for a picture a user's own case is not executed.
        """
        return {}

    def centre(self, config: Any, t: float) -> tuple[float, float] | None:
        """Where the case's storm is at t s since the start, in m or degrees; None: there is none."""
        return None

    def recorded(self) -> Case:
        """The case as a run records it: with what its options name files of in place of these."""
        return self


def name_of(case: type[Case]) -> str:
    """The name of a case: that of its class, DoubleGyre as double_gyre."""
    return re.sub(r"(?<=[^A-Z_])(?=[A-Z])", "_", case.__name__).lower()
