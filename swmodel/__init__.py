"""swmodel: a distributed, differentiable shallow-water ocean model."""

import importlib

#: Public names and the modules that define them, imported when first used: `import swmodel` imports neither JAX nor
#: MPI, and the environment of a rank is set before either is.
EXPORTS = {
    "Case": ".config.model",
    "option": ".config.model",
    "load": ".config",
    "resolve": ".model.resolve",
    "Config": ".config",
    "ConfigError": ".config",
    "Simulation": ".model.simulation",
}

__all__ = list(EXPORTS)


def __dir__():
    return sorted([*__all__, *(name for name in globals() if name.startswith("__"))])


def __getattr__(name: str):
    if name == "Simulation":
        from .parallel.environment import prepare, world

        prepare(place=world())
    if name in EXPORTS:
        return getattr(importlib.import_module(EXPORTS[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
