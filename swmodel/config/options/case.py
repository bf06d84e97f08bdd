"""The table [case] and the base class of all cases."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import ConfigDict, model_validator

from ...ocean.option import Section, option
from .grid import GEOMETRIES

if TYPE_CHECKING:
    from .model import Config


class Case(Section):
    """A flat ocean at rest, and the base of all cases: subclassed in the file of a case.

    A subclass has a docstring and may have the following. Annotated attributes made by `option` are keys of the
    table `[case]`. The dict `defaults`, {section: {key: value}}, replaces defaults of the configuration. Functions
    of (self, config, at), or (self, config, at, t), define fields: those in `ocean.table.INPUT_FIELDS`, tracers, and
    coefficients of the case's terms. Functions of (self, state, grid, t, ...) are terms (`ocean.user_term`). The class
    may define an `analytic_solution` and the `centre` of a storm. A case with `prior_config`, a function of (self,
    config) that returns the configuration of the first guess, is a twin experiment. The case has the name of its class:
    DoubleGyre is `double_gyre`.

    Attributes:
        grid_kinds: grids for which its formulas are valid: plane, latlon, projected (a plane with `grid.crs`).
        file_text: text of the user's file with the case; "" for other cases.
    """

    model_config = ConfigDict(ignored_types=(dict, tuple, str, int, float))  # constants, `defaults` among them

    defaults: ClassVar[dict[str, dict[str, Any]]] = {}
    grid_kinds: ClassVar[tuple[str, ...]] = GEOMETRIES
    file_text: ClassVar[str] = ""

    name: str = option("", "", "name of the case, one of `swmodel cases`")
    file: str = option("", "", "Python file with a user-defined case, in place of a name")
    sha256: str = option("", "", "SHA-256 of that file, recorded by runs; a changed file is an error")

    @model_validator(mode="before")
    @classmethod
    def add_name(cls, values: Any) -> Any:
        return values if isinstance(values, Case) else values | {"name": case_name(cls)}

    def start_date(self) -> str:
        """The default of `time.start`, as "2020-03-01T06:00"; "" for none."""
        return ""

    def uplift_times(self, config: Config) -> tuple[float, ...]:
        """Times of the records of `uplift_at`, s since the start; (): the sea floor does not move in time."""
        return ()

    def uplift_at(self, config: Config, at: Any, t: float) -> Any:
        """The uplift of the sea floor at one of `uplift_times`, m, if it moves in time."""
        raise NotImplementedError

    def analytic_solution(self, config: Config, at: Any, t: float) -> dict[str, Any]:
        """The analytic solution at t s since the start, {name of a field: values at the Points `at`}.

        Pictures of the package's cases show it; user-defined cases are not executed for pictures.
        """
        return {}

    def centre(self, config: Config, t: float) -> tuple[float, float] | None:
        """Position of the case's storm at t s since the start, in m or degrees; None: there is no storm."""
        return None

    def for_record(self) -> Case:
        """The case as a run records it: with the contents of files in place of their names."""
        return self


class CaseFromAnalyticSolution(Case):
    """A case that starts from its analytic solution."""

    def eta(self, config: Config, at: Any) -> Any:
        return self.analytic_solution(config, at, 0.0)["eta"]

    def u(self, config: Config, at: Any) -> Any:
        return self.analytic_solution(config, at, 0.0)["u"]

    def v(self, config: Config, at: Any) -> Any:
        return self.analytic_solution(config, at, 0.0)["v"]


def case_name(case: type[Case]) -> str:
    """The name of a case: that of its class, DoubleGyre as double_gyre."""
    return re.sub(r"(?<=[^A-Z_])(?=[A-Z])", "_", case.__name__).lower()
