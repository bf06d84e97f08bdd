"""The messages of docs/troubleshooting.md are those of the package."""

import ast
import re

from tools.page import ROOT

#: Signs and words that stand for a value: an ellipsis, a word in capitals, a number.
VALUE = re.compile(r"…|\b[A-Z][A-Z0-9_]*\b|\d+")


def test_every_message_of_the_tables_is_in_the_package():
    """The literal parts of the messages, which values divide."""
    package = "\n".join(
        node.value
        for path in ROOT.glob("swmodel/**/*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
    page = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
    messages = [
        message for row in re.findall(r"^\| (`.*?`) \|", page, re.MULTILINE) for message in re.findall(r"`(.+?)`", row)
    ]
    assert len(messages) > 30
    stale = [message for message in messages for part in VALUE.split(message) if part.strip(" :;,=-") not in package]
    assert stale == []
