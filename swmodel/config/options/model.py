"""The options of a run: one frozen, typed section for each table of the TOML file.

These classes define validation, overrides (`-s section.key=value`), the template of `swmodel init` and the resolved
`config.toml` of a run folder. Each option has its unit; inside the model everything is SI. The sections of terms are
in the files of the terms, `ocean.terms`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from pydantic import PrivateAttr, SerializeAsAny, create_model, field_validator, model_validator

from ...ocean.option import Section, option
from ...ocean.terms import TERMS
from .assimilation import AssimilationOptions
from .case import Case
from .discretisation import DryingOptions, SchemeOptions, TimeOptions
from .ensemble import EnsembleOptions
from .grid import GridOptions
from .input import ForcingOptions, InputOptions, PythonOptions, input_class
from .output import OutputOptions, RestartOptions, output_class
from .physics import PhysicsOptions
from .run import RunOptions

if TYPE_CHECKING:

    class AnyCase(Case):
        """A case of any class, with the options and functions of that class."""

        def __getattr__(self, name: str) -> Any: ...

else:
    AnyCase = Case


class BaseConfig(Section):
    """Case, grid and physics. `case` is the case itself, with its options."""

    case: SerializeAsAny[AnyCase] = option(Case, "", "")
    grid: GridOptions = option(GridOptions, "", "")
    physics: PhysicsOptions = option(PhysicsOptions, "", "")

    @field_validator("grid")
    @classmethod
    def add_cell_sizes(cls, grid: GridOptions) -> GridOptions:
        return grid.with_cell_sizes()


#: BaseConfig, with a section for each term that has one.
if TYPE_CHECKING:

    class ConfigWithTerms(BaseConfig):
        def __getattr__(self, name: str) -> Any: ...

else:
    ConfigWithTerms = create_model(
        "ConfigWithTerms",
        __base__=BaseConfig,
        **{term.name: (term.options, option(term.options, "", "")) for term in TERMS.values() if term.options},
    )


class Config(ConfigWithTerms):
    """The immutable configuration of a run, with values `config.section.key`. `swmodel.load` makes one."""

    scheme: SchemeOptions = option(SchemeOptions, "", "")
    drying: DryingOptions = option(DryingOptions, "", "")
    time: TimeOptions = option(TimeOptions, "", "")
    run: RunOptions = option(RunOptions, "", "")
    input: SerializeAsAny[InputOptions] = option(InputOptions, "", "")
    forcing: ForcingOptions = option(ForcingOptions, "", "")
    output: SerializeAsAny[OutputOptions] = option(OutputOptions, "", "")
    restart: RestartOptions = option(RestartOptions, "", "")
    python: PythonOptions = option(PythonOptions, "", "")
    assimilation: AssimilationOptions = option(AssimilationOptions, "", "")
    ensemble: EnsembleOptions = option(EnsembleOptions, "", "")

    @model_validator(mode="before")
    @classmethod
    def add_tracer_keys(cls, sections: Any) -> Any:
        """The sections, with keys and choices for the tracers in [input] and [output]."""
        tracers = dict(sections.get("physics", {})).get("tracers", ())
        names = tuple(dict(each)["name"] for each in tracers)
        classes = {"input": input_class(names), "output": output_class(names)}
        tables = {name: sections.get(name, {}) for name in classes}
        return {**sections, **{name: classes[name](**each) for name, each in tables.items() if isinstance(each, dict)}}

    #: Whether a command has already checked this configuration.
    _is_checked: bool = PrivateAttr(default=False)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Config:
        """A copy; one with changes counts as unchecked."""
        copy = super().model_copy(update=update, deep=deep)
        copy._is_checked = self._is_checked and not update
        return copy


def section_class(name: str) -> type[Section]:
    """The class of a section; for the section [case] the base class."""
    return cast(type[Section], Config.model_fields[name].annotation)


#: (section, key, key): keys of which only one may be given; that of a later source replaces that of an earlier one.
EXCLUSIVE_KEYS = (
    ("run", "steps", "days"),
    ("time", "dt", "cfl"),
    ("output", "every", "every_steps"),
    ("output", "spectra", "spectra_every_steps"),
    ("output", "drifters_every", "drifters_every_steps"),
    ("restart", "every", "every_steps"),
)
