"""Pages made from the package and from files beside it: keys of the configuration, variables, public names, README."""

from __future__ import annotations

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
        from swmodel.config.loading.toml import value
        from swmodel.config.messages import choices
        from swmodel.config.options.model import Config

        for name in Config.model_fields:
            section = type(getattr(Config(), name))
            about = (section.__doc__ or "").strip().splitlines()[0]
            yield from (f"## `[{name}]`", "", about, "")
            if name == "case":
                yield from ("The name of a case, and its own options: `swmodel init NAME` lists them.", "")
            yield from ("| key | default | unit | |", "| --- | --- | --- | --- |")
            for key, field in section.model_fields.items():
                own = field.get_default(call_default_factory=True)
                words = ", ".join(f"`{choice}`" for choice in choices(field.annotation))
                text = field.description + (f": {words}" if words else "")
                unit = field.json_schema_extra["unit"] or "–"
                yield f"| `{name}.{key}` | `{value(own)}` | {unit} | {escaped(text)} |"
            yield ""


class Public(Generated):
    """Every public name of the package."""

    def lines(self):
        for name in swmodel.__all__:
            found = getattr(swmodel, name)
            if inspect.ismodule(found):
                module = [f".. py:data:: swmodel.{name}", "", f".. automodule:: {found.__name__}", "   :members:"]
                yield from ("```{eval-rst}", *module, "```", "")
                continue
            kind = "class" if isinstance(found, type) else "function"
            options = ["   :members:"] if kind == "class" and name not in PLAIN else []
            yield from ("```{eval-rst}", f".. auto{kind}:: swmodel.{name}", *options, "```", "")


class OutputVariables(Generated):
    """Every variable that a run can write: name, place, units, what it is."""

    def lines(self):
        from swmodel.ocean.derived import DERIVED
        from swmodel.ocean.table import VARIABLES

        names = dict.fromkeys(["h", "u", "v", *DERIVED])
        yield from ("| name | at | units | |", "| --- | --- | --- | --- |")
        for row in map(VARIABLES.get, names):
            place = {"u": "east faces", "v": "north faces"}.get(row.location, f"{row.location}s")
            yield f"| `{row.name}` | {place} | {row.units} | {escaped(row.long_name)} |"


class Gallery(Generated):
    """Every case: what it shows, its picture, the commands that make it, its known answer, from its docstring."""

    def lines(self):
        from swmodel import cases

        images = Path(self.env.srcdir) / "images" / "cases"
        for name in cases.names():
            case = swmodel.load(name, environ={}).case
            about, *parts = (part.replace("\n", " ") for part in cases.about(case).split("\n\n"))
            yield from (f"## {name}", "", escaped(about), "")
            if (images / f"{name}.png").exists():
                yield from (f"![{escaped(about)}](/images/cases/{name}.png)", "")
            if (images / f"{name}.mp4").exists():
                yield from (f'<video controls loop muted width="100%" src="{name}.mp4"></video>', "")
            lines = [line for kind in ("Command", "Plot") for line in cases.commands(case, kind)]
            yield from ("```bash", *(part for line in lines for part in broken(line)), "```", "")
            for part in parts:
                if not part.startswith(("Command: ", "Plot: ")):
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

#: Classes whose members are options, which have a page of their own.
PLAIN = ("Config", "Case")


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


def setup(app):
    """What Sphinx calls."""
    app.connect("source-read", with_files)
    app.add_directive("configuration", Configuration)
    app.add_directive("public-names", Public)
    app.add_directive("output-variables", OutputVariables)
    app.add_directive("gallery", Gallery)
    return {"parallel_read_safe": True}
