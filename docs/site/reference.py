"""Pages made from the package and from files beside it: keys of the configuration, variables, public names, README."""

from __future__ import annotations

import functools
import inspect
import re
from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

import swmodel


class Generated(SphinxDirective):
    """A directive whose content is the lines of MyST or reStructuredText that `lines` gives."""

    def run(self):
        box = nodes.section()
        box.document = self.state.document
        self.state.nested_parse(StringList(list(self.lines()), source=type(self).__name__), 0, box, match_titles=1)
        return box.children


class Configuration(Generated):
    """Every table of the configuration with its keys: default, unit, what it is."""

    def lines(self):
        from swmodel import cases
        from swmodel.config.options.model import Config
        from swmodel.config.options.output import CrossSectionOptions, DrifterOptions, StationOptions
        from swmodel.ocean.terms.tracer import TracerOptions

        for name in Config.model_fields:
            section = type(getattr(Config(), name))
            yield from table(f"[{name}]", section, f"{name}.")
            if name == "case":
                yield from ("### Options of the cases", "", "| case | key | default | unit | |", "| --- " * 5 + "|")
                for each in cases.names():
                    own = type(swmodel.load(each, environ={}).case)
                    keys = [key for key in own.model_fields if key not in section.model_fields]
                    yield from (f"| `{each}` {row}" for row in rows(own, keys, "case."))
                yield ""
        tables = {
            "station": StationOptions,
            "section": CrossSectionOptions,
            "drifters": DrifterOptions,
            "tracer": TracerOptions,
        }
        for name, each in tables.items():
            yield from table(f"[[{name}]]", each, "")


def table(title: str, section, prefix: str):
    """The lines of a table of the configuration."""
    yield from (f"## `{title}`", "", (section.__doc__ or "").strip().splitlines()[0], "")
    yield from ("| key | default | unit | |", "| --- " * 4 + "|", *rows(section, section.model_fields, prefix), "")


def rows(section, keys, prefix: str):
    """The rows of keys of a section."""
    from swmodel.config.loading.toml import toml_value
    from swmodel.config.messages import choices

    for key in keys:
        field = section.model_fields[key]
        own = "" if field.is_required() else f"`{toml_value(field.get_default(call_default_factory=True))}`"
        words = ", ".join(f"`{choice}`" for choice in choices(field.annotation))
        text = field.description + (f": {words}" if words else "")
        unit = field.json_schema_extra["unit"] or "–"
        yield f"| `{prefix}{key}` | {own} | {unit} | {escaped(text)} |"


class Public(Generated):
    """Every public name of the package, and those of its public modules."""

    def lines(self):
        for title, names in PUBLIC.items():
            yield from (f"## {title}", "")
            for name in names:
                yield from public(name)


def public(name: str):
    """The lines of one name; of a module those of its own public names, too."""
    found = getattr(swmodel, name)
    if not inspect.ismodule(found):
        yield from documented(f"swmodel.{name}", found)
        return
    about = [f".. py:data:: swmodel.{name}", "", f".. automodule:: {found.__name__}"]
    yield from ("```{eval-rst}", *about, "```", "")
    for each in found.__all__:
        yield from documented(f"swmodel.{name}.{each}", getattr(found, each))


def documented(path: str, found):
    """The lines of one class, function or union of types, by the name that users have for it."""
    line, options = f".. autofunction:: {path}", []
    if path == "swmodel.ConfigError":  # one object has one entry
        yield from (f'<span id="{path}"></span>', "")
        line, options = (
            f".. py:exception:: {path}",
            [
                "   :no-index:",
                "",
                "   Another name of :py:exc:`swmodel.errors.ConfigError`.",
            ],
        )
    elif isinstance(found, functools.partial):
        line = f".. py:function:: {path}(a)"
    elif not inspect.isclass(found) and not inspect.isfunction(found):
        line = f".. py:data:: {path}"
    elif inspect.isclass(found):
        plain = path in PLAIN
        line = f".. auto{'exception' if issubclass(found, BaseException) else 'class'}:: {path}{'()' if plain else ''}"
        options = (
            [] if plain else ["   :members:", "   :exclude-members: resume, noted, take_steps, get, health, results"]
        )
        options += ["   :inherited-members:"] if path == "swmodel.Simulation" else []
    yield from ("```{eval-rst}", line, *options, "```", "")


class OutputVariables(Generated):
    """Every variable that a run can write: name, place, units, what it is."""

    def lines(self):
        from swmodel.ocean.table import OUTPUT_FIELDS, VARIABLES

        names = dict.fromkeys(["h", "u", "v", *OUTPUT_FIELDS])
        yield from ("| name | at | units | |", "| --- | --- | --- | --- |")
        for row in map(VARIABLES.get, names):
            place = {"u": "east faces", "v": "north faces"}.get(row.location, f"{row.location}s")
            yield f"| `{row.name}` | {place} | {row.units} | {escaped(row.long_name)} |"


class Gallery(Generated):
    """Every case by theme: thumbnails, then of each case its picture, commands and benchmark solution."""

    def lines(self):
        from swmodel import cases

        by_theme = {theme: [] for theme in THEMES}
        for name in cases.names():
            case = swmodel.load(name, environ={}).case
            by_theme[cases.paragraph(case, "Theme")].append((name, case))
        for theme, members in by_theme.items():
            yield from (f"## {theme}", "", "::::{container} cases")
            for name, case in members:
                about = cases.docstring_of(case).split("\n\n")[0].replace("\n", " ")
                options = (f":alt: {about}", f":target: '#{name.replace('_', '-')}'", f":name: thumbnail-{name}")
                yield from (f":::{{figure}} /images/cases/{name}.png", *options, "", name, ":::", "")
            yield from ("::::", "")
            for name, case in members:
                yield from self.entry(name, case)

    def entry(self, name, case):
        """The lines of a case."""
        from swmodel import cases

        images = Path(self.env.srcdir) / "images" / "cases"
        about, *parts = (part.replace("\n", " ") for part in cases.docstring_of(case).split("\n\n"))
        yield from (f"### {name}", "", escaped(about), "")
        yield from (f"![{escaped(about)}](/images/cases/{name}.png)", "")
        if (images / f"{name}.mp4").exists():
            yield from (f'<video controls loop muted playsinline preload="metadata" src="{name}.mp4"></video>', "")
        lines = [line for kind in ("Command", "Plot") for line in cases.commands(case, kind)]
        yield from ("```bash", *(part for line in lines for part in broken(line)), "```", "")
        for part in parts:
            if not part.startswith(("Command: ", "Plot: ", "Theme: ")):
                yield from (escaped(part), "")


def broken(command: str) -> list[str]:
    """A command in lines that fit the page, broken before options."""
    lines = [""]
    for part in re.split(r" (?=-)", command):
        if lines[-1] and len(lines[-1]) + len(part) > WIDTH:
            lines[-1] += " \\"
            lines.append(f"    {part}")
        else:
            lines[-1] += f" {part}" if lines[-1] else part
    return lines


#: Letters of a line of code on a page.
WIDTH = 76


#: The themes of the gallery, in its order.
THEMES = (
    "Eddies and gyres",
    "Tides and storms",
    "Tsunamis",
    "Coasts that flood and dry",
    "Waves and balanced flows",
    "Assimilation",
    "Starting points",
)

#: The public names, in the order of the page.
PUBLIC = {
    "Runs": ("Simulation", "functional"),
    "Configurations": ("load", "resolve", "Config", "ConfigError"),
    "Cases, fields and terms": ("Case", "option", "local", "Term", "Parametric"),
    "Operators": ("operators",),
    "Pictures": ("plot",),
    "Derivatives": ("gradients",),
    "Coupling": ("bmi",),
    "Errors": ("errors",),
    "Types": ("typing",),
}

#: Classes whose members are options, which have a page of their own.
PLAIN = ("swmodel.Config", "swmodel.Case")


def escaped(text: str) -> str:
    """Text as it is, also in a cell of a table."""
    return re.sub(r"([|*<])", r"\\\1", text)


def with_files(app, docname: str, source: list[str]) -> None:
    """Put files of the folder above in the place of `{{ NAME.md }}`; what they link to beyond docs/ is named only.

    Links to notebooks, which lie beyond docs/ too, lead to their pages: docs/examples is that folder.
    """

    def text(match):
        here = (Path(app.srcdir).parent / match[1]).read_text().replace("](docs/", "](./")
        return re.sub(r"\[([^\]]*)\]\((?!https?:|#|\./)([^)]+)\)", r"\1 (`\2`)", here)

    source[0] = re.sub(r"^\{\{ (\w+\.md) \}\}$", text, source[0], flags=re.MULTILINE)
    source[0] = source[0].replace("](../README.md", "](index.md")
    source[0] = re.sub(r"\[([^\]]*)\]\(\.\./(examples/\w+)\.ipynb\)", r"{doc}`\1 </\2>`", source[0])


def with_names_together(app, what, name, found, options, lines: list[str]) -> None:
    """Keep the names of several attributes in one entry together, as docutils takes all but the last for a type."""
    if "Attributes:" in lines:
        first = lines.index("Attributes:")
        lines[first:] = [re.sub(r"^(    \w+)((?:, \w+)+):", join_names, line) for line in lines[first:]]


def join_names(match) -> str:
    """The names without spaces."""
    return match[1] + match[2].replace(" ", "") + ":"


def as_typed(app, context, lines: list[str]) -> None:
    """Show paragraphs of a command's help that keep their line breaks, tables and examples, as they were typed."""
    shown, typed = [], False
    for line in lines:
        if line.startswith("| ") and not typed:
            shown += [".. code-block:: text", ""]
        typed = line.startswith("| ")
        shown.append(f"    {line[2:]}" if typed else line)
    lines[:] = shown


def setup(app):
    """What Sphinx calls."""
    app.connect("source-read", with_files)
    app.connect("autodoc-process-docstring", with_names_together, priority=400)
    app.connect("sphinx-click-process-description", as_typed)
    app.add_directive("configuration", Configuration)
    app.add_directive("public-names", Public)
    app.add_directive("output-variables", OutputVariables)
    app.add_directive("gallery", Gallery)
    return {"parallel_read_safe": True}
