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
    "local": ".config.given",
    "Term": ".ocean.terms",
    "operators": ".ocean.operators",
    "Simulation": ".model.simulation",
    "functional": ".model.pure",
}

#: Those of them that load JAX.
COMPUTING = ("Simulation", "functional")

__all__ = list(EXPORTS)


def __dir__():
    return sorted([*__all__, *(name for name in globals() if name.startswith("__"))])


def __getattr__(name: str):
    if name in COMPUTING:
        from .parallel.environment import prepare, world

        prepare(place=world())
    if name in EXPORTS:
        module = importlib.import_module(EXPORTS[name], __name__)
        return getattr(module, name, module)  # `operators` is one itself
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
