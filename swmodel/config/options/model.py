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
from .assimilation import Assimilation
from .case import Case
from .discretisation import Drying, Scheme, Time
from .ensemble import Ensemble
from .grid import Grid
from .input import Forcing, Input, Python, with_files
from .output import Output, Restart, with_fields
from .physics import Physics
from .run import Run


class Sea(Section):
    """Case, grid and physics. `case` is the case itself, with its options."""

    case: SerializeAsAny[Case] = option(Case, "", "")
    grid: Grid = option(Grid, "", "")
    physics: Physics = option(Physics, "", "")

    @field_validator("grid")
    @classmethod
    def with_sizes(cls, grid: Grid) -> Grid:
        """The grid with the sizes of its cells."""
        return grid.sized()


#: Sea, with a section for each term that has one.
if TYPE_CHECKING:

    class SeaWithTerms(Sea):
        def __getattr__(self, name: str) -> Any: ...

else:
    SeaWithTerms = create_model(
        "SeaWithTerms",
        __base__=Sea,
        **{term.name: (term.options, option(term.options, "", "")) for term in TERMS.values() if term.options},
    )


class Config(SeaWithTerms):
    """The configuration of a run, which cannot be changed: `config.section.key`. `swmodel.load` makes one."""

    scheme: Scheme = option(Scheme, "", "")
    drying: Drying = option(Drying, "", "")
    time: Time = option(Time, "", "")
    run: Run = option(Run, "", "")
    input: SerializeAsAny[Input] = option(Input, "", "")
    forcing: Forcing = option(Forcing, "", "")
    output: SerializeAsAny[Output] = option(Output, "", "")
    restart: Restart = option(Restart, "", "")
    python: Python = option(Python, "", "")
    assimilation: Assimilation = option(Assimilation, "", "")
    ensemble: Ensemble = option(Ensemble, "", "")

    @model_validator(mode="before")
    @classmethod
    def with_tracers(cls, sections: Any) -> Any:
        """The sections; [input] and [output] with the names of the tracers."""
        tracers = dict(sections.get("physics", {})).get("tracers", ())
        names = tuple(dict(each)["name"] for each in tracers)
        classes = {"input": with_files(names), "output": with_fields(names)}
        given = {name: sections.get(name, {}) for name in classes}
        return {**sections, **{name: classes[name](**each) for name, each in given.items() if isinstance(each, dict)}}

    #: Whether a command has already checked it.
    _checked: bool = PrivateAttr(default=False)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Config:
        """A copy; one with changes has not been checked."""
        copy = super().model_copy(update=update, deep=deep)
        copy._checked = self._checked and not update
        return copy


def section_class(name: str) -> type[Section]:
    """The class of a section; for the section [case] the base class."""
    return cast(type[Section], Config.model_fields[name].annotation)


#: Keys of which only one may be given; a later source (file, command line) replaces an earlier one.
ALTERNATIVES = (
    ("run", "steps", "days"),
    ("time", "dt", "cfl"),
    ("output", "every", "every_steps"),
    ("output", "spectra", "spectra_every_steps"),
    ("output", "drifters_every", "drifters_every_steps"),
    ("restart", "every", "every_steps"),
)
