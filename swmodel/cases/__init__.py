"""The cases, one in each file, by name.

The file of a case contains

* a docstring: the physics, the reference, the cost, the commands that run it (`Command:`) and draw it (`Plot:`), its
  theme in the gallery (`Theme:`), and what the model must reproduce (`Verification:`);
* a subclass of `Case` that is named like the file: DoubleGyre in double_gyre.py;
* in the class, the options of the case: annotated attributes made by `option`;
* in the class, `defaults`: a dict {section: {key: value}} of what differs from the defaults of the configuration;
* in the class, methods of (self, config, at) for any of the fields in `ocean.table.INPUT_FIELDS`; with a further
  parameter t, s since the start, if the field varies in time. Each returns float64 values [y, x], or an array that
  broadcasts to this shape, at the given Points, in SI units.

Each of the last three is optional. A field that neither Python, a restart state, a file of [input], a river nor the
class provides is uniform: it has the value of its key in the configuration, or else is zero (one for the mask).

The method `analytic_solution` of the class gives an analytic solution of all fields in time, from which
`swmodel plot DIR --field eta_error` draws the difference. Other solutions, such as the streamfunction of `munk`, are
plain functions in the same file. Tests compare the model with both.

The configuration holds an object of the class, `config.case`. Users' files look the same (`config.loading.case_file`).
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
    """The names of all cases, in alphabetical order."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(__path__)))


@functools.cache
def get(name: str) -> type[Case]:
    """The class of a case. KeyError: there is no such case."""
    if name not in names():
        raise KeyError(f'no case "{name}"')
    (case,) = case_classes_in(importlib.import_module(f"{__name__}.{name}"))
    return case


def docstring_of_file(name: str) -> str:
    """The docstring of the file of the case `name`, or this name if it has none; does not import the file."""
    (folder,) = __path__
    return ast.get_docstring(ast.parse(Path(folder, f"{name}.py").read_text("utf-8"))) or name


def is_shipped(case: Case) -> bool:
    """Whether a case belongs to this package."""
    return type(case).__module__.startswith(f"{__name__}.")


def docstring_of(case: Case) -> str:
    """The docstring of a case's class, else of its file, else the name of the case."""
    cls = type(case)
    text = vars(cls).get("__doc__") or getattr(sys.modules.get(cls.__module__), "__doc__", None)
    return inspect.cleandoc(text if isinstance(text, str) else "") or case.name


def paragraph(case: Case, label: str) -> str:
    """The paragraph of the docstring of a case with this label, such as "Theme", without the label; else ""."""
    paragraphs = (part for part in docstring_of(case).split("\n\n") if part.startswith(f"{label}: "))
    return next(paragraphs, "").removeprefix(f"{label}: ")


def commands(case: Case, label: str) -> list[str]:
    """The commands in the paragraph with the label "Command" or "Plot"; each begins with swmodel."""
    lines = re.split(r"\n(?=swmodel )", paragraph(case, label))
    return [line.replace("\n", " ") for line in lines if line]


def case_classes_in(module) -> list[type[Case]]:
    """The subclasses of Case that a module defines, without those from which other classes in it derive."""
    case_classes = [value for value in vars(module).values() if isinstance(value, type) and issubclass(value, Case)]
    own_classes = [cls for cls in dict.fromkeys(case_classes) if cls.__module__ == module.__name__]
    return [cls for cls in own_classes if not any(other is not cls and issubclass(other, cls) for other in own_classes)]
