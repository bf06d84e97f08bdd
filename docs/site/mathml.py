"""Formulas as MathML, which browsers show by themselves: the site fetches no script to draw them."""

from __future__ import annotations

import re

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml


def formula(text: str, **options) -> str:
    """MathML of a formula in TeX; an overline becomes a box with the class `bar`, which is as wide as the formula.

    Fractions without braces, as in \\tfrac12, get them: the converter needs these.
    """
    text = re.sub(r"(\\[td]?frac)(\d)(\d)", r"\1{\2}{\3}", text)
    made = tex2mathml(text, **options).replace('<mover accent="false">', '<mrow class="bar">')
    return re.sub(r'<mo accent="true">_</mo>\s*</mover>', "</mrow>", made)


def inline(writer, node) -> None:
    """Write a formula within a line."""
    writer.body.append(formula(node.astext()))
    raise nodes.SkipNode


def with_punctuation(app, doctree, name) -> None:
    """Keep each formula within a line together with the punctuation after it."""
    for node in list(doctree.findall(nodes.math)):
        place = node.parent.index(node)
        rest = node.parent[place + 1] if place + 1 < len(node.parent) else None
        if isinstance(rest, nodes.Text) and (mark := re.match(r"[,.;:)]+", rest.astext())):
            node.parent.replace(rest, nodes.Text(rest.astext()[mark.end() :]))
            node.parent.replace(node, nodes.inline("", "", node, nodes.Text(mark[0]), classes=["nobreak"]))


def display(writer, node) -> None:
    """Write a formula of its own."""
    writer.body.append(f'<div class="formula">{formula(node.astext(), as_block=True)}</div>')
    raise nodes.SkipNode


def setup(app):
    """Sphinx calls this."""
    app.connect("doctree-resolved", with_punctuation)
    app.add_html_math_renderer("mathml", (inline, None), (display, None))
    return {"parallel_read_safe": True}
