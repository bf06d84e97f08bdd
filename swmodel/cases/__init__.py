"""The cases, one file each, found by name.

The file of a case has

* a docstring: the physics, the reference, what it costs, the commands that run it (`Command:`) and that draw it
  (`Plot:`), its theme in the gallery (`Theme:`), the known answer;
* a class, a subclass of `Case`, whose name is that of the file: DoubleGyre in double_gyre.py;
* in the class, its own options: annotated attributes made by `option`;
* in the class, `defaults`: a dict {section: {key: value}} of what differs from the defaults of the configuration;
* in the class, functions of (self, config, at) for any of the fields in `ocean.table.INPUT_FIELDS`. Each returns
  float64 values [y, x], or an array that broadcasts to this shape, at the given Points, in SI units.

The class may leave out any of the last three. A field that it does not define is zero (the mask is one), or has the
number of its key in the configuration.

Its known answers are plain functions in the same file, and a test compares the model with them. The function `theory`
of the class, if there is one, gives them to pictures: `swmodel plot DIR --field eta_error` draws the difference.

An object of the class travels in the configuration, as `config.case`. A user's own file is of the same form
(`config.loading.case_file`).
"""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import pkgutil
import re
import sys
from pathlib import Path

from ..config.options.case import Case


@functools.cache
def names() -> tuple[str, ...]:
    """All cases, in alphabetical order."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(__path__)))


@functools.cache
def get(name: str) -> type[Case]:
    """The class of a case."""
    if name not in names():
        raise KeyError(f'no case "{name}"')
    (case,) = classes(importlib.import_module(f"{__name__}.{name}"))
    return case


def docstring(name: str) -> str:
    """The docstring of the file of a case, which is not imported."""
    (folder,) = __path__
    return ast.get_docstring(ast.parse(Path(folder, f"{name}.py").read_text("utf-8"))) or name


def is_shipped(case: Case) -> bool:
    """Whether a case is one of these."""
    return type(case).__module__.startswith(f"{__name__}.")


def description(case: Case) -> str:
    """The docstring of a case: that of its class, or of the file; its name where there is none."""
    cls = type(case)
    text = vars(cls).get("__doc__") or getattr(sys.modules.get(cls.__module__), "__doc__", None)
    return inspect.cleandoc(text if isinstance(text, str) else "") or case.name


def commands(case: Case, kind: str) -> list[str]:
    """The lines under a word of the docstring of a case, "Command" or "Plot"; each begins with swmodel."""
    paragraphs = [part for part in description(case).split("\n\n") if part.startswith(f"{kind}: ")]
    lines = re.split(r"\n(?=swmodel )", "\n".join(paragraphs).removeprefix(f"{kind}: "))
    return [line.replace("\n", " ") for line in lines if line]


def theme(case: Case) -> str:
    """The theme of a case in the gallery, from the paragraph `Theme:` of its docstring; "" if it has none."""
    found = [part for part in description(case).split("\n\n") if part.startswith("Theme: ")]
    return found[0].removeprefix("Theme: ") if found else ""


def classes(module) -> list[type[Case]]:
    """The cases that a module defines, without those that others in it are made from."""
    case_classes = [each for each in vars(module).values() if isinstance(each, type) and issubclass(each, Case)]
    own_classes = [each for each in dict.fromkeys(case_classes) if each.__module__ == module.__name__]
    return [
        each for each in own_classes if not any(other is not each and issubclass(other, each) for other in own_classes)
    ]
