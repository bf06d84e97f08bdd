"""swmodel: a distributed, differentiable shallow-water ocean model."""

import importlib
import importlib.metadata
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the same names, for type checkers and editors
    from . import bmi as bmi
    from . import errors as errors
    from . import gradients as gradients
    from . import typing as typing
    from .config import Config as Config
    from .config import ConfigError as ConfigError
    from .config.loading.load import load as load
    from .config.options.case import Case as Case
    from .model.pure import functional as functional
    from .model.resolve import resolve as resolve
    from .model.simulation import Simulation as Simulation
    from .ocean import operators as operators
    from .ocean.option import option as option
    from .ocean.parametric import Parametric as Parametric
    from .ocean.terms import Term as Term
    from .plotting.notebook import plot as plot
    from .setup.fields.python_fields import local as local

    __version__: str

#: Public names and their modules, which are imported at first use. `import swmodel` imports neither JAX nor MPI,
#: because the environment of a rank must be prepared first.
EXPORTS = {
    "Case": ".config.options.case",
    "option": ".ocean.option",
    "load": ".config",
    "resolve": ".model.resolve",
    "Config": ".config",
    "ConfigError": ".config",
    "local": ".setup.fields.python_fields",
    "Term": ".ocean.terms",
    "Parametric": ".ocean.parametric",
    "operators": ".ocean.operators",
    "Simulation": ".model.simulation",
    "functional": ".model.pure",
    "plot": ".plotting.notebook",
}

#: Public names before whose import the environment of this process is prepared, because their modules import JAX.
NAMES_THAT_LOAD_JAX = ("Simulation", "functional")

#: Modules that contain further public names.
MODULES = ("bmi", "errors", "gradients", "typing")

__all__ = list(EXPORTS)


def __dir__() -> list[str]:
    return sorted([*__all__, *MODULES, *(name for name in globals() if name.startswith("__"))])


def _import_lazily(name: str) -> Any:
    """Import a public name at first use."""
    if name in NAMES_THAT_LOAD_JAX:
        from .parallel.environment import get_rank_info, prepare_environment

        prepare_environment(rank_info=get_rank_info())
    if name == "__version__":
        return importlib.metadata.version(__name__)
    if name in EXPORTS:
        module = importlib.import_module(EXPORTS[name], __name__)
        return getattr(module, name, module)  # `operators` is itself a module
    if name in MODULES:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


if not TYPE_CHECKING:  # type checkers know the names from the imports above
    __getattr__ = _import_lazily
